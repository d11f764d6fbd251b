/** A copy that gets a new identity: the data that it keeps, and that it leaves to the original. */

import assert from "node:assert/strict";
import {
  leftBefore,
  readIdentity,
  recordIdentityRefusal,
  renewIdentity,
} from "../../../daemon/app/identity.ts";
import { getMessage } from "protocol/messages/log.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { laptopAndBuildbox } from "../../support/machines/memory_network.ts";
import { world } from "../../support/world.ts";

Deno.test("a renewed identity has another id and issues other certificates, and the keys of its messages stay", async () => {
  await using w = world();
  const { ctx } = w.daemon;
  const before = readIdentity(ctx.db, ctx.ids);
  recordIdentityRefusal(ctx, 1000);
  recordIdentityRefusal(ctx, 2000);
  const id = renewIdentity(ctx.db, ctx.ids, () => undefined);
  const after = readIdentity(ctx.db, ctx.ids);
  assert.notEqual(after.certificate_key, before.certificate_key);
  const { certificate_key } = after;
  assert.deepEqual(after, { ...before, daemon_id: id, certificate_key });
  assert.notEqual(id, before.daemon_id);
  assert.equal(leftBefore(ctx), 1000);
});

Deno.test("a machine that took part after it was refused leaves nothing", async () => {
  await using w = world();
  const { ctx } = w.daemon;
  recordIdentityRefusal(ctx, 1000);
  recordIdentityRefusal(ctx, null);
  renewIdentity(ctx.db, ctx.ids, () => undefined);
  assert.equal(leftBefore(ctx), undefined);
});

Deno.test("messages that waited when the copy was made end with that reason, and later ones are kept", async () => {
  await using two = await laptopAndBuildbox();
  const { laptop, network } = two;
  network.bus.setReachable(laptop.daemon_id, false);
  const send = async (text: string) => {
    const body = { from_peer: "web", to_peer: "api@buildbox", text };
    return (await laptop.call(notifyPeer, { body })).delivery_id ?? "";
  };
  const inherited = await send("inherited");
  await two.pass(1);
  const refused_at = laptop.clock.now();
  const own = await send("own");
  laptop.daemon.machines?.leave(refused_at);
  const stateOf = async (id: string) => {
    const { state, reason } = await laptop.call(getMessage, { params: { id } });
    return `${state} ${reason}`;
  };
  assert.equal(await stateOf(inherited), "failed identity_renewed");
  assert.equal(await stateOf(own), "queued bus_unreachable");
  network.bus.setReachable(laptop.daemon_id, true);
  await two.pass(3);
  assert.deepEqual(two.api.of("notify").map(({ text }) => text), ["own"]);
});

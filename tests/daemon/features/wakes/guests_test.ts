/** Asks of a guest to a sleeping agent: the human decides, and other askers lose nothing by it. */

import assert from "node:assert/strict";
import { replyInboxItem } from "protocol/inbox.ts";
import * as wakes from "../../../../daemon/features/wakes/store.ts";
import { addPeer, ask } from "../../../support/daemon/peer_clients.ts";
import { sleepingWorld, untilLaunched, wakeItems } from "../../../support/daemon/wakes.ts";
import { daemonId, relayWorld, SECRET } from "../../../support/relay/relay_world.ts";
import type { WorldOptions } from "../../../support/world.ts";

/** The sleeping agent `api`, which a link shares with a guest; `web` is of its circle. */
async function sharedSleeper(policy: "ask" | "always") {
  const r = relayWorld();
  const world = { open: (options: WorldOptions) => r.daemon(1, options) };
  const fixture = await sleepingWorld({ settings: { "daemon.wake": policy }, world });
  const { w, terminals, peer_id } = fixture;
  await addPeer(w, "web");
  await w.clock.settle();
  const body = JSON.stringify({ daemon_id: daemonId(1), peer_id, permissions: "rw" });
  const headers = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
  const shared = await r.fetch("/api/v1/shares", { method: "POST", headers, body });
  const { share_id } = await shared.json();
  return {
    ...fixture,
    /** The guest asks by the link. */
    async asksAsGuest(text: string): Promise<void> {
      const asked = JSON.stringify({ text });
      const response = await r.fetch(`/s/${share_id}/ask`, { method: "POST", body: asked });
      assert(response.ok, await response.text());
      await w.tick(2);
    },
    /** The asks that the open questions show. Checks of real folders take real time. */
    async questions(): Promise<string[]> {
      const isChecking = () =>
        wakes.open(w.daemon.ctx.db).some(({ state }) => state === "checking");
      for (let ticks = 0; ticks < 500 && isChecking(); ticks++) await w.tick();
      const open = (await wakeItems(w)).filter(({ state }) => state === "open");
      return open.map(({ text }) => /^> (.*)$/m.exec(text)?.[1] ?? "");
    },
    async saysNotNow(): Promise<void> {
      const [item] = await wakeItems(w);
      const params = { id: item?.item_id ?? "" };
      await w.call(replyInboxItem, { params, body: { option_id: "not_now" } });
      await w.tick(2);
    },
    launches: () => terminals.launches.length,
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await r[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a guest's ask to a sleeping agent asks the human first, whatever the policy", async () => {
  for (const policy of ["ask", "always"] as const) {
    await using at = await sharedSleeper(policy);
    await at.asksAsGuest("Let me in");
    assert.deepEqual([await at.questions(), at.launches()], [["Let me in"], 0], policy);
  }
});

Deno.test("an ask that an agent sends for a guest wakes nobody without the human's word", async () => {
  await using at = await sharedSleeper("always");
  const { w } = at;
  const { ctx, directory, origins } = w.daemon;
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  const { peer_id } = directory.findAnywhere("web");
  ctx.db.transact((tx) => origins.include(tx, peer_id, from, { via: "relay" }, undefined));
  await ask(w, "web", "api", "Pass it on");
  await w.tick(2);
  assert.deepEqual([await at.questions(), at.launches()], [["Pass it on"], 0]);
});

Deno.test("not now to a guest holds no ask of an agent, and does hold the guest's next one", async () => {
  await using at = await sharedSleeper("always");
  await at.asksAsGuest("Let me in");
  await at.saysNotNow();
  await at.asksAsGuest("Please");
  assert.deepEqual([await at.questions(), at.launches()], [[], 0]);
  await ask(at.w, "web", "api", "Ready?");
  await untilLaunched(at);
});

Deno.test("the human is asked about an agent's ask, also right after not now to a guest", async () => {
  await using at = await sharedSleeper("ask");
  await at.asksAsGuest("Let me in");
  await at.saysNotNow();
  await ask(at.w, "web", "api", "Ready?");
  await at.w.tick(2);
  assert.deepEqual(await at.questions(), ["Ready?"]);
  await at.saysNotNow();
  await ask(at.w, "web", "api", "Now?");
  await at.w.tick(2);
  assert.deepEqual(await at.questions(), [], "it was no question of a guest");
});

Deno.test("an agent's ask that came while a guest's was in question gets a question of its own", async () => {
  await using at = await sharedSleeper("ask");
  await at.asksAsGuest("Let me in");
  await ask(at.w, "web", "api", "Ready?");
  assert.deepEqual(await at.questions(), ["Let me in"]);
  await at.saysNotNow();
  assert.deepEqual(await at.questions(), ["Ready?"]);
});

/** `GET /ids/{short}`: completes the beginning of an id. */

import assert from "node:assert/strict";
import { keyedIdCodec } from "../../../daemon/features/messages/id_codec.ts";
import { copyMessage } from "../../support/daemon/message_log.ts";
import { announce, BUILDBOX, sharedPeer } from "../../support/machines/remote_peers.ts";
import { type World, world } from "../../support/world.ts";
import { addPeer, ask, get, notify, post } from "../../support/daemon/peer_clients.ts";

/** Ids that begin with different digits. */
function mixedIds() {
  let count = 0;
  const digits = () => (++count * 0x1357).toString(16).padStart(4, "0").slice(-4);
  return {
    next: (prefix: string) => `${prefix}-${digits()}00000000`,
    hex: (bytes: number) => digits().padEnd(bytes * 2, "0"),
    secret: (bytes: number) => digits().padEnd(bytes * 2, "0"),
    distance: () => 1,
    renew: () => undefined,
  };
}

const options = () => ({ ids: mixedIds(), idCodec: keyedIdCodec });

const complete = async (w: World, short: string, of = "record") =>
  await get(w, `/ids/${short}?of=${of}`);

const begin = (id: string) => id.slice(0, id.indexOf("-") + 5);

Deno.test("the first digits stand for a message, an inbox item, a job or a schedule", async () => {
  await using w = world({ ...options(), settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const pair = { from_peer: "ada", to_peer: "bob", text: "Hi" };
  const fires = { ...pair, fire_at: "1h" };
  const many = await post(w, "/asks/many", { from_peer: "ada", to_peers: ["bob"], text: "All?" });
  const inbox = await post(w, "/notify", { ...pair, to_peer: "sam" });
  const ids: string[] = [
    await ask(w, "ada", "bob"),
    (await notify(w, "ada", "bob")).delivery_id,
    inbox.inbox_item_id,
    (await post(w, "/jobs", { title: "Do", assigned_peer: "bob" })).job_id,
    (await post(w, "/jobs", { title: "Do", assigned_peer: "bob", cron: "@daily" })).calendar_id,
    (await post(w, "/schedules", fires)).schedule_id,
    many.parent_id,
  ];
  for (const id of ids) {
    assert.deepEqual((await complete(w, begin(id))).id, id);
    assert.deepEqual((await complete(w, id.slice(0, -1))).id, id);
    assert.deepEqual((await complete(w, begin(id).replace(/^[a-z]+-/, ""))).id, id, "digits alone");
  }
});

Deno.test("the first digits stand for a peer, unless another one has them as its name", async () => {
  await using w = world(options());
  const ada = await addPeer(w, "ada");
  const short = begin(ada.peer_id);
  assert.equal((await complete(w, short, "peer")).id, ada.peer_id);
  assert.equal((await complete(w, short.slice("peer-".length), "peer")).id, ada.peer_id);
  const thief = await addPeer(w, short, { circle: "there" });
  const refused = await complete(w, short, "peer");
  assert.deepEqual([refused.status, refused.error], [409, "ambiguous_id"]);
  assert.deepEqual(refused.matches, [
    { id: ada.peer_id, label: "ada in default" },
    { id: thief.peer_id, label: `${short} in there` },
  ]);
  await w.fetch(`/peers/${thief.peer_id}`, { method: "DELETE" });
  assert.equal((await complete(w, short, "peer")).id, ada.peer_id);
  await w.fetch(`/peers/${ada.peer_id}`, { method: "DELETE" });
  assert.equal((await complete(w, short, "peer")).error, "unknown_id");
});

Deno.test("digits that begin several ids are ambiguous, and the answer names them", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const first = await ask(w, "ada", "bob");
  const second = await ask(w, "ada", "bob");
  const refused = await complete(w, "ask-0000");
  assert.deepEqual([refused.status, refused.error], [409, "ambiguous_id"]);
  const ids = refused.matches.map(({ id }: { id: string }) => id);
  assert.deepEqual(ids.sort(), [first, second].sort());
});

Deno.test("less than 4 digits, another prefix, or an unknown id is refused as unknown", async () => {
  await using w = world();
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  await ask(w, "ada", "bob");
  for (const short of ["ask-000", "000", "inb-0000", "nope-0000", "ask-ffff", "ask-", "ASK-0000"]) {
    assert.equal((await complete(w, short)).error, "unknown_id", short);
  }
  assert.equal((await complete(w, "ask-0000", "peer")).error, "unknown_id");
});

Deno.test("an open ask is found among any number of later messages", async () => {
  await using w = world(options());
  await addPeer(w, "ada");
  await addPeer(w, "bob");
  const open = await ask(w, "ada", "bob");
  w.daemon.ctx.db.transact((tx) => {
    tx.run("update sqlite_sequence set seq = 50000 where name = 'messages'");
  });
  const latest = await ask(w, "ada", "bob");
  for (const id of [open, latest]) assert.equal((await complete(w, id.slice(0, 12))).id, id);
});

Deno.test("a closed ask is found among the 20,000 latest messages, and not before them", async () => {
  await using w = world(options());
  await addPeer(w, "bob");
  const id = await ask(w, "ada", "bob");
  await post(w, "/ack", { correlation_id: id });
  copyMessage(w, 19_990);
  assert.equal((await complete(w, id.slice(0, 12))).id, id);
  copyMessage(w, 20_010);
  assert.equal((await complete(w, id.slice(0, 12))).error, "unknown_id");
});

Deno.test("the first digits stand for a peer of another machine, if no peer here has them", async () => {
  await using w = world(options());
  const ada = await addPeer(w, "ada");
  const [api, human] = [sharedPeer("api", "3f9c"), "peer-ffff00000000"];
  const twin = sharedPeer("twin", ada.peer_id.slice("peer-".length, -1) + "f");
  announce(w, BUILDBOX, [api, twin], { peer_id: human, name: "sam" });
  assert.equal((await complete(w, "peer-3f9c", "peer")).id, api.peer_id);
  assert.equal((await complete(w, "3f9c0", "peer")).id, api.peer_id);
  assert.equal((await complete(w, begin(human), "peer")).error, "unknown_id");
  const { error, matches } = await complete(w, begin(ada.peer_id), "peer");
  assert.deepEqual([error, matches[0].id, matches[1].label], [
    "ambiguous_id",
    ada.peer_id,
    "twin@buildbox in default",
  ]);
});

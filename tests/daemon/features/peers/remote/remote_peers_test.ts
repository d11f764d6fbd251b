/** Announcements of other machines' peers: stored, published, refused and deleted. */

import assert from "node:assert/strict";
import { SEEN_STORED_MS } from "../../../../../daemon/features/peers/remote/remote_peers.ts";
import * as rows from "../../../../../daemon/features/peers/remote/store.ts";
import { type World, world } from "../../../../support/world.ts";
import { addPeer, get } from "../../../../support/daemon/peer_clients.ts";
import {
  announce,
  BUILDBOX,
  sharedPeer,
  TOWER,
} from "../../../../support/machines/remote_peers.ts";

/** The events since an earlier number of events: types, names and reasons. */
function eventsSince(w: World, from: number): string[] {
  return w.events.slice(from).map(({ type, data }) =>
    [type, "name" in data && data.name, "reason" in data && data.reason].filter(Boolean).join(" ")
  );
}

function endLease(w: World): void {
  const { ctx, remotePeers } = w.daemon;
  ctx.db.transact((tx) => remotePeers.endLease(tx, BUILDBOX.daemon_id));
}

Deno.test("a change of an announced peer is published once, as for a peer of this machine", async () => {
  await using w = world();
  const steps: [Parameters<typeof sharedPeer>[2], string[]][] = [
    [{}, ["peer_registered api@buildbox"]],
    [{}, []],
    [{ last_seen: 1000 }, []],
    [{ status: "busy", turn_state: "working" }, ["peer_updated api@buildbox"]],
    [{ status: "offline" }, ["peer_offline api@buildbox"]],
    [{ status: "offline" }, []],
    [{ status: "online" }, ["peer_online api@buildbox"]],
    [{ name: "web" }, ["peer_updated web@buildbox"]],
  ];
  for (const [more, expected] of steps) {
    const before = w.events.length;
    announce(w, BUILDBOX, [sharedPeer("api", "a1", more)]);
    await w.clock.settle();
    assert.deepEqual(eventsSince(w, before), expected, JSON.stringify(more));
  }
  const before = w.events.length;
  const { removed } = announce(w, BUILDBOX, []);
  await w.clock.settle();
  assert.deepEqual(removed, ["peer-a10000000000"]);
  assert.deepEqual(eventsSince(w, before), ["peer_removed web@buildbox"]);
});

Deno.test("without its machine's announcements a peer is offline, and later online again", async () => {
  await using w = world();
  const seen = w.clock.now();
  announce(w, BUILDBOX, [sharedPeer("api", "a1", { turn_state: "working", last_seen: seen })]);
  announce(w, TOWER, [sharedPeer("web", "b2")]);
  await w.clock.settle();
  const before = w.events.length;
  endLease(w);
  endLease(w);
  await w.clock.settle();
  assert.deepEqual(eventsSince(w, before), ["peer_offline api@buildbox machine_offline"]);
  const { db } = w.daemon.ctx;
  const { status, turn_state, last_seen } = rows.get(db, "peer-a10000000000") ?? {};
  assert.deepEqual([status, turn_state, last_seen], ["offline", null, seen]);
  assert.equal(rows.get(db, "peer-b20000000000")?.status, "online");
  assert.equal(w.daemon.remotePeers.address("peer-a10000000000")?.status, "offline");
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  await w.clock.settle();
  assert.deepEqual(eventsSince(w, before + 1), ["peer_online api@buildbox"]);
});

Deno.test("after a start, peers of other machines are offline until they are announced", async () => {
  await using w = world();
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  const { ctx, remotePeers } = w.daemon;
  ctx.db.transact((tx) => remotePeers.start(tx));
  assert.equal(remotePeers.address("peer-a10000000000")?.status, "offline");
});

Deno.test("a repeated announcement is stored every 10 minutes, and shown at once", async () => {
  await using w = world();
  const { db } = w.daemon.ctx;
  const renew = () =>
    announce(w, BUILDBOX, [sharedPeer("api", "a1", { last_seen: w.clock.now() })]);
  const first = w.clock.now();
  renew();
  await w.clock.advance(20_000);
  renew();
  await w.clock.settle();
  const stored = () => rows.get(db, "peer-a10000000000");
  const peer = stored();
  assert.ok(peer);
  assert.deepEqual([peer.last_seen, peer.seen_at], [first, first]);
  assert.equal(w.daemon.remotePeers.lastSeen(peer), first + 20_000);
  await w.clock.advance(SEEN_STORED_MS);
  renew();
  assert.equal(stored()?.seen_at, w.clock.now());
  assert.equal(stored()?.registered_at, first);
});

Deno.test("a machine cannot announce a peer of this machine or of a third one", async () => {
  await using w = world();
  const { peer_id } = await addPeer(w, "web");
  await w.fetch(`/peers/${peer_id}`, { method: "DELETE" });
  announce(w, TOWER, [sharedPeer("api", "a1")]);
  const forged = [
    sharedPeer("mine", "", { peer_id }),
    sharedPeer("api", "a1"),
    sharedPeer("own", "c3"),
    sharedPeer("twice", "c3"),
  ];
  const { refused } = announce(w, BUILDBOX, forged, { peer_id, name: "sam" });
  assert.deepEqual(refused, [peer_id, "peer-a10000000000", "peer-c30000000000", peer_id]);
  const { remotePeers } = w.daemon;
  assert.equal(remotePeers.address("peer-a10000000000")?.name, "api@tower");
  assert.equal(remotePeers.address("peer-c30000000000")?.name, "own@buildbox");
  assert.equal(remotePeers.address(peer_id), undefined);
  assert.equal(remotePeers.human(BUILDBOX.daemon_id), undefined);
});

Deno.test("the peers of a forgotten machine are gone, and those of others stay", async () => {
  await using w = world();
  const human = { peer_id: "peer-d40000000000", name: "sam" };
  announce(w, BUILDBOX, [sharedPeer("api", "a1")], human);
  announce(w, TOWER, [sharedPeer("web", "b2")]);
  const { ctx, remotePeers } = w.daemon;
  const gone = ctx.db.transact((tx) => remotePeers.forget(tx, BUILDBOX.daemon_id));
  assert.deepEqual(gone, ["peer-a10000000000", "peer-d40000000000"]);
  assert.equal(remotePeers.address("peer-a10000000000"), undefined);
  assert.equal(remotePeers.human(BUILDBOX.daemon_id), undefined);
  assert.equal(remotePeers.address("peer-b20000000000")?.name, "web@tower");
});

Deno.test("a machine's new name is in the names of its peers", async () => {
  await using w = world();
  announce(w, BUILDBOX, [sharedPeer("api", "a1")]);
  announce(w, { ...BUILDBOX, name: "bigbox" }, [sharedPeer("api", "a1")]);
  assert.equal(w.daemon.directory.target("api@bigbox", {}).peer_id, "peer-a10000000000");
  assert.throws(() => w.daemon.directory.target("api@buildbox", {}));
});

Deno.test("an announcement that is rolled back is not found", async () => {
  await using w = world();
  const { ctx, directory, remotePeers } = w.daemon;
  assert.throws(() =>
    ctx.db.transact((tx) => {
      remotePeers.announce(tx, BUILDBOX, [sharedPeer("api", "a1")]);
      assert.equal(directory.target("api", {}).name, "api@buildbox");
      throw new Error("rolled back");
    }), /rolled back/);
  assert.throws(() => directory.target("api", {}), /unknown_peer/);
});

Deno.test("what a peer of another machine waits for is shown as its machine announced it last", async () => {
  await using w = world();
  const waits_for = {
    kind: "trust",
    since: 0,
    source: "screen",
    detail: null,
    resets_at: null,
  } as const;
  const waiting = sharedPeer("api", "a1", { waits_for });
  announce(w, BUILDBOX, [waiting]);
  const found = await get(w, `/peers/${waiting.peer_id}`);
  assert.deepEqual(
    [found.display_name, found.waits_for.kind, found.waits_for.source],
    ["api@buildbox", "trust", "screen"],
  );
  const published: (string | null)[] = [];
  w.daemon.ctx.events.subscribe({ turn: ({ waits_for }) => void published.push(waits_for) });
  announce(w, BUILDBOX, [{ ...waiting, waits_for: null }]);
  assert.equal((await get(w, `/peers/${waiting.peer_id}`)).waits_for, null);
  announce(w, BUILDBOX, [waiting]);
  announce(w, BUILDBOX, [{ ...waiting, status: "offline" }]);
  assert.equal((await get(w, `/peers/${waiting.peer_id}`)).waits_for, null);
  assert.deepEqual(published, [null, "trust"]);
});

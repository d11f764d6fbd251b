/** A machine accepts or refuses the directory entries of others. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { LEASE_MS } from "../../../../daemon/machines/directory/machine_directory.ts";
import { RENEW_MS } from "../../../../daemon/machines/directory/own_entry.ts";
import { sealAnnouncement } from "../../../../daemon/machines/trust/announcement.ts";
import type { NetworkKeys } from "../../../../daemon/machines/trust/network.ts";
import { addPeer, get } from "../../../support/daemon/peer_clients.ts";
import { sharedPeer } from "../../../support/machines/remote_peers.ts";
import { type Member, member, NETWORK } from "../../../support/machines/directories.ts";
import {
  makeMachine,
  makeNetwork,
  type TrustedMachine,
} from "../../../support/machines/trusted_machines.ts";

const BUILDBOX = makeMachine(NETWORK, { name: "buildbox" });

/** Hands the last entry of one machine to another. */
function carry(from: Member, to: Member) {
  return to.directory.received(from.daemon_id, from.entries.at(-1) ?? null);
}

/** An entry with any content. */
function entryOf(
  at: Member,
  content: Record<string, unknown>,
  { card, keys }: TrustedMachine = BUILDBOX,
  network: NetworkKeys = NETWORK,
): Uint8Array {
  const made = new Date(at.w.clock.now()).toISOString();
  const entry = { version: 1, at: made, mesh_version: "1.0.0", peers: [], human: null, ...content };
  const body = new TextEncoder().encode(JSON.stringify(entry));
  return sealAnnouncement({ card, body }, keys, network, randomIds);
}

const reasonsOf = ({ w }: Member) => w.logged.map((line) => JSON.parse(line).reason);
const peersOf = async ({ w }: Member) =>
  (await get(w, "/peers")).peers.map((peer: { display_name: string; status: string }) =>
    `${peer.display_name} ${peer.status}`
  );

Deno.test("peers of an announced machine are peers here, until it is silent for 60 s", async () => {
  await using a = member({ name: "laptop" });
  await using b = member({ name: "buildbox", beside: a.w });
  await addPeer(b.w, "api");
  await b.tick();
  assert.equal(carry(b, a), true);
  assert.deepEqual(await peersOf(a), ["api@buildbox online"]);
  await b.tick(RENEW_MS / 1000);
  a.directory.tick();
  assert.equal(carry(b, a), false);
  a.directory.heard(b.daemon_id, b.bus.beats.at(-1) ?? new Uint8Array());
  await a.tick(LEASE_MS / 1000 - 1);
  assert.deepEqual(await peersOf(a), ["api@buildbox online"]);
  await a.tick();
  assert.deepEqual(await peersOf(a), ["api@buildbox offline"]);
  assert.equal(a.directory.isOnline(b.daemon_id), false);
  await b.tick();
  assert.equal(carry(b, a), true);
  assert.deepEqual(a.changes, ["buildbox online", "buildbox offline", "buildbox online"]);
  assert.equal(a.directory.lastSeen(b.daemon_id), a.w.clock.now());
});

Deno.test("the peers of a machine that withdraws its entry are offline at once", async () => {
  await using a = member({ name: "laptop" });
  await using b = member({ name: "buildbox", beside: a.w });
  await addPeer(b.w, "api");
  await b.tick();
  carry(b, a);
  await b.directory.leave();
  carry(b, a);
  carry(b, a);
  assert.deepEqual(await peersOf(a), ["api@buildbox offline"]);
  assert.deepEqual(a.changes, ["buildbox online", "buildbox offline"]);
});

Deno.test("the time at which a peer was seen is from this machine's clock", async () => {
  await using a = member({ name: "laptop" });
  const ahead = 300_000;
  const now = a.w.clock.now();
  const at = new Date(now + ahead).toISOString();
  const last_seen = new Date(now + ahead - 7000).toISOString();
  const peers = [{ ...sharedPeer("api", "a1"), last_seen }];
  a.directory.received(BUILDBOX.daemon_id, entryOf(a, { at, peers }));
  assert.equal(Date.parse((await get(a.w, "/peers/api")).last_seen), now - 7000);
});

Deno.test("an entry is refused that the machine did not make for this network", async () => {
  await using a = member({ name: "laptop" });
  const other = makeNetwork();
  const stranger = makeMachine(other, { name: "stranger" });
  const peers = [sharedPeer("api", "a1")];
  const tower = makeMachine(NETWORK, { name: "tower" });
  const forged = entryOf(a, { peers }, { ...tower, keys: BUILDBOX.keys });
  const entries: [string, Uint8Array][] = [
    [stranger.daemon_id, entryOf(a, { peers }, stranger, other)],
    [stranger.daemon_id, entryOf(a, { peers }, stranger, NETWORK)],
    [tower.daemon_id, entryOf(a, { peers }, BUILDBOX)],
    [BUILDBOX.daemon_id, entryOf(a, { peers }).slice(1)],
    [BUILDBOX.daemon_id, new Uint8Array()],
    [tower.daemon_id, forged],
  ];
  for (const [from, entry] of entries) {
    assert.equal(a.directory.received(from, entry), false);
  }
  assert.deepEqual(await peersOf(a), []);
  assert.deepEqual(a.trust.list(), []);
  assert.deepEqual(reasonsOf(a), ["not_readable", "not_readable", "not_readable"]);
});

Deno.test("a machine with other keys, or with the name of another one, is refused", async () => {
  await using a = member({ name: "laptop" });
  const { daemon_id } = BUILDBOX;
  a.directory.received(daemon_id, entryOf(a, { peers: [sharedPeer("api", "a1")] }));
  await a.tick();
  const imitator = makeMachine(NETWORK, { name: "buildbox", daemon_id });
  const namesake = makeMachine(NETWORK, { name: "Buildbox" });
  for (let times = 0; times < 2; times++) {
    a.directory.received(daemon_id, entryOf(a, { peers: [] }, imitator));
    a.directory.received(namesake.daemon_id, entryOf(a, {}, namesake));
    await a.tick();
  }
  assert.deepEqual(reasonsOf(a), ["keys_changed", "name_taken"]);
  assert.deepEqual(await peersOf(a), ["api@buildbox online"]);
  assert.equal(a.directory.isOnline(namesake.daemon_id), false);
});

Deno.test("an entry that the bus repeats does not prolong the lease, and an older one is refused", async () => {
  await using a = member({ name: "laptop" });
  const { daemon_id } = BUILDBOX;
  const older = entryOf(a, { peers: [sharedPeer("old", "a1")] });
  await a.tick();
  const newer = entryOf(a, { peers: [sharedPeer("api", "a1")] });
  a.directory.received(daemon_id, newer);
  await a.tick(30);
  a.directory.received(daemon_id, newer);
  a.directory.received(daemon_id, older);
  assert.deepEqual(await peersOf(a), ["api@buildbox online"]);
  assert.deepEqual(reasonsOf(a), ["outdated"]);
  await a.tick(30);
  assert.deepEqual(await peersOf(a), ["api@buildbox offline"]);
});

Deno.test("peers that cannot be read or belong to others are left out, and the rest is taken", async () => {
  await using a = member({ name: "laptop" });
  const { peer_id } = await addPeer(a.w, "web");
  const peers = [
    sharedPeer("api", "a1"),
    { ...sharedPeer("new", "b2"), backend: "a-backend-of-the-future" },
    { ...sharedPeer("sam", "c3"), role: "human" },
    { ...sharedPeer("a@b", "d4") },
    { ...sharedPeer("forged", "e5"), peer_id },
  ];
  a.directory.received(BUILDBOX.daemon_id, entryOf(a, { peers }));
  assert.deepEqual(await peersOf(a), ["web online", "api@buildbox online"]);
  assert.deepEqual(reasonsOf(a), ["peer_id_taken", "peers_skipped"]);
});

Deno.test("an entry of another format is refused, and a machine ignores its own", async () => {
  await using a = member({ name: "laptop" });
  const { daemon_id } = BUILDBOX;
  a.directory.received(daemon_id, entryOf(a, { version: 2 }));
  a.directory.received(daemon_id, entryOf(a, { at: "yesterday" }));
  const many = Array.from({ length: 1001 }, () => sharedPeer("api", "a1"));
  a.directory.received(daemon_id, entryOf(a, { peers: many }));
  assert.deepEqual(reasonsOf(a), ["unknown_version", "malformed"]);
  await addPeer(a.w, "web");
  await a.tick();
  carry(a, a);
  assert.deepEqual(await peersOf(a), ["web online"]);
  assert.deepEqual(a.trust.list(), []);
});

Deno.test("a machine that was forgotten is met again with its next entry", async () => {
  await using a = member({ name: "laptop" });
  const { daemon_id } = BUILDBOX;
  const next = () => entryOf(a, { peers: [sharedPeer("api", "a1")] });
  a.directory.received(daemon_id, next());
  a.w.daemon.ctx.db.transact((tx) => {
    a.w.daemon.remotePeers.forget(tx, daemon_id);
    a.trust.forget(tx, daemon_id);
  });
  a.directory.forget(daemon_id);
  assert.deepEqual([await peersOf(a), a.directory.isOnline(daemon_id)], [[], false]);
  await a.tick();
  assert.equal(a.directory.received(daemon_id, next()), true);
});

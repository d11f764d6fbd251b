/** Heartbeats: their meaning, and how machines get the entries that they name. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { LEASE_MS } from "../../../../daemon/machines/directory/machine_directory.ts";
import { RENEW_MS } from "../../../../daemon/machines/directory/own_entry.ts";
import { sealBeat } from "../../../../daemon/machines/directory/beat.ts";
import {
  openAnnouncement,
  sealAnnouncement,
} from "../../../../daemon/machines/trust/announcement.ts";
import { addPeer, get } from "../../../support/daemon/peer_clients.ts";
import { type Member, member, NETWORK } from "../../../support/machines/directories.ts";
import { makeMachine } from "../../../support/machines/trusted_machines.ts";

const BEAT_BYTES_MAX = 300;
const RENEW_SECONDS = RENEW_MS / 1000;

/** Two machines with one clock; each answers the calls of the other. */
async function twoMembers() {
  const a = member({ name: "laptop" });
  const b = member({ name: "buildbox", beside: a.w });
  await addPeer(b.w, "api");
  a.bus.carry = (_to, frame) => b.directory.answer(a.daemon_id, frame);
  b.bus.carry = (_to, frame) => a.directory.answer(b.daemon_id, frame);
  return {
    a,
    b,
    async [Symbol.asyncDispose](): Promise<void> {
      await b[Symbol.asyncDispose]();
      await a[Symbol.asyncDispose]();
    },
  };
}

const announce = (from: Member, to: Member) =>
  to.directory.announced(from.daemon_id, from.entries.at(-1) ?? null);
const beat = (from: Member, to: Member, bytes = from.bus.beats.at(-1)) =>
  to.directory.heard(from.daemon_id, bytes ?? new Uint8Array());
const peersOf = async ({ w }: Member) =>
  (await get(w, "/peers")).peers.map((peer: { display_name: string; status: string }) =>
    `${peer.display_name} ${peer.status}`
  );

Deno.test("heartbeats keep a machine online, and a repeated one does not", async () => {
  await using at = await twoMembers();
  const { a, b } = at;
  await b.tick();
  announce(b, a);
  for (let times = 0; times < 6; times++) {
    await b.tick(RENEW_SECONDS);
    beat(b, a);
    await a.tick(0);
  }
  assert.equal(a.directory.isOnline(b.daemon_id), true);
  assert.equal(b.entries.length, 1);
  const old = b.bus.beats.at(-1);
  assert.ok(old && old.length < BEAT_BYTES_MAX, `${old?.length} bytes`);
  await a.tick(LEASE_MS / 1000 - 1);
  beat(b, a, old);
  await a.tick();
  assert.equal(a.directory.isOnline(b.daemon_id), false);
});

Deno.test("the heartbeat of another machine, or one that was changed, keeps nobody online", async () => {
  await using at = await twoMembers();
  const { a, b } = at;
  await using c = member({ name: "tower", beside: a.w });
  for (const machine of [b, c]) {
    await machine.tick();
    announce(machine, a);
  }
  await a.tick(40);
  a.bus.carry = undefined;
  for (const machine of [b, c]) await machine.tick();
  beat(b, a, c.bus.beats.at(-1));
  const known = openAnnouncement(b.daemon_id, NETWORK, b.entries.at(-1) ?? new Uint8Array());
  const { run = "" } = JSON.parse(new TextDecoder().decode(known?.body));
  const forged = { run, seq: 1000, revision: 1 };
  beat(b, a, sealBeat(b.daemon_id, forged, c.keys, NETWORK, randomIds));
  beat(b, a, b.bus.beats.at(-1)?.with(60, 0));
  await a.tick(20);
  assert.equal(a.directory.isOnline(b.daemon_id), false);
});

Deno.test("a machine asks for the entry that a heartbeat names and that it has not", async () => {
  await using at = await twoMembers();
  const { a, b } = at;
  await b.tick();
  await b.tick(RENEW_SECONDS);
  beat(b, a); // It has never seen an entry.
  await a.tick();
  assert.deepEqual(await peersOf(a), ["api@buildbox online"]);
  await addPeer(b.w, "web");
  await b.tick(); // The change does not arrive.
  await b.tick(RENEW_SECONDS);
  beat(b, a);
  await a.tick();
  assert.deepEqual((await peersOf(a)).sort(), ["api@buildbox online", "web@buildbox online"]);
  const asked = a.bus.calls.length;
  beat(b, a);
  await a.tick();
  assert.equal(a.bus.calls.length, asked);
});

Deno.test("a machine that connects is sent the entry that the bus no longer shows", async () => {
  await using at = await twoMembers();
  const { a, b } = at;
  await b.tick();
  await b.tick(RENEW_SECONDS * 3);
  await a.tick();
  announce(a, b);
  await b.tick();
  assert.deepEqual(await peersOf(a), ["api@buildbox online"]);
  assert.equal(b.bus.calls.length, 1);
  announce(a, b);
  await b.tick();
  assert.equal(b.bus.calls.length, 1);
});

Deno.test("a machine without heartbeats gets whole entries, and its own count as signs of life", async () => {
  await using a = member({ name: "laptop" });
  const old = makeMachine(NETWORK, { name: "buildbox" });
  const announceOld = () => {
    const at = new Date(a.w.clock.now()).toISOString();
    const entry = { version: 1, at, mesh_version: "0.0.9", peers: [], human: null };
    const body = new TextEncoder().encode(JSON.stringify(entry));
    const sealed = sealAnnouncement({ card: old.card, body }, old.keys, NETWORK, randomIds);
    a.directory.announced(old.daemon_id, sealed);
  };
  announceOld();
  for (let times = 0; times < 3; times++) {
    await a.tick(RENEW_SECONDS);
    announceOld();
  }
  assert.deepEqual([a.entries.length, a.bus.beats.length], [3, 0]);
  assert.equal(a.directory.isOnline(old.daemon_id), true);
  a.directory.announced(old.daemon_id, null);
  assert.equal(a.directory.isOnline(old.daemon_id), false);
  await a.tick(RENEW_SECONDS);
  assert.deepEqual([a.entries.length, a.bus.beats.length], [3, 1]);
});

Deno.test("the bus can neither report a machine with heartbeats as gone, nor replay its leaving", async () => {
  await using at = await twoMembers();
  const { a, b } = at;
  await b.tick();
  const first = b.entries.at(-1) ?? new Uint8Array();
  announce(b, a);
  a.directory.announced(b.daemon_id, null);
  assert.equal(a.directory.isOnline(b.daemon_id), true);
  await b.directory.leave();
  const left = b.entries.at(-1) ?? new Uint8Array();
  a.directory.announced(b.daemon_id, left);
  assert.equal(a.directory.isOnline(b.daemon_id), false);
  a.directory.announced(b.daemon_id, first);
  a.directory.announced(b.daemon_id, left.slice(1));
  assert.equal(a.directory.isOnline(b.daemon_id), true);
});

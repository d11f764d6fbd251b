/** A machine's announcements: their peers, the fields of each, and their times. */

import assert from "node:assert/strict";
import { fromBytes } from "../../../../daemon/machines/directory/entry.ts";
import { RENEW_MS, SEEN_MS } from "../../../../daemon/machines/directory/own_entry.ts";
import { openAnnouncement } from "../../../../daemon/machines/trust/announcement.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { type Member, member, NETWORK } from "../../../support/machines/directories.ts";

/** The last entry that a machine announced. */
function lastEntry({ daemon_id, entries }: Member) {
  const opened = openAnnouncement(daemon_id, NETWORK, entries.at(-1) ?? new Uint8Array());
  assert.ok(opened);
  const parsed = fromBytes(opened.body);
  assert.ok(parsed.ok);
  assert.equal(parsed.skipped, 0);
  return parsed.entry;
}

const namesOf = (machine: Member) => lastEntry(machine).peers.map(({ name }) => name);

Deno.test("only peers of shared circles are announced, and no peers without shared circles", async () => {
  await using none = member({ name: "none", circles: [] });
  await addPeer(none.w, "api", { circle: "team" });
  await none.tick();
  assert.deepEqual(namesOf(none), []);
  await using some = member({ name: "some", circles: ["team"] });
  const team = await addPeer(some.w, "api", { circle: "team" });
  const home = await addPeer(some.w, "diary", { circle: "home" });
  const service = await addPeer(some.w, "bot", { circle: "home", role: "service" });
  await some.tick();
  assert.deepEqual(namesOf(some), ["api"]);
  assert.deepEqual([team, home, service].map((peer) => some.shared.isShared(peer)), [
    true,
    false,
    false,
  ]);
  await using all = member({ name: "all", circles: ["*"] });
  const far = await addPeer(all.w, "api", { circle: "far" });
  await all.tick();
  assert.deepEqual([namesOf(all), all.shared.isShared(far)], [["api"], true]);
  const hidden = await addPeer(none.w, "web", { circle: "*" }).catch(() => undefined);
  assert.equal(hidden, undefined); // No circle has the name that stands for all.
});

Deno.test("peers that lists leave out are not announced: sub-agents alone, senders, retired ones", async () => {
  await using a = member({ name: "laptop" });
  const unlisted = [
    await addPeer(a.w, "sub", { provenance: { parent_runtime_id: "s-1" } }),
    await addPeer(a.w, "sender", { provenance: { addressable: false } }),
    await addPeer(a.w, "screen", { provenance: { initiator: "system" } }),
    await addPeer(a.w, "gone"),
    await addPeer(a.w, "sam", { role: "human" }),
  ];
  await a.w.post("/peers/gone/offline", { terminal: true });
  await addPeer(a.w, "off");
  await a.w.post("/peers/off/offline", {});
  await a.tick();
  assert.deepEqual(namesOf(a), ["off"]);
  for (const peer of unlisted) assert.equal(a.shared.isShared(peer), false);
  assert.equal(lastEntry(a).human?.name, "sam");
  await addPeer(a.w, "parent", { runtime_session_id: "s-1" });
  await a.tick();
  assert.deepEqual(namesOf(a).sort(), ["off", "parent", "sub"]);
});

Deno.test("only the last folder of a peer's path and the beginning of its description are announced", async () => {
  await using a = member({ name: "laptop" });
  await addPeer(a.w, "api", { path: "/home/sam/secret/api/", agent_pid: 77, metadata: { key: 1 } });
  await a.w.post("/peers/api/description", { description: `${"x".repeat(199)}😀 and more` });
  await a.tick();
  const [peer] = lastEntry(a).peers;
  assert.deepEqual(Object.keys(peer ?? {}).sort(), [
    "backend",
    "circle",
    "description",
    "folder",
    "id_proof",
    "last_seen",
    "model",
    "name",
    "peer_id",
    "role",
    "status",
    "turn_state",
    "waits_for",
  ]);
  assert.deepEqual([peer?.folder, peer?.description], ["api", "x".repeat(199)]);
  await a.w.clock.advance(901_000);
  await a.w.post("/peers/api/touch", {});
  await a.tick();
  assert.equal(lastEntry(a).peers[0]?.description, null);
});

Deno.test("a change is announced at the next tick and once; a heartbeat follows after 20 s", async () => {
  await using a = member({ name: "laptop" });
  await a.tick();
  assert.equal(a.entries.length, 1);
  await addPeer(a.w, "api");
  await a.tick();
  assert.deepEqual([a.entries.length, namesOf(a)], [2, ["api"]]);
  await a.tick();
  await a.w.post("/peers/api/touch", {});
  a.w.daemon.tick();
  await a.tick();
  assert.equal(a.entries.length, 2);
  await a.tick(RENEW_MS / 1000);
  assert.deepEqual([a.entries.length, a.bus.beats.length], [2, 1]);
  await a.w.post("/peers/api/turn", { turn_state: "working" });
  await a.tick();
  assert.deepEqual([a.entries.length, lastEntry(a).peers[0]?.turn_state], [3, "working"]);
  await a.tick(RENEW_MS / 1000);
  assert.deepEqual([a.entries.length, a.bus.beats.length], [3, 2]);
});

Deno.test("nothing is announced while the bus is down; after that, everything at once", async () => {
  await using a = member({ name: "laptop" });
  await a.tick();
  a.bus.isConnected = false;
  await addPeer(a.w, "api");
  await a.tick(60);
  assert.equal(a.entries.length, 1);
  a.bus.isConnected = true;
  await a.tick();
  assert.deepEqual([a.entries.length, namesOf(a)], [2, ["api"]]);
});

Deno.test("an entry that the bus refuses is logged once, and tried again after 20 s", async () => {
  await using a = member({ name: "laptop" });
  a.bus.fault = new Error("not permitted");
  await a.tick();
  await a.tick();
  await a.tick(RENEW_MS / 1000);
  assert.deepEqual(a.w.logged.map((line) => JSON.parse(line).reason), ["not_published"]);
  a.bus.fault = undefined;
  await a.tick(5);
  assert.equal(a.entries.length, 0);
  await a.tick(RENEW_MS / 1000);
  assert.equal(a.entries.length, 1);
});

Deno.test("when peers were seen is announced every ten minutes, if nothing else changes", async () => {
  await using a = member({ name: "laptop" });
  await addPeer(a.w, "api");
  await a.tick();
  for (let passed_ms = 0; passed_ms <= SEEN_MS; passed_ms += RENEW_MS) {
    await a.w.post("/peers/api/touch", {});
    a.w.daemon.tick();
    await a.tick(RENEW_MS / 1000);
  }
  assert.equal(a.entries.length, 2);
});

Deno.test("a server that permits no heartbeats gets the whole entry every 20 s", async () => {
  await using a = member({ name: "laptop" });
  a.bus.permitsBeats = false;
  for (let times = 0; times < 3; times++) await a.tick(RENEW_MS / 1000);
  assert.deepEqual([a.entries.length, a.bus.beats.length], [3, 0]);
  assert.equal(lastEntry(a).beats, false);
});

Deno.test("a machine that leaves withdraws its entry once, and announces nothing more", async () => {
  await using a = member({ name: "laptop" });
  await a.tick();
  await a.directory.leave();
  await a.directory.leave();
  await a.tick(RENEW_MS / 1000);
  assert.deepEqual([a.bus.withdrawn, a.entries.length, lastEntry(a).leaves], [1, 2, true]);
});

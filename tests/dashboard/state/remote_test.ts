/** Peers of other machines, and the groups of machines. */

import assert from "node:assert/strict";
import {
  clockDifference,
  groupsOf,
  hasOthers,
  latency,
  recipientsAmong,
  withShownName,
} from "../../../dashboard/state/remote.ts";
import { busOf, machineOf, NO_BUS, remotePeerOf } from "../../support/dashboard/network.ts";
import { messageOf, peerOf } from "../../support/dashboard/records.ts";

const LOCAL = peerOf({ name: "api", daemon_id: "dm-laptop" });
const REMOTE = remotePeerOf("buildbox", { name: "api" });

const namesOf = (machines: Parameters<typeof groupsOf>[1], peers = [LOCAL, REMOTE]) =>
  groupsOf(peers, machines).others.map(({ name, peers }) => `${name} ${peers.length}`);

Deno.test("a remote peer is shown with its machine, and a local one without", () => {
  assert.equal(withShownName(REMOTE).name, "api@buildbox");
  assert.equal(withShownName(LOCAL), LOCAL);
});

Deno.test("peers are grouped by their daemon, and those of this machine stay apart", () => {
  const { own, others } = groupsOf([REMOTE, LOCAL], [machineOf({ name: "buildbox" })]);
  assert.deepEqual(own, [LOCAL]);
  assert.deepEqual(others.map(({ peers }) => peers), [[REMOTE]]);
});

Deno.test("machines that are online come first, then by name", () => {
  const machines = [
    machineOf({ name: "attic", status: "offline" }),
    machineOf({ name: "cloud" }),
    machineOf({ name: "buildbox" }),
  ];
  assert.deepEqual(namesOf(machines), ["buildbox 1", "cloud 0", "attic 0"]);
});

Deno.test("a machine that is only known by its peers has a group, named as they name it", () => {
  assert.deepEqual(namesOf([]), ["buildbox 1"]);
  const nameless = remotePeerOf("cloud", { name: "web", machine: null });
  assert.deepEqual(namesOf([], [nameless]), ["dm-cloud 1"]);
});

Deno.test("machines are a level only if there is another one", () => {
  assert.equal(hasOthers([LOCAL], { bus: NO_BUS, machines: [] }), false);
  assert.equal(hasOthers([LOCAL], { bus: busOf(), machines: [] }), false);
  assert.equal(hasOthers([LOCAL], null), false);
  assert.equal(hasOthers([LOCAL, REMOTE], undefined), true);
  assert.equal(hasOthers([], { bus: busOf(), machines: [machineOf({ name: "a" })] }), true);
});

Deno.test("a clock is mentioned only if it differs by more than 2 s", () => {
  const seconds = (count: number) => `${count} s`;
  const of = (ms: number | null) => clockDifference(ms, seconds);
  assert.deepEqual([null, 0, 2000, -2000].map(of), [undefined, undefined, undefined, undefined]);
  assert.deepEqual([2001, -300_000].map(of), ["ahead by 2.001 s", "behind by 300 s"]);
});

Deno.test("latencies have the digits that matter", () => {
  assert.deepEqual([0.84, 9.96, 12.4, 999, 1500].map(latency), [
    "0.8 ms",
    "10.0 ms",
    "12 ms",
    "999 ms",
    "1.5 s",
  ]);
});

Deno.test("waiting messages are counted for each peer of a machine, the most first", () => {
  const peers = ["api", "db", "web"].map((name) => remotePeerOf("buildbox", { name }));
  const to = (name: string) => messageOf({ to_peer_id: `peer-${name}-buildbox` });
  const messages = [to("web"), messageOf({ to_peer_id: LOCAL.peer_id }), to("api"), to("api")];
  const found = recipientsAmong(peers, messages).map(({ name, count }) => `${name} ${count}`);
  assert.deepEqual(found, ["api 2", "web 1"]);
});

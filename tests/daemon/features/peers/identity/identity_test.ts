/** The table of cases in which somebody is, or is not, a peer. */

import assert from "node:assert/strict";
import {
  type JoinEvidence,
  type KnownPeer,
  mayJoinSession,
  mayRegisterSession,
  occupantOf,
  type PaneClaim,
  peerOfPane,
  peerOfProcess,
  peerOfSession,
  type SessionEvidence,
} from "../../../../../daemon/features/peers/identity/identity.ts";

const process = (pid: number) => ({ pid, started: String(pid * 10) });

/** A live peer, with process `pid` if that is given. */
function peer(peer_id: string, pid?: number, more: Partial<KnownPeer> = {}): KnownPeer {
  const known = pid === undefined ? null : process(pid);
  return { peer_id, process: known, state: known ? "proved" : "none", is_live: true, ...more };
}

const ended = (peer_id: string, pid: number) =>
  peer(peer_id, pid, { state: "ended", is_live: false });
const offline = (peer_id: string, pid?: number) => peer(peer_id, pid, { is_live: false });

// deno-fmt-ignore
const OF_SESSION: readonly [string, readonly KnownPeer[], SessionEvidence, string | undefined][] = [
  // who reports or calls                          on whose record the session is        what is proved                    whose it is
  ["its own agent",                                [peer("a", 7)],                       { agent: process(7) },            "a"],
  ["its own agent, taken for offline",             [offline("a", 7)],                    { agent: process(7) },            "a"],
  ["another process",                              [peer("a", 7)],                       { agent: process(8) },            undefined],
  ["a process that reuses the pid",                [peer("a", 7)],                       { agent: { pid: 7, started: "1" } }, undefined],
  ["nobody who is proved",                         [peer("a", 7)],                       {},                               undefined],
  ["nobody who is proved, for a claimed process",  [peer("a", 7, { state: "claimed" })], {},                               undefined],
  ["nobody who is proved, without any process",    [peer("a")],                          {},                               "a"],
  ["nobody who is proved, after the agent's end",  [ended("a", 7)],                      {},                               "a"],
  ["a process, for a live peer without one",       [peer("a")],                          { agent: process(8) },            undefined],
  ["a process, after the agent's end",             [ended("a", 7)],                      { agent: process(8) },            undefined],
  ["a victim's agent, with a thief beside it",     [peer("thief", 9), peer("a", 7)],     { agent: process(7) },            "a"],
  ["a victim without a process, beside a thief",   [peer("thief", 9), peer("a")],        {},                               "a"],
  ["a tool below the agent",                       [peer("a", 7)],                       { lineage: [9, 7] }, "a"],
  ["a tool below another agent",                   [peer("a", 7)],                       { lineage: [9, 8] }, undefined],
  ["a child that goes on with its parent's session", [peer("a", 7)],                     { agent: process(9), lineage: [9, 7] }, undefined],
  ["the server that all terminals share",          [peer("a", 7)],                       { by_server: true },              "a"],
  ["a live peer before an offline one",            [offline("b"), peer("a")],            {},                               "a"],
];

Deno.test("a session joins a sender to a peer only if the process agrees, or neither has one", () => {
  for (const [who, holders, evidence, expected] of OF_SESSION) {
    assert.equal(peerOfSession(holders, evidence)?.peer_id, expected, who);
  }
});

const CLAIM: JoinEvidence = {
  process: undefined,
  names_process: false,
  by_hook: false,
  is_from_peer: false,
};

// deno-fmt-ignore
const JOINS: readonly [string, KnownPeer, Partial<JoinEvidence>, boolean][] = [
  ["its own process",                           peer("a", 7),    { process: process(7), names_process: true }, true],
  ["a program below its process",               peer("a", 7),    { is_from_peer: true },                       true],
  ["a child agent below its process",           peer("a", 7),    { is_from_peer: true, process: process(9), names_process: true }, false],
  ["another process",                           peer("a", 7),    { process: process(8), names_process: true }, false],
  ["the session alone",                         peer("a", 7),    {},                                           false],
  ["the session of a live peer without process", peer("a"),      {},                                           false],
  ["the same, with a process",                  peer("a"),       { process: process(8), names_process: true }, false],
  ["a hook without a process",                  peer("a"),       { by_hook: true },                            true],
  ["a hook with a process, for a live peer",    peer("a"),       { by_hook: true, process: process(8) },       false],
  ["a hook that resumes it after its end",      ended("a", 7),   { by_hook: true, process: process(8) },       true],
  ["a registration after its end",              ended("a", 7),   { process: process(8), names_process: true }, true],
  ["a registration while it is offline",        offline("a"),    {},                                           true],
  ["a registration while its process runs",     offline("a", 7), {},                                           false],
];

Deno.test("registering with the session of a live peer makes a new peer", () => {
  for (const [who, known, evidence, expected] of JOINS) {
    assert.equal(mayJoinSession(known, { ...CLAIM, ...evidence }), expected, who);
  }
});

// deno-fmt-ignore
const NEWCOMERS: readonly [string, readonly KnownPeer[], { agent?: number; is_late?: boolean }, boolean][] = [
  ["an agent without a record",                  [],                                       { agent: 8 },      true],
  ["an agent beside another with its session",   [peer("a", 7)],                           { agent: 8 },      true],
  ["a hook that nothing can prove",              [],                                       {},                true],
  ["the same, beside a running holder",          [peer("a", 7)],                           {},                false],
  ["the same, beside a running one, offline",    [offline("a", 7)],                        {},                false],
  ["the same, beside a claimed process",         [peer("a", 7, { state: "claimed" })],     {},                true],
  ["the same, beside several of both",           [peer("a"), peer("b", 7)],                {},                false],
  ["a late hook",                                [],                                       { is_late: true }, false],
  ["a late hook beside a claimed process",       [peer("a", 7, { state: "claimed" })],     { is_late: true }, false],
];

Deno.test("a hook without a proof registers no session that a proved process has", () => {
  for (const [who, holders, { agent: pid, is_late = false }, expected] of NEWCOMERS) {
    const agent = pid === undefined ? undefined : process(pid);
    assert.equal(mayRegisterSession(holders, { agent, is_late }), expected, who);
  }
});

const holds = (known: KnownPeer, more: Partial<PaneClaim> = {}): PaneClaim => ({
  ...known,
  has_pane: true,
  ...more,
});
const claims = (known: KnownPeer, more: Partial<PaneClaim> = {}): PaneClaim => ({
  ...known,
  has_pane: false,
  ...more,
});

// deno-fmt-ignore
const OCCUPANTS: readonly [string, readonly PaneClaim[], PaneClaim | undefined, string | undefined][] = [
  // what happens                              who is there                                         who registers        who has it
  ["an agent starts in an empty pane",         [],                                                  claims(peer("a", 7)), "a"],
  ["an agent starts another in its shell",     [holds(peer("a", 7))],                               claims(peer("b", 9)), "a"],
  ["the parent registers after the child",     [holds(peer("b", 9))],                               claims(peer("a", 7)), "a"],
  ["an agent starts after another has ended",  [holds(ended("a", 7))],                              claims(peer("b", 9)), "b"],
  ["a claim without a proof",                  [holds(peer("a", 7))],                               claims(peer("b")),    "a"],
  ["a claim without a proof on the same kind", [holds(peer("a"))],                                  claims(peer("b")),    "b"],
  ["a proof against a claim",                  [holds(peer("a", 7, { state: "claimed" }))],         claims(peer("b", 9)), "b"],
  ["a program that runs another (exec)",       [holds(peer("a", 7))],                               claims(peer("b", 7)), "b"],
  ["the holder runs in another terminal",      [holds(peer("a", 7), { is_elsewhere: true })],       claims(peer("b", 9)), "b"],
  ["a newcomer from another terminal",         [holds(peer("a", 7))],                               claims(peer("b", 5), { is_elsewhere: true }), "a"],
  ["a child, where both have another terminal", [holds(peer("a", 7), { is_elsewhere: true })],      claims(peer("b", 9), { is_elsewhere: true }), "a"],
  ["the holder ends, and two wait",            [holds(ended("a", 7)), claims(peer("c", 9)), claims(peer("b", 8))], undefined, "b"],
  ["the holder ends, and an ended one waits",  [holds(ended("a", 7)), claims(ended("b", 8))],       undefined,            undefined],
];

Deno.test("a pane's occupant is the oldest live proved agent of its terminal [c2.peer.takeover]", () => {
  for (const [what, there, newcomer, expected] of OCCUPANTS) {
    const all = newcomer ? [...there, newcomer] : there;
    assert.equal(occupantOf(all, newcomer)?.peer_id, expected, what);
  }
});

Deno.test("where starts cannot be compared, as on macOS, the peer that has the pane keeps it", () => {
  const dated = (peer_id: string, pid: number) =>
    peer(peer_id, pid, { process: { pid, started: "Fri Nov 27 16:41:00 2026" } });
  const [a, b] = [holds(dated("a", 7)), claims(dated("b", 9))];
  assert.equal(occupantOf([a, b], b)?.peer_id, "a");
});

Deno.test("a process identifies its peer if no other live peer has it", () => {
  assert.equal(peerOfProcess([peer("a", 7)])?.peer_id, "a");
  assert.equal(peerOfProcess([peer("a", 7), offline("b", 7)])?.peer_id, "a");
  assert.equal(peerOfProcess([peer("a", 7), peer("b", 7)]), undefined);
});

Deno.test("a pane alone identifies only a live peer without a process", () => {
  assert.equal(peerOfPane([peer("a")])?.peer_id, "a");
  for (const known of [peer("a", 7), ended("a", 7), offline("a")]) {
    assert.equal(peerOfPane([known]), undefined);
  }
});

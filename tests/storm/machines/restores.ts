/**
 * Machines whose databases go back to an earlier moment while the others go on. `laptop` and
 * `desktop` skip numbers when they start. `buildbox` reuses numbers, like an older version, so the
 * others must refuse its repeats.
 */

import assert from "node:assert/strict";
import type { DatabaseImage } from "../database_files.ts";
import { identOf } from "../daemon/snapshot.ts";
import { ANSWERS } from "./invariants/truth.ts";
import type { MachinesRules, MachinesStorm } from "./machines_storm.ts";
import { type Row, stagesOf } from "./rows.ts";
import type { StormMachine } from "./storm_machine.ts";
import * as answers from "./verbs/answers.ts";
import * as network from "./verbs/network.ts";
import * as peers from "./verbs/peers.ts";

/** Number of earlier moments that a restore may choose from. */
const IMAGES_MAX = 3;
const REPLY = "re ";
const ENDED = new Set(["failed", "expired", "dropped"]);

/** Facts about the whole run, including times that a restore removed. */
class History {
  readonly images = new Map<string, DatabaseImage[]>();
  /** The texts, by machine and id. */
  readonly given = new Map<string, string>();
  /** The answers that have reached the asker's machine. */
  readonly delivered = new Set<string>();
}

/** The rules of one run, which share one history. */
export function restoreRules(): MachinesRules {
  const history = new History();
  return {
    // deno-fmt-ignore
    verbs: [
      { name: "ask",                  weight: 24, run: (storm) => send(storm, history, "ask") },
      { name: "notify",               weight: 16, run: (storm) => send(storm, history, "notify") },
      { name: "answer",               weight: 20, run: answer },
      { name: "cancel",               weight: 6,  run: answers.cancel },
      { name: "read",                 weight: 16, run: peers.read },
      { name: "receipt",              weight: 12, run: peers.receipt },
      { name: "connect",              weight: 12, run: (storm) => peers.connect(storm, true) },
      { name: "a second",             weight: 30, run: (storm) => storm.tick() },
      { name: "two minutes",          weight: 6,  run: (storm) => storm.tick(24, 5000) },
      { name: "a machine is cut off", weight: 8,  run: (storm) => network.setReachable(storm, false) },
      { name: "a machine is back",    weight: 12, run: (storm) => network.setReachable(storm, true) },
      { name: "a batch is repeated",  weight: 4,  run: network.repeat },
      { name: "a daemon restarts",    weight: 4,  run: (storm) => storm.anyMachine().restart() },
      { name: "a backup is made",     weight: 18, run: (storm) => backUp(storm, history) },
      { name: "a machine goes back",  weight: 18, run: (storm) => goBack(storm, history) },
    ],
    invariants: [
      { name: "no error has ended a daemon", check: ({ uncaught }) => uncaught.check() },
      {
        name: "nothing was logged as an error",
        check: ({ machines }) => machines.forEach((machine) => machine.checkLog()),
      },
      { name: "what was accepted since the last restore is there", check: checkAccepted },
      { name: "no message is applied twice", check: checkOnce },
      { name: "an answer closes no other ask", check: (storm) => checkReplies(storm, history) },
    ],
    finalInvariants: [
      { name: "each message has arrived, or ended with a reason", check: checkArrived },
      { name: "an ask is open on both sides, or on none", check: checkAsks },
      {
        name: "an answer has arrived, or its peer was told that it did not",
        check: (storm) => checkAnswered(storm, history),
      },
    ],
  };
}

async function send(storm: MachinesStorm, { given }: History, kind: "ask" | "notify") {
  const { chance, machines } = storm;
  // Mostly two peers talk, so that a reused number goes to the same machine as before.
  const from = chance.oneIn(2) ? storm.anyMachine() : machines.at(-1) ?? storm.anyMachine();
  const to = chance.pick(machines.filter((machine) => machine !== from));
  const body = {
    from_peer: chance.pick(from.actors).name,
    to_peer: `${chance.pick([...to.actors, ...to.agents]).name}@${to.name}`,
    text: storm.nextText(),
  };
  const answer = await from.post(`/${kind}`, body);
  const id = answer["correlation_id"] ?? answer["delivery_id"];
  if (answer.http !== 200 || typeof id !== "string" || "error" in answer) return;
  const [ident, key] = [identOf(id), `${from.name} ${identOf(id)}`];
  if (!from.repeatsNumbers) assert.equal(given.get(key), undefined, `${key} is given twice`);
  given.set(key, body.text);
  from.accepted.set(ident, body.text);
}

/** The recipient answers with the text of the ask. */
async function answer(storm: MachinesStorm): Promise<void> {
  const machine = storm.anyMachine();
  const open = machine.rows().filter((row) => row.sent === 0 && row.ask_state === "open");
  if (open.length === 0) return;
  const { ident, text } = storm.chance.pick(open);
  const message = `${REPLY}${text}`;
  const { http } = await machine.post("/ack", { correlation_id: `ask-${ident}`, message });
  if (http === 200) machine.answered.set(ident, message);
}

function backUp(storm: MachinesStorm, { images }: History): Promise<void> {
  const machine = storm.anyMachine();
  const kept = images.getOrInsertComputed(machine.name, () => []);
  kept.push(machine.files.read());
  kept.splice(0, kept.length - IMAGES_MAX);
  return Promise.resolve();
}

async function goBack(storm: MachinesStorm, { images }: History): Promise<void> {
  const machines = storm.machines.filter(({ name }) => images.has(name));
  if (machines.length === 0) return;
  const machine = storm.chance.pick(machines);
  const old = machine.goBack(storm.chance.pick(images.get(machine.name) ?? []));
  forget(machine);
  await storm.clock.settle(); // Later work of the old daemon reaches no other machine.
  await old[Symbol.asyncDispose]();
  for (const actor of machine.actors) await machine.connect(actor, true);
}

/** Forgets messages that the restore itself removed: they are no loss. */
function forget(machine: StormMachine): void {
  const rows = new Map(machine.rows().map((row) => [row.ident, row]));
  for (const [ident, text] of machine.accepted) {
    if (rows.get(ident)?.text !== text) machine.accepted.delete(ident);
  }
  for (const [ident, text] of machine.answered) {
    if (rows.get(ident)?.reply !== text) machine.answered.delete(ident);
  }
}

function checkAccepted({ machines }: MachinesStorm): void {
  for (const { name, accepted, now } of machines) {
    const texts = new Map(now.map(({ ident, text }) => [ident, text]));
    for (const [ident, text] of accepted) assert.equal(texts.get(ident), text, `${ident} ${name}`);
  }
}

function checkOnce({ machines }: MachinesStorm): void {
  for (const { name, now } of machines) {
    const arrived = now.filter(({ sent }) => sent === 0).map(({ kind, text }) => `${kind} ${text}`);
    assert.equal(new Set(arrived).size, arrived.length, `${name}: ${arrived.toSorted()}`);
  }
}

function checkReplies({ machines }: MachinesStorm, { delivered }: History): void {
  for (const { name, now } of machines) {
    for (const { ident, text, reply, sent, kind } of now) {
      if (kind !== "ask" || !reply?.startsWith(REPLY)) continue;
      assert.equal(reply, `${REPLY}${text}`, `${ident} on ${name}`);
      if (sent === 1) delivered.add(reply);
    }
  }
}

/** The row of a message on the machine that it went to, or came from. */
function otherOf(storm: MachinesStorm, machine: StormMachine, row: Row): Row | undefined {
  const other = row.machine === null ? undefined : storm.machine(row.machine);
  return other?.now.find((candidate) =>
    candidate.machine === machine.daemon_id && candidate.sent === 1 - (row.sent ?? 0) &&
    candidate.text === row.text && candidate.kind === row.kind
  );
}

const titleOf = ({ name }: StormMachine, { ident, kind, text, state, reason }: Row) =>
  `${kind} ${ident} (${text}) of ${name}: ${state} ${reason ?? ""}`;

function checkArrived(storm: MachinesStorm): void {
  for (const machine of storm.machines) {
    for (const row of machine.now.filter(({ sent }) => sent === 1)) {
      const title = titleOf(machine, row);
      if (ENDED.has(row.state)) assert.ok(row.reason, title);
      // An agent has seen it, so it is not sent again to a machine that lost it.
      else if (row.state === "seen" && row.kind !== "ask" || row.ask_state === "closed") continue;
      else assert.ok(otherOf(storm, machine, row), `${title} is lost`);
    }
  }
}

function checkAsks(storm: MachinesStorm): void {
  for (const machine of storm.machines) {
    for (const row of machine.now.filter(({ kind, sent }) => kind === "ask" && sent === 1)) {
      const otherRow = otherOf(storm, machine, row);
      if (otherRow) assert.equal(otherRow.ask_state, row.ask_state, titleOf(machine, row));
    }
  }
}

function checkAnswered(storm: MachinesStorm, { delivered }: History): void {
  for (const machine of storm.machines) {
    const notified = new Set(
      stagesOf(machine.w.daemon)
        .filter(({ stage }) => stage === "answer_late" || stage === "answer_refused")
        .map(({ ident }) => ident),
    );
    for (const [ident, text] of machine.answered) {
      const row = machine.now.find((candidate) => candidate.ident === ident);
      const isKnown = delivered.has(text) || notified.has(ident);
      const isAnswer = row?.reply === text && ANSWERS.has(row.close_reason ?? "");
      assert.ok(!isAnswer || isKnown, `${row && titleOf(machine, row)}: ${text} is lost`);
    }
  }
}

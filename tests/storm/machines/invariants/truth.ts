/** Invariants of what a machine says of another one: it is never more than is true there. */

import assert from "node:assert/strict";
import type { MachinesInvariant, MachinesStorm } from "../machines_storm.ts";
import { pairsOf } from "../pairs.ts";
import { stagesOf } from "../rows.ts";

export const TRUTH_INVARIANTS: readonly MachinesInvariant[] = [
  { name: "what is accepted or seen is so on the other machine", check: checkStates },
  { name: "what has arrived is the message that was sent", check: checkSame },
  { name: "an answer at the origin was given on the other machine", check: checkAnswers },
  { name: "an answer came late only if the asker has another one, or none", check: checkLate },
  { name: "the stages there are those of the other machine", check: checkStages },
];

export const ANSWERS: ReadonlySet<string> = new Set([
  "ack",
  "ack_with_msg",
  "answered",
  "declined",
]);

function checkStates(storm: MachinesStorm): void {
  for (const { sent, arrived, title } of pairsOf(storm)) {
    if (sent.state === "accepted" || sent.state === "seen") assert.ok(arrived, title);
    if (sent.state === "seen") assert.equal(arrived?.state, "seen", title);
  }
}

function checkSame(storm: MachinesStorm): void {
  for (const { origin, sent, arrived, title } of pairsOf(storm)) {
    if (!arrived) continue;
    const { kind, text, to_peer_id, from_peer_id } = sent;
    const { kind: k, text: t, to_peer_id: to, from_peer_id: from } = arrived;
    assert.deepEqual([k, t, to, from], [kind, text, to_peer_id, from_peer_id], title);
    assert.equal(arrived.from_peer_name, `${sent.from_peer_name}@${origin.name}`, title);
  }
}

function checkAnswers(storm: MachinesStorm): void {
  for (const { sent, arrived, title } of pairsOf(storm)) {
    if (sent.ask_state !== "closed" || !ANSWERS.has(sent.close_reason ?? "")) continue;
    assert.ok(arrived, title);
    assert.deepEqual(
      [arrived.close_reason, arrived.reply, arrived.outcome],
      [sent.close_reason, sent.reply, sent.outcome],
      title,
    );
  }
}

function checkLate(storm: MachinesStorm): void {
  const late = new Set<string>();
  for (const { name, w } of storm.machines) {
    for (const { ident, stage } of stagesOf(w.daemon)) {
      if (stage !== "answer_late") continue;
      assert.ok(!late.has(`${name} ${ident}`), `${ident} came late twice on ${name}`);
      late.add(`${name} ${ident}`);
    }
  }
  for (const { other, sent, arrived, title } of pairsOf(storm)) {
    if (!late.has(`${other.name} ${arrived?.ident}`)) continue;
    const isSame = sent.close_reason === arrived?.close_reason && sent.reply === arrived?.reply;
    assert.ok(!isSame, `${title}: the answer has arrived, and came late`);
  }
}

const STAGES = ["attempted", "sent", "accepted", "seen"] as const;

function checkStages(storm: MachinesStorm): void {
  const stages = new Map(
    storm.machines.map((machine) => [
      machine.name,
      Map.groupBy(stagesOf(machine.w.daemon), ({ ident }) => ident),
    ]),
  );
  for (const { origin, sent, arrived, title } of pairsOf(storm)) {
    const all = stages.get(origin.name)?.get(sent.ident) ?? [];
    for (const stage of STAGES) {
      const reported = all.filter((row) => row.stage === `${stage}_there`);
      assert.ok(reported.length <= 1, `${stage} is reported twice: ${title}`);
      const at = arrived?.[`${stage}_at`] ?? null;
      if (reported.length > 0) assert.ok(at !== null, `${stage}: ${title}`);
    }
  }
}

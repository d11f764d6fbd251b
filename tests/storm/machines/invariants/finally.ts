/** Invariants of the end: all faults are over, and everything has had its time to arrive. */

import assert from "node:assert/strict";
import type { MachinesInvariant, MachinesStorm } from "../machines_storm.ts";
import { pairsOf } from "../pairs.ts";
import { stagesOf } from "../rows.ts";
import { ANSWERS } from "./truth.ts";

export const FINAL_INVARIANTS: readonly MachinesInvariant[] = [
  { name: "each message has arrived, or ended with a reason", check: checkArrived },
  { name: "the origin knows how far its message is", check: checkReported },
  { name: "both sides have closed the same asks, as the origin says", check: checkAsks },
  { name: "an answer has arrived, or its peer was told that it came late", check: checkAnswered },
];

const ENDED = new Set(["failed", "expired", "dropped"]);

function checkArrived(storm: MachinesStorm): void {
  for (const { sent, arrived, title } of pairsOf(storm)) {
    if (ENDED.has(sent.state)) assert.ok(sent.reason, `${title}, without a reason`);
    else assert.ok(arrived, title);
  }
}

function checkReported(storm: MachinesStorm): void {
  for (const { sent, arrived, title } of pairsOf(storm)) {
    if (!arrived) continue;
    const isOver = ENDED.has(arrived.state) || arrived.state === "seen";
    const isTaken = sent.state === "accepted" || sent.state === "seen";
    if (isOver || arrived.state === "accepted") assert.equal(sent.state, arrived.state, title);
    else assert.ok(isTaken, title);
  }
}

function checkAsks(storm: MachinesStorm): void {
  for (const { other, sent, arrived, title } of pairsOf(storm)) {
    if (!arrived || sent.kind !== "ask") continue;
    assert.equal(arrived.ask_state, sent.ask_state, title);
    // Both may have closed it at the same time. Only who has answered must hear of that.
    const [ours, theirs] = [sent.close_reason ?? "", arrived.close_reason ?? ""];
    if (ours === theirs || !ANSWERS.has(theirs)) {
      assert.ok(!ANSWERS.has(ours) || ours === theirs, title);
      assert.ok(theirs !== "cancelled" || ours === theirs, `${title}: ${ours}, not cancelled`);
      continue;
    }
    const isLate = stagesOf(other.w.daemon).some(({ ident, stage }) =>
      ident === arrived.ident && stage === "answer_late"
    );
    assert.ok(isLate, `${title}: ${ours} and ${theirs}`);
  }
}

function checkAnswered(storm: MachinesStorm): void {
  const pairs = new Map(
    pairsOf(storm).map((pair) => [`${pair.other.name} ${pair.arrived?.ident}`, pair]),
  );
  for (const { name, answered, w } of storm.machines) {
    const late = new Set(
      stagesOf(w.daemon).filter(({ stage }) => stage === "answer_late").map(({ ident }) => ident),
    );
    for (const [ident, text] of answered) {
      const pair = pairs.get(`${name} ${ident}`);
      assert.ok(pair, `${ident} on ${name} came from nowhere`);
      const { sent, arrived, title } = pair;
      const hasIt = sent.close_reason === arrived?.close_reason && sent.reply === arrived?.reply;
      assert.ok(hasIt || late.has(ident), `${title}: the answer ${text} is lost`);
    }
  }
}

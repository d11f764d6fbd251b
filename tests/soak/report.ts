/** The table of a soak, and what is wrong with its outcome. */

import type { Outcome, Soak } from "./soak.ts";
import { judge } from "./verdict.ts";

/** Problems of an outcome; empty if it is sound. */
export function soundness(soak: Soak, outcome: Outcome): string[] {
  const { ledger, daemon, panes } = soak;
  const { bytes_before, bytes_after } = outcome.later;
  const unsound = judge(outcome.samples, outcome.measured_ms).filter(({ sound }) => !sound);
  const conditions: [boolean, string][] = [
    [ledger.acknowledged > 0, "Nothing was acknowledged"],
    [ledger.lost.length === 0, `Acknowledged and not stored: ${ledger.lost.slice(0, 5)}`],
    [ledger.open === 0, `Acknowledged and without an end: ${ledger.open}`],
    [daemon.failures.length === 0, `Failed requests: ${daemon.failures.slice(0, 5).join("; ")}`],
    [outcome.restarts > 0, "The daemon was never restarted"],
    [panes.counts.spawned > 0, "No agent was started"],
    [
      bytes_after <= bytes_before,
      `Two days later the file grew from ${bytes_before} to ${bytes_after} bytes`,
    ],
  ];
  return [
    ...conditions.flatMap(([holds, problem]) => holds ? [] : [problem]),
    ...unsound.map(({ what, found, allowed }) => `${what}: ${found}, allowed ${allowed}`),
  ];
}

export function table(soak: Soak, outcome: Outcome): string[] {
  const { ledger, daemon, panes } = soak;
  const { samples, measured_ms, restarts, later } = outcome;
  const row = (...cells: readonly (string | number)[]) =>
    cells.map((cell, at) => String(cell).padEnd(at === 0 ? 40 : 14)).join("");
  const counts = (pairs: Iterable<readonly [string, number]>) =>
    [...pairs].toSorted(([, a], [, b]) => b - a).map(([name, count]) => row(`  ${name}`, count));
  return [
    row("requests", daemon.requests),
    row("acknowledged messages", ledger.acknowledged),
    row("lost", ledger.lost.length),
    row("without an end", ledger.open),
    row("restarts of the daemon", restarts),
    row("samples", samples.length),
    "Programs in panes:",
    ...counts(Object.entries(panes.counts)),
    "Ends of messages:",
    ...counts(ledger.ended),
    "Without an end:",
    ...counts(ledger.waiting),
    "Refused requests:",
    ...counts(daemon.refusals),
    row("Figures", "begin", "end", "growth", "allowed", ""),
    ...judge(samples, measured_ms).map(({ what, begin, end, found, allowed, sound }) =>
      row(`  ${what}`, begin.toFixed(1), end.toFixed(1), found, allowed, sound ? "" : "TOO MUCH")
    ),
    row("  file two days later, bytes", later.bytes_before, later.bytes_after),
  ];
}

/** The findings of `mesh doctor` and the type of a check. */

import type { Machine } from "./machine.ts";
import type { MeshSnapshot } from "./snapshot.ts";

export type Severity = "ok" | "note" | "warning" | "error";

export interface Finding {
  /** The name of the check's area, such as `tmux`. */
  readonly area: string;
  /** A stable identifier for programs, such as `TMUX_MISSING`. */
  readonly code: string;
  readonly severity: Severity;
  readonly detail: string;
  /** The fix, in one line; null when nothing needs doing. */
  readonly fix: string | null;
}

/** A finding as a check returns it, without its area; by default there is no fix. */
export type CheckResult = readonly [
  severity: Severity,
  code: string,
  detail: string,
  fix?: string | null,
];

/** The check of one area; it changes nothing. */
export interface Check {
  readonly area: string;
  run(
    machine: Machine,
    snapshot: MeshSnapshot,
  ): readonly CheckResult[] | Promise<readonly CheckResult[]>;
}

export function toFinding(area: string, result: CheckResult): Finding {
  const [severity, code, detail, fix = null] = result;
  return { area, code, severity, detail, fix };
}

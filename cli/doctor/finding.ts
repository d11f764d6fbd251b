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
  /** What to do, in one line; null when nothing needs doing. */
  readonly fix: string | null;
}

/** A finding as a check returns it, without the name of the check's area. */
export type CheckResult = Omit<Finding, "area">;

/** The check of one area; it changes nothing. */
export interface Check {
  readonly area: string;
  run(
    machine: Machine,
    snapshot: MeshSnapshot,
  ): readonly CheckResult[] | Promise<readonly CheckResult[]>;
}

export const ok = (code: string, detail: string): CheckResult =>
  toFinding("ok", code, detail, null);
export const noteFinding = (code: string, detail: string, fix: string | null = null): CheckResult =>
  toFinding("note", code, detail, fix);
export const warningFinding = (code: string, detail: string, fix: string): CheckResult =>
  toFinding("warning", code, detail, fix);
export const errorFinding = (code: string, detail: string, fix: string): CheckResult =>
  toFinding("error", code, detail, fix);

function toFinding(
  severity: Severity,
  code: string,
  detail: string,
  fix: string | null,
): CheckResult {
  return { code, severity, detail, fix };
}

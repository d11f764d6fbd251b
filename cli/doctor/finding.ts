/** What `mesh doctor` finds: one fact each, how bad it is, and what to do about it in one line. */

import type { Machine } from "./machine.ts";
import type { MeshSnapshot } from "./snapshot.ts";

export type Severity = "ok" | "note" | "warning" | "error";

export interface Finding {
  /** The name of the check's area, such as `tmux`. */
  readonly area: string;
  /** For programs: never changes, such as `TMUX_MISSING`. */
  readonly code: string;
  readonly severity: Severity;
  readonly detail: string;
  /** Null where nothing needs doing. */
  readonly fix: string | null;
}

/** A finding, before its area is known. */
export type CheckResult = Omit<Finding, "area">;

/** One area: looks, changes nothing, and says what it saw. */
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

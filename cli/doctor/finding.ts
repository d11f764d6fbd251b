/** What `mesh doctor` finds: one fact each, how bad it is, and what to do about it in one line. */

import type { Machine } from "./machine.ts";
import type { Mesh } from "./mesh.ts";

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
export type Found = Omit<Finding, "area">;

/** One area: looks, changes nothing, and says what it saw. */
export interface Check {
  readonly area: string;
  look(machine: Machine, mesh: Mesh): readonly Found[] | Promise<readonly Found[]>;
}

export const ok = (code: string, detail: string): Found => of("ok", code, detail, null);
export const note = (code: string, detail: string, fix: string | null = null): Found =>
  of("note", code, detail, fix);
export const warning = (code: string, detail: string, fix: string): Found =>
  of("warning", code, detail, fix);
export const error = (code: string, detail: string, fix: string): Found =>
  of("error", code, detail, fix);

function of(severity: Severity, code: string, detail: string, fix: string | null): Found {
  return { code, severity, detail, fix };
}

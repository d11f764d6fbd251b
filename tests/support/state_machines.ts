/** Finds every state machine of the program: each table made by `stateMachine(…)`, in any file. */

import type { StateMachine } from "kit/core/state_machine.ts";
import { type Source, sources } from "../tidy/sources.ts";

/** A machine as a test or a page sees it: its rows as text. */
export type AnyMachine = StateMachine<string, string>;

export interface ExportedMachine {
  /** The file that exports it, such as `protocol/asks/states.ts`. */
  readonly path: string;
  readonly stateMachine: AnyMachine;
  /** The sentence on the first line of its file. */
  readonly about: string;
}

const ROOT = new URL("../../", import.meta.url);
const MACHINE_CALL = /\bstateMachine\(/g;

type MachineSource = Pick<Source, "path" | "text" | "code">;

export async function machines(): Promise<ExportedMachine[]> {
  const machineSources = sources().filter(({ path, code }) =>
    !path.startsWith("tests/") && path !== "kit/core/state_machine.ts" && callsIn(code) > 0
  );
  const found = await Promise.all(machineSources.map(machinesOf));
  return found.flat().sort((a, b) => a.path < b.path ? -1 : 1);
}

/** The machines that a file exports; throws for one that is not exported and so untestable. */
export async function machinesOf({ path, text, code }: MachineSource): Promise<ExportedMachine[]> {
  const exported: Record<string, unknown> = await import(new URL(path, ROOT).href);
  const found = Object.values(exported).filter(isMachine);
  const calls = callsIn(code);
  if (found.length !== calls) {
    throw new Error(
      `${path}: ${calls} calls of stateMachine(), and ${found.length} machines exported`,
    );
  }
  const about = /^\/\*\* (.*) \*\/$/m.exec(text)?.[1] ?? "";
  return found.map((stateMachine) => ({ path, stateMachine, about }));
}

function callsIn(code: string): number {
  return code.includes('"kit/core/state_machine.ts"') ? [...code.matchAll(MACHINE_CALL)].length : 0;
}

function isMachine(value: unknown): value is AnyMachine {
  return typeof value === "object" && value !== null && "rows" in value && "step" in value;
}

/** Finds every state machine of the program: each table that is made by `machine(…)`, wherever. */

import type { Machine } from "kit/core/machine.ts";
import { type Source, sources } from "../tidy/sources.ts";

/** A machine as a test or a page sees it: rows of words. */
export type AnyMachine = Machine<readonly (readonly [from: string, on: string, to: string])[]>;

export interface Found {
  /** The file that exports it, such as `daemon/features/asks/machine.ts`. */
  readonly path: string;
  readonly machine: AnyMachine;
  /** The sentence on the first line of its file. */
  readonly about: string;
}

const ROOT = new URL("../../", import.meta.url);
const MADE = /\bmachine\(/g;

type Made = Pick<Source, "path" | "text" | "code">;

export async function machines(): Promise<Found[]> {
  const making = sources().filter(({ path, code }) =>
    !path.startsWith("tests/") && path !== "kit/core/machine.ts" && callsIn(code) > 0
  );
  const found = await Promise.all(making.map(machinesOf));
  return found.flat().sort((a, b) => a.path < b.path ? -1 : 1);
}

/** The machines that a file exports. One that it does not export could not be tested: an error. */
export async function machinesOf({ path, text, code }: Made): Promise<Found[]> {
  const exported: Record<string, unknown> = await import(new URL(path, ROOT).href);
  const found = Object.values(exported).filter(isMachine);
  const calls = callsIn(code);
  if (found.length !== calls) {
    throw new Error(`${path}: ${calls} calls of machine(), and ${found.length} machines exported`);
  }
  const about = /^\/\*\* (.*) \*\/$/m.exec(text)?.[1] ?? "";
  return found.map((machine) => ({ path, machine, about }));
}

function callsIn(code: string): number {
  return code.includes('"kit/core/machine.ts"') ? [...code.matchAll(MADE)].length : 0;
}

function isMachine(value: unknown): value is AnyMachine {
  return typeof value === "object" && value !== null && "rows" in value && "step" in value;
}

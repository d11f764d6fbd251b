/** Finds every state machine of the house: what `machine.ts` of each room exports. */

import type { Machine } from "kit/machine.ts";

/** A machine as a test or a page sees it: rows of words. */
export type AnyMachine = Machine<readonly (readonly [from: string, on: string, to: string])[]>;

export interface Found {
  /** The room, such as `daemon/asks`. */
  readonly room: string;
  readonly machine: AnyMachine;
  /** The sentence on the first line of its file. */
  readonly about: string;
}

const ROOT = new URL("../", import.meta.url);

export async function machines(): Promise<Found[]> {
  const found: Found[] = [];
  for (const floor of ["daemon", "relay"]) {
    for (const room of within(floor)) found.push(...await machinesOf(room));
  }
  return found.sort((a, b) => a.room < b.room ? -1 : 1);
}

/** All folders below one: rooms, and the rooms in these. */
function within(folder: string): string[] {
  const inner = [...Deno.readDirSync(new URL(folder, ROOT))].filter((entry) => entry.isDirectory)
    .map(({ name }) => `${folder}/${name}`);
  return inner.flatMap((room) => [room, ...within(room)]);
}

async function machinesOf(room: string): Promise<Found[]> {
  const file = new URL(`${room}/machine.ts`, ROOT);
  const text = read(file);
  if (text === undefined) return [];
  const about = /^\/\*\* (.*) \*\/$/m.exec(text)?.[1] ?? "";
  const exported: Record<string, unknown> = await import(file.href);
  return Object.values(exported).filter(isMachine).map((machine) => ({ room, machine, about }));
}

function read(file: URL): string | undefined {
  try {
    return Deno.readTextFileSync(file);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return undefined;
    throw fault;
  }
}

function isMachine(value: unknown): value is AnyMachine {
  return typeof value === "object" && value !== null && "rows" in value && "step" in value;
}

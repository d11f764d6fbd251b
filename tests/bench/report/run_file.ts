/** A run of the bench as a JSON file. */

import type { Effort, Figure } from "./figures.ts";
import type { Machine } from "./machine.ts";

/** A part of a run, and what else the machine did meanwhile. */
export interface MeasuredPart {
  readonly part: string;
  /** Processors that were busy before the part. */
  readonly load: number;
  readonly stolen_percent: number;
  readonly remarks: readonly string[];
  readonly figures: readonly Figure[];
}

export interface BenchRun {
  readonly machine: Machine;
  readonly effort: Effort;
  readonly parts: readonly MeasuredPart[];
}

/** Writes a run to a new file; returns its path. */
export function writeRun(folder: string, run: BenchRun): string {
  Deno.mkdirSync(folder, { recursive: true });
  const path = `${folder}/${new Date().toISOString().replaceAll(":", "-")}.json`;
  Deno.writeTextFileSync(path, `${JSON.stringify(run, null, 2)}\n`);
  return path;
}

/** Reads the figures of an earlier run. Throws if the bench did not write the file. */
export function readFigures(path: string): Figure[] {
  const { parts } = JSON.parse(Deno.readTextFileSync(path)) as Partial<BenchRun>;
  if (!Array.isArray(parts)) {
    throw new Error(`${path} has no "parts"; --compare takes a JSON file that the bench wrote`);
  }
  return (parts as MeasuredPart[]).flatMap(({ figures }) => figures);
}

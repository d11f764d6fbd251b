/** A run of the scale proof as a JSON file. Parts that are measured again replace earlier ones. */

import type { Machine } from "../../report/machine.ts";
import type { PartMeasurements } from "./growth.ts";

/** A part, when it was measured, and what else the machine did. */
export interface MeasuredScale extends PartMeasurements {
  readonly part: string;
  readonly at: string;
  readonly machine: Machine;
  /** Processors that were busy before the part. */
  readonly busy: number;
  readonly remarks: readonly string[];
}

export interface ScaleRun {
  readonly parts: readonly MeasuredScale[];
}

/** The run in a file; without parts if there is no file. */
export function readRun(path: string): ScaleRun {
  try {
    return JSON.parse(Deno.readTextFileSync(path)) as ScaleRun;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { parts: [] };
    throw error;
  }
}

/** Writes these parts, and those parts of the file that are not among them. */
export function writeParts(path: string, measured: readonly MeasuredScale[]): void {
  const names = measured.map(({ part }) => part);
  const kept = readRun(path).parts.filter(({ part }) => !names.includes(part));
  const parts = [...kept, ...measured].toSorted((a, b) => a.part.localeCompare(b.part));
  Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  Deno.writeTextFileSync(path, `${JSON.stringify({ parts }, null, 2)}\n`);
}

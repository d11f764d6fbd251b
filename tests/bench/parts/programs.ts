/** Whole runs of programs, beside whole runs of an empty one. */

import { PARTS_FLAGS } from "../../../cli/client/program.ts";
import { type Effort, type Figure, interleave, medianOf } from "../report/figures.ts";
import { installMesh } from "../../support/programs/program.ts";

const TICK_MS = 10;

/** A program of which whole runs are measured. */
export interface Program {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Content of standard input. */
  readonly input?: string;
}

export interface Run {
  readonly ms: number;
  /** Processor time of all of its threads, in steps of 10 ms. */
  readonly cpu_ms: number;
}

/** Runs a program to its end, which must be a success. */
export async function runOnce(
  { command: [name = "", ...args], env, input }: Program,
): Promise<Run> {
  const options = { args, env, stdin: "piped", stdout: "null", stderr: "piped" } as const;
  const cpu_from = endedChildrenCpuMs();
  const from = performance.now();
  const process = new Deno.Command(name, options).spawn();
  const writer = process.stdin.getWriter();
  // A program that does not read its input may end before it is written.
  await writer.write(new TextEncoder().encode(input ?? "")).catch(() => undefined);
  await writer.close().catch(() => undefined);
  const { success } = await process.status;
  const ran = { ms: performance.now() - from, cpu_ms: endedChildrenCpuMs() - cpu_from };
  const errors = await new Response(process.stderr).text();
  if (!success) throw new Error(`${name} ${args.join(" ")}: ${errors}`);
  return ran;
}

/** An empty program, run with the options of the shipped one. */
export function runEmpty(): Promise<Run> {
  const options = ["run", "-A", "--quiet", ...PARTS_FLAGS];
  return runOnce({ command: [Deno.execPath(), ...options, installMesh().empty], env: {} });
}

/** The program in the form that is shipped, and the same from the sources. */
export interface Forms {
  readonly what: string;
  readonly shipped: Program;
  readonly sources: Program;
  readonly ratio_max: number;
}

export async function programFigure(
  { what, shipped, sources, ratio_max }: Forms,
  { rounds, runs }: Pick<Effort, "rounds" | "runs">,
): Promise<Figure> {
  const results = await interleave(rounds * runs, {
    empty: runEmpty,
    shipped: () => runOnce(shipped),
    sources: () => runOnce(sources),
  });
  const ms = (all: readonly Run[]) => inRounds(all.map(({ ms }) => ms), runs);
  const cpu = (all: readonly Run[]) => [meanOf(all.map(({ cpu_ms }) => cpu_ms))];
  const empty = { name: "empty", samples: ms(results.empty) };
  const empty_cpu = { name: "empty", samples: cpu(results.empty) };
  return {
    what,
    unit: "ms",
    ours: ms(results.shipped),
    yardstick: empty,
    budget: { of: "ratio", max: ratio_max },
    details: [
      { what: "processor time", unit: "ms", ours: cpu(results.shipped), yardstick: empty_cpu },
      { what: "from the sources", unit: "ms", ours: ms(results.sources), yardstick: empty },
    ],
  };
}

/** The median of each round. */
function inRounds(samples: readonly number[], runs: number): number[] {
  const rounds = Math.floor(samples.length / runs);
  return Array.from(
    { length: rounds },
    (_, at) => medianOf(samples.slice(at * runs, at * runs + runs)),
  );
}

export function meanOf(samples: readonly number[]): number {
  return samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
}

/** Processor time of all children that have ended, in milliseconds. */
function endedChildrenCpuMs(): number {
  const fields = Deno.readTextFileSync("/proc/self/stat").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

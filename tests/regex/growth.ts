/** Detects work that takes more than linear time, at lengths that grow fourfold. */

import { threadCpuUsage } from "node:process";
import { systemClock } from "kit/core/clock.ts";
import { make, type Recipe, worstInputs } from "./worst_inputs.ts";

const KIB = 1024;
/** Long enough to show quadratic growth, short enough to try every input. */
const SCREENED = 8 * KIB;
/** Hardly a linear pattern takes so long for that length, and most quadratic ones do. */
const SUSPECT_MS = 15;
/** The number of slowest inputs that are tried up to the longest text of a message. */
const CHOSEN = 5;
const LENGTHS = [KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB];
/** From one length to the next, linear work takes 4 times as long, and quadratic work 16 times. */
const FACTOR_MAX = 8;
/** Shorter durations are ignored: linear work stays below, and quadratic work soon exceeds it. */
const FLOOR_MS = 100;
/** Repetitions for patterns that take twice the time for each character. */
const SHORT_COUNTS = [16, 20, 24, 28];
const TRIES = 6;
/** Steep work that takes so long is not repeated: linear work never does. */
const CERTAIN_MS = 500;
/** The same for patterns: a linear one takes at most 40 ms for the longest input. */
const CERTAIN_PATTERN_MS = 200;

/** Describes how a regular expression takes more than linear time; undefined if it is linear. */
export async function growthOf(regex: RegExp): Promise<string | undefined> {
  const recipes = worstInputs(regex);
  for (const recipe of recipes) {
    for (const count of SHORT_COUNTS) {
      const input = make(recipe, count * recipe.pump.length);
      const ms = elapsedMs(regex, input) > FLOOR_MS ? matchMs(regex, input) : 0;
      if (ms > FLOOR_MS / 2) {
        return describeGrowth(recipe, `${count} repetitions take ${ms.toFixed()} ms`);
      }
    }
  }
  const measure = async (recipe: Recipe) => {
    const run = (length: number) => matchMs(regex, make(recipe, length));
    const seen = await growthIn(run, CERTAIN_PATTERN_MS);
    return seen && describeGrowth(recipe, seen);
  };
  const timings: { recipe: Recipe; ms: number }[] = [];
  for (const recipe of recipes) {
    const ms = elapsedMs(regex, make(recipe, SCREENED));
    // Measured at once, so that a bad pattern is reported soon.
    const found = ms > SUSPECT_MS && await measure(recipe);
    if (found) return found;
    timings.push({ recipe, ms });
  }
  timings.sort((a, b) => b.ms - a.ms);
  for (const { recipe } of timings.slice(0, CHOSEN)) {
    const found = await measure(recipe);
    if (found) return found;
  }
  return undefined;
}

/** The same for any work: `run` works on an input of so many characters, and returns milliseconds. */
export async function growthIn(
  run: (length: number) => number | Promise<number>,
  certain_ms = CERTAIN_MS,
): Promise<string | undefined> {
  let before = 0;
  for (const length of LENGTHS) {
    let ms = await run(length);
    const isSteep = () => ms > FLOOR_MS && ms > before * FACTOR_MAX;
    for (let again = 1; again < TRIES && isSteep() && ms < certain_ms; again++) {
      ms = Math.min(ms, await run(length));
    }
    if (isSteep()) {
      return `${length} characters take ${ms.toFixed()} ms, a quarter of them ${before.toFixed(1)}`;
    }
    before = ms;
  }
  return undefined;
}

/** Milliseconds of processor time of this thread: other programs and test files do not count. */
export function cpuMs(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1000;
}

/** Processor time of all matches, as the sources look for them. */
function matchMs(regex: RegExp, input: string): number {
  return msOf(cpuMs, regex, input);
}

/**
 * Time until all matches are found, never less than `matchMs`. Hundreds of thousands of inputs take
 * microseconds each, and to read the processor time takes 10 µs.
 */
function elapsedMs(regex: RegExp, input: string): number {
  return msOf(systemClock.monotonic, regex, input);
}

function msOf(read: () => number, regex: RegExp, input: string): number {
  const started_ms = read();
  try {
    if (regex.global) input.replaceAll(regex, "");
    else {
      regex.lastIndex = 0;
      regex.exec(input);
    }
  } catch {
    return Infinity; // The stack overflowed.
  }
  return read() - started_ms;
}

function describeGrowth({ head, pump, tail }: Recipe, what: string): string {
  const [begin, again, end] = [head, pump, tail].map((part) => JSON.stringify(part));
  return `${begin} + ${again} × n + ${end}: ${what}`;
}

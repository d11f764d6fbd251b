/** Runs batches side by side, one a lane, and prints what they print without mixing their lines. */

import type { Batch } from "./batches.ts";

/** Runs one batch; each line of its output goes to `line` as it comes. */
export type RunBatch<T> = (batch: Batch, line: (text: string) => void) => Promise<T>;

/**
 * Runs every batch once, at most `lanes` of them at a time, in order as far as the quiet ones
 * allow. The oldest batch that runs prints its lines as they come; the lines of the others wait.
 */
export async function runInLanes<T>(
  batches: readonly Batch[],
  { lanes, run, print }: { lanes: number; run: RunBatch<T>; print: (line: string) => void },
): Promise<T[]> {
  const waiting = [...batches];
  const output = new Output(print);
  const results: T[] = [];
  let quiet_runs = false;
  const take = () => {
    const at = waiting.findIndex(({ quiet }) => !quiet || !quiet_runs);
    return at < 0 ? undefined : waiting.splice(at, 1)[0];
  };
  const lane = async () => {
    for (let batch = take(); batch; batch = take()) {
      quiet_runs ||= batch.quiet;
      const speaker = output.open();
      try {
        results.push(await run(batch, (text) => output.add(speaker, text)));
      } finally {
        if (batch.quiet) quiet_runs = false;
        output.close(speaker);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}

interface Speaker {
  readonly waiting: string[];
  open: boolean;
}

class Output {
  /** In the order in which they began; the first one prints. */
  readonly #speakers: Speaker[] = [];
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  open(): Speaker {
    const speaker = { waiting: [], open: true };
    this.#speakers.push(speaker);
    return speaker;
  }

  add(speaker: Speaker, line: string): void {
    if (speaker === this.#speakers[0]) this.#print(line);
    else speaker.waiting.push(line);
  }

  close(speaker: Speaker): void {
    speaker.open = false;
    while (this.#speakers[0]?.open === false) {
      this.#speakers.shift();
      for (const line of this.#speakers[0]?.waiting.splice(0) ?? []) this.#print(line);
    }
  }
}

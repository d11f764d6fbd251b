/** Runs batches side by side, one a lane, and prints their output without mixing its lines. */

import type { Batch } from "./batches.ts";

/** Runs one batch; each line of its output goes to `line` as it comes. */
export type RunBatch<T> = (batch: Batch, line: (text: string) => void) => Promise<T>;

/**
 * Runs every batch once, at most `lanes` of them at a time, in order as far as the exclusive batches
 * allow. The oldest running batch prints its lines as they come; the lines of the others wait.
 */
export async function runInLanes<T>(
  batches: readonly Batch[],
  { lanes, run, print }: { lanes: number; run: RunBatch<T>; print: (line: string) => void },
): Promise<T[]> {
  const waiting = [...batches];
  const output = new Output(print);
  const results: T[] = [];
  let exclusive_running = false;
  const take = () => {
    const at = waiting.findIndex(({ exclusive }) => !exclusive || !exclusive_running);
    return at < 0 ? undefined : waiting.splice(at, 1)[0];
  };
  const runNext = async () => {
    for (let batch = take(); batch; batch = take()) {
      exclusive_running ||= batch.exclusive;
      const batchOutput = output.open();
      try {
        results.push(await run(batch, (text) => output.add(batchOutput, text)));
      } finally {
        if (batch.exclusive) exclusive_running = false;
        output.close(batchOutput);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, runNext));
  return results;
}

interface BatchOutput {
  readonly waiting: string[];
  open: boolean;
}

class Output {
  /** In the order of their starts; the first one prints. */
  readonly #outputs: BatchOutput[] = [];
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  open(): BatchOutput {
    const batchOutput = { waiting: [], open: true };
    this.#outputs.push(batchOutput);
    return batchOutput;
  }

  add(batchOutput: BatchOutput, line: string): void {
    if (batchOutput === this.#outputs[0]) this.#print(line);
    else batchOutput.waiting.push(line);
  }

  close(batchOutput: BatchOutput): void {
    batchOutput.open = false;
    while (this.#outputs[0]?.open === false) {
      this.#outputs.shift();
      for (const line of this.#outputs[0]?.waiting.splice(0) ?? []) this.#print(line);
    }
  }
}

/** Reads a long file in batches, so that other work of the daemon runs in between. */

import { afterSocketReads } from "kit/core/clock.ts";

/** Records per batch. */
const RECORDS_AT_ONCE = 500;

/** The items of a source. Other work of the daemon runs after each batch. */
export async function* inBatches<T>(
  source: Iterable<T>,
  batch_size = RECORDS_AT_ONCE,
): AsyncGenerator<T> {
  let count = 0;
  for (const item of source) {
    yield item;
    if (++count % batch_size === 0) await new Promise<void>(afterSocketReads);
  }
}

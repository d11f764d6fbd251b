/** Lets other work of the daemon go on while a long file is read. */

import { afterSocketReads } from "kit/core/clock.ts";

/** Records read before other work goes on. */
const RECORDS_AT_ONCE = 500;

/** The items of a source; after each batch, other work of the daemon goes on. */
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

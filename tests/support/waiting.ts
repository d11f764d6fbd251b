/** Waits for real programs; an error names what never happened. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";

const TIMEOUT_MS = 60_000;
const POLL_MS = 25;

/** Polls until `probe` returns a value that is not undefined, null, false, or an empty text. */
export async function until<T>(
  what: string,
  probe: () => T | undefined | null | false | Promise<T | undefined | null | false>,
  timeout_ms = TIMEOUT_MS,
  poll_ms = POLL_MS,
): Promise<T> {
  const deadline = Date.now() + timeout_ms;
  while (Date.now() < deadline) {
    const found = await probe();
    if (found !== undefined && found !== null && found !== false && found !== "") return found;
    await systemClock.sleep(poll_ms);
  }
  throw new assert.AssertionError({ message: `Timed out waiting for: ${what}` });
}

export function print(message: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message}\n`));
}

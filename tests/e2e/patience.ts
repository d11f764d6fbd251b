/** Waits for what another process does: bounded by a deadline, never by a sleep. */

const DEADLINE_MS = 20_000;
const POLL_MS = 25;

/** Looks again until something is found; fails with what was waited for. */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  for (const end = performance.now() + DEADLINE_MS; performance.now() < end;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`Timed out: ${what}`);
}

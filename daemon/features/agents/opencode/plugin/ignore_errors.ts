/** Runs the plugin's work so that its errors and its delays never reach opencode. */

// deno-lint-ignore-file mesh/clock-and-ids -- It runs in opencode, not in mesh.

import { readFileSync } from "node:fs";

/** A function whose errors are dropped, and whose result is not waited for. */
export function ignoreErrors<Args extends unknown[]>(
  work: (...args: Args) => unknown,
): (...args: Args) => Promise<void> {
  return (...args) => {
    try {
      Promise.resolve(work(...args)).catch(() => undefined);
    } catch {
      // Errors must not reach opencode.
    }
    return Promise.resolve();
  };
}

export type Timer = ReturnType<typeof setTimeout>;

/** A timer that does not keep opencode running. */
export function later(ms: number, work: () => unknown): Timer {
  const timer = setTimeout(ignoreErrors(work), ms);
  unref(timer);
  return timer;
}

/** A timer is an object with `unref` in some runtimes, and a number in others. */
function unref(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

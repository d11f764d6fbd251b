/** A terminal and a clock for tests of the CLI. */

import type { Boottime, Clock, Monotonic } from "kit/core/clock.ts";
import { type Device, Terminal } from "../../../cli/output/terminal.ts";

/** A terminal that records its output. */
export function capturedTerminal(overrides: Partial<Device> = {}) {
  const lines = { out: "", err: "" };
  const terminal = new Terminal({
    columns: undefined,
    colours: false,
    interactive: false,
    progress: false,
    keys: undefined,
    screen: undefined,
    out: (text) => void (lines.out += text),
    err: (text) => void (lines.err += text),
    read: () => Promise.resolve(""),
    ...overrides,
  });
  return { terminal, lines };
}

/** A clock that stands still; every wait ends at once. */
export function instantClock(): Clock {
  const setTimer = (_ms: number, callback: () => void) => {
    queueMicrotask(callback);
    return () => undefined;
  };
  const monotonic = () => 0 as Monotonic;
  const boottime = () => 0 as Boottime;
  return { now: () => 0, monotonic, boottime, setTimer, sleep: () => Promise.resolve() };
}

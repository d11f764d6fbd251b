/** A terminal made of paper, for tests of the CLI. */

import type { Clock } from "kit/core/clock.ts";
import type { Terminal } from "../../../cli/output/print.ts";

/** A terminal that keeps what is written to it. */
export function paper(given: Partial<Terminal> = {}) {
  const lines = { out: "", err: "" };
  const terminal: Terminal = {
    columns: undefined,
    colours: false,
    person: false,
    out: (text) => void (lines.out += text),
    err: (text) => void (lines.err += text),
    read: () => Promise.resolve(""),
    ...given,
  };
  return { terminal, lines };
}

/** A clock that stands still, and on which every wait is over at once. */
export function hurried(): Clock {
  const alarm = (_ms: number, ring: () => void) => {
    queueMicrotask(ring);
    return () => undefined;
  };
  return { now: () => 0, alarm, sleep: () => Promise.resolve() };
}

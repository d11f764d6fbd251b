/** A terminal made of paper, for tests of the CLI. */

import type { Terminal } from "../../cli/print.ts";

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

/** The terminal of this process, its keys and its signals. */

import { type Env, readTextOrNothing } from "../../daemon/host/paths.ts";
import { type Device, type ScreenDevice, type ScreenSignal, Terminal } from "./terminal.ts";

/** Maximum number of bytes per read. A longer paste arrives in pieces. */
const READ_BYTES = 4096;

export function processTerminal(env: Env): Terminal {
  const encoder = new TextEncoder();
  const streams = [Deno.stdin, Deno.stdout, Deno.stderr];
  const terminals = [0, 1, 2].filter((stream) => streams[stream]?.isTerminal());
  const isTerminal = terminals.includes(1);
  const isDumb = !env["TERM"] || env["TERM"] === "dumb";
  const takesKeys = terminals.includes(0) && isTerminal && isInForeground();
  return new Terminal({
    ...describeTerminal(env, terminals),
    // A terminal of unknown width reports 0.
    columns: isTerminal ? Deno.consoleSize().columns || undefined : undefined,
    keys: takesKeys ? readKeys : undefined,
    // Windows has no signals of a terminal.
    screen: takesKeys && !isDumb && Deno.build.os !== "windows" ? SCREEN : undefined,
    out: (text) => writeAll(Deno.stdout, encoder.encode(text)),
    err: (text) => writeAll(Deno.stderr, encoder.encode(text)),
    read: () => new Response(Deno.stdin.readable).text(),
  });
}

/** Describes a process's terminal, by which of its streams 0, 1 and 2 are terminals. */
export function describeTerminal(env: Env, terminals: readonly number[]) {
  return {
    colours: terminals.includes(1) && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    interactive: terminals.length > 0,
    progress: terminals.includes(2),
  };
}

/** False for a background job on Linux: the terminal stops a job that reads its keys. */
function isInForeground(): boolean {
  const stat = readTextOrNothing("/proc/self/stat");
  if (stat === undefined) return true;
  // After the name in brackets: state, parent, process group, session, terminal, its foreground.
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group === foreground;
}

const SCREEN: ScreenDevice = {
  size: () => Deno.consoleSize(),
  setRaw,
  listen(signal: ScreenSignal, listener: () => void) {
    Deno.addSignalListener(signal, listener);
    return { [Symbol.dispose]: () => Deno.removeSignalListener(signal, listener) };
  },
  stop: () => Deno.kill(Deno.pid, "SIGSTOP"),
};

function setRaw(on: boolean): void {
  if (on) Deno.stdin.setRaw(true, { cbreak: true });
  else Deno.stdin.setRaw(false);
}

function writeAll(to: typeof Deno.stdout | typeof Deno.stderr, bytes: Uint8Array): void {
  let index = 0;
  while (index < bytes.length) index += to.writeSync(bytes.subarray(index));
}

/**
 * Reads only while the caller waits for the next key, so that an editor may read the terminal
 * between two of them. Ctrl-C still interrupts.
 */
const readKeys: Device["keys"] = async function* (signal) {
  const aborted = new Promise<null>((resolve) =>
    signal.addEventListener("abort", () => resolve(null), { once: true })
  );
  const decoder = new TextDecoder();
  setRaw(true);
  try {
    while (!signal.aborted) {
      const buffer = new Uint8Array(READ_BYTES);
      const count = await Promise.race([Deno.stdin.read(buffer), aborted]);
      if (count === null) return;
      yield decoder.decode(buffer.subarray(0, count), { stream: true });
    }
  } finally {
    setRaw(false);
  }
};

/** For commands that show something until the person ends them: `q` quits, and `?` lists the keys. */

import { styled, type Terminal } from "../output/terminal.ts";
import { KeyReader } from "../screen/keys.ts";
import { type CommandContext, interruptible } from "./command.ts";

/** Keys and their meanings, as `?` lists them. */
export const QUIT_KEYS: readonly string[] = ["q, Ctrl-C  quit", "?          lists the keys"];

/** The way to end the command, in a few words. */
export function quitHint({ device }: Pick<Terminal, "device">): string {
  return device.keys ? "q quits, ? lists the keys" : "stop with Ctrl-C";
}

/**
 * Runs `work` until it ends, or until `q` or Ctrl-C aborts its signal. Without a keyboard, only
 * Ctrl-C does.
 */
export async function untilQuit(
  { terminal }: Pick<CommandContext, "terminal">,
  work: (signal: AbortSignal) => Promise<void>,
  explain = () => QUIT_KEYS.forEach((line) => terminal.printError(styled("dim", line))),
): Promise<void> {
  await interruptible(async (interrupted) => {
    const quit = new AbortController();
    const signal = AbortSignal.any([interrupted, quit.signal]);
    const { keys } = terminal.device;
    const reading = keys && readKeys(keys(signal), () => quit.abort(), explain);
    try {
      await work(signal);
    } finally {
      quit.abort();
      await reading;
    }
  });
}

async function readKeys(
  chunks: AsyncIterable<string>,
  quit: () => void,
  explain: () => void,
): Promise<void> {
  const reader = new KeyReader();
  for await (const chunk of chunks) {
    for (const key of reader.read(chunk)) {
      if (key === "q") return quit();
      if (key === "?") explain();
    }
  }
}

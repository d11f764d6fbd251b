/** `mesh logs`: shows the end of the daemon's log, as readable lines or as JSON. */

import type { Clock } from "kit/core/clock.ts";
import { tryJson } from "kit/core/text.ts";
import * as z from "zod";
import { pause } from "kit/core/timeout.ts";
import { type Args, type Command, type CommandContext } from "../../command/command.ts";
import { untilQuit } from "../../command/quit_key.ts";
import { CommandError, EXIT } from "../../client/failures.ts";
import { fileSize, logPath } from "../../client/daemon_process.ts";
import { type Style, styled, type Terminal } from "../../output/terminal.ts";
import { formatInstant } from "../../output/time.ts";

const LINES_DEFAULT = 50;
const POLL_INTERVAL_MS = 250;
/** Number of bytes that are read at a time. `--lines` can show only lines of the last chunk. */
const CHUNK_BYTES_MAX = 1_048_576;

export const LOGS_COMMAND: Command = {
  usage: "logs",
  needs: "this machine",
  summary: "Show the end of the daemon's log (written when `mesh up` started the daemon)",
  flags: {
    "--lines <count>": `how many lines (default ${LINES_DEFAULT}), at most the last megabyte`,
    "--follow": "keep showing new lines, until you press q or Ctrl-C",
    "--json": "print each line as a JSON object",
  },
  example: "mesh logs --follow",
  run: logs,
};

async function logs({ env, terminal, clock }: CommandContext, args: Args): Promise<number> {
  const count = Math.floor(args.number("lines") ?? LINES_DEFAULT);
  const path = logPath(env);
  const follow = args.flag("follow");
  if (fileSize(path) === undefined) {
    if (!follow) {
      throw new CommandError(`There is no log at "${path}"; start the daemon with \`mesh up\``);
    }
    terminal.printError(`Waiting for ${path}`);
  }
  const show = (line: string) => printLogLine(terminal, line, args.flag("json"));
  const { lines, end } = lastLines(path, count);
  lines.forEach(show);
  if (follow) {
    await untilQuit({ terminal }, async (signal) => {
      for await (const line of followLines(path, end, { clock, signal })) show(line);
    });
  }
  return EXIT.done;
}

/**
 * Returns the last lines and the size of the log. If the log has too few lines, the other lines
 * come from the rotated log `.1`.
 */
function lastLines(path: string, count: number): { lines: string[]; end: number } {
  const end = fileSize(path) ?? 0;
  const lines = count === 0 ? [] : readTail(path, end);
  const older = lines.length < count ? readTail(`${path}.1`, fileSize(`${path}.1`) ?? 0) : [];
  return { lines: count === 0 ? [] : [...older, ...lines].slice(-count), end };
}

function readTail(path: string, end: number): string[] {
  const start = Math.max(0, end - CHUNK_BYTES_MAX);
  const text = end === 0 ? "" : new TextDecoder().decode(readBytes(path, start, end));
  const lines = text.split("\n");
  // The first line is incomplete when reading starts in the middle of the file.
  return lines.slice(start > 0 ? 1 : 0).filter((line) => line !== "");
}

/** Yields new complete lines. A file that shrank was rotated (daemon/host/log_file.ts). */
export async function* followLines(
  path: string,
  from: number,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let at = from, rest = "";
  while (!signal.aborted) {
    const size = fileSize(path) ?? 0;
    if (size < at) at = 0, rest = "";
    if (size === at) {
      await pause(clock, POLL_INTERVAL_MS, signal);
      continue;
    }
    const bytes = readBytes(path, at, Math.min(size, at + CHUNK_BYTES_MAX));
    at += bytes.length;
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
}

const LogLine = z.looseObject({ time: z.string(), level: z.string(), what: z.string() });
const STYLES: Readonly<Record<string, Style>> = { warn: "yellow", error: "red", debug: "dim" };

/**
 * Formats and prints a log record. Prints any other line, such as a crash's stack trace, unchanged.
 */
function printLogLine(to: Terminal, line: string, json: boolean): void {
  const read = LogLine.safeParse(tryJson(line));
  if (json) return to.printJson(read.success ? read.data : { what: line }, 0);
  if (!read.success) return to.print(line);
  const { time, level, what, ...fields } = read.data;
  const more = Object.entries(fields).map(([name, value]) => ` ${name}=${formatValue(value)}`);
  const style = STYLES[level] ?? "green";
  to.print(
    styled("dim", formatInstant(time)),
    " ",
    styled(style, level.padEnd(5)),
    ` ${what}`,
    styled("dim", more.join("")),
  );
}

/** Formats a value. An error is shown by its message only; `--json` prints the whole error. */
function formatValue(value: unknown): string {
  const error = z.looseObject({ name: z.string(), message: z.string() }).safeParse(value);
  if (error.success) return JSON.stringify(`${error.data.name}: ${error.data.message}`);
  return typeof value === "string" && /^\S+$/.test(value) ? value : JSON.stringify(value);
}

function readBytes(path: string, start: number, end: number): Uint8Array {
  using file = Deno.openSync(path);
  file.seekSync(start, Deno.SeekMode.Start);
  const bytes = new Uint8Array(end - start);
  let bytesRead = 0;
  for (let read = file.readSync(bytes); read; read = file.readSync(bytes.subarray(bytesRead))) {
    bytesRead += read;
    if (bytesRead === bytes.length) break;
  }
  return bytes.subarray(0, bytesRead);
}

/** `mesh logs`: what the daemon wrote for its operator, as lines to read or as it wrote them. */

import type { Clock } from "kit/core/clock.ts";
import { tryJson } from "kit/core/text.ts";
import * as z from "zod";
import { pause } from "kit/core/timeout.ts";
import { type Command, interruptible, type Session, type Words } from "../../command/command.ts";
import { EXIT, Failed } from "../../client/failures.ts";
import { logPath } from "../../client/lifecycle.ts";
import { complain, ink, print, printJson, type Style, type Terminal } from "../../output/print.ts";

const LINES = 50;
const LOOK_EVERY_MS = 250;
/** The end of the file is read, at most so much of it at a time. */
const CHUNK_BYTES_MAX = 1_048_576;

export const LOGS_COMMAND: Command = {
  words: "logs",
  summary: "Show the end of the daemon's log, which `mesh up` writes into the state directory",
  flags: {
    "--lines <count>": `so many lines, ${LINES} without it; of the last megabyte`,
    "--follow": "show what comes, too; Ctrl-C ends it",
    "--json": "print the lines as JSON, one each",
  },
  example: "mesh logs --follow",
  run: logs,
};

async function logs({ env, terminal, clock }: Session, words: Words): Promise<number> {
  const count = Math.floor(words.number("lines") ?? LINES);
  const path = logPath(env);
  const follow = words.flag("follow");
  if (sizeOf(path) === undefined) {
    if (!follow) throw new Failed(`There is no log at "${path}": only \`mesh up\` writes one`);
    complain(terminal, `Waiting for ${path}`);
  }
  const show = (line: string) => showLine(terminal, line, words.flag("json"));
  const { lines, end } = lastLines(path, count);
  lines.forEach(show);
  if (follow) {
    await interruptible(async (signal) => {
      for await (const line of linesFrom(path, end, { clock, signal })) show(line);
    });
  }
  return EXIT.done;
}

/** The last whole lines of a file, of the one before it where it was just begun; and its end. */
function lastLines(path: string, count: number): { lines: string[]; end: number } {
  const end = sizeOf(path) ?? 0;
  const lines = count === 0 ? [] : tailOf(path, end);
  const older = lines.length < count ? tailOf(`${path}.1`, sizeOf(`${path}.1`) ?? 0) : [];
  return { lines: count === 0 ? [] : [...older, ...lines].slice(-count), end };
}

function tailOf(path: string, end: number): string[] {
  const start = Math.max(0, end - CHUNK_BYTES_MAX);
  const lines = textOf(path, start, end).split("\n");
  // What was cut in the middle is not shown.
  return lines.slice(start > 0 ? 1 : 0).filter((line) => line !== "");
}

interface Following {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Whole lines as they come. A file that became shorter was begun anew (daemon/host/log_file.ts). */
export async function* linesFrom(
  path: string,
  from: number,
  { clock, signal }: Following,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let at = from, rest = "";
  while (!signal.aborted) {
    const size = sizeOf(path) ?? 0;
    if (size < at) at = 0, rest = "";
    if (size === at) {
      await pause(clock, LOOK_EVERY_MS, signal);
      continue;
    }
    const bytes = bytesOf(path, at, Math.min(size, at + CHUNK_BYTES_MAX));
    at += bytes.length;
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line !== "");
  }
}

const Line = z.looseObject({ time: z.string(), level: z.string(), what: z.string() });
const STYLES: Readonly<Record<string, Style>> = { warn: "yellow", error: "red", debug: "dim" };

/** What is no line of the log's own, as a fault that ended the daemon, is shown as it is. */
function showLine(to: Terminal, line: string, json: boolean): void {
  const read = Line.safeParse(tryJson(line));
  if (json) return printJson(to, read.success ? read.data : { what: line }, 0);
  if (!read.success) return print(to, line);
  const { time, level, what, ...fields } = read.data;
  const more = Object.entries(fields).map(([name, value]) => ` ${name}=${told(value)}`).join("");
  const style = STYLES[level] ?? "green";
  print(to, ink("dim", time), " ", ink(style, level.padEnd(5)), ` ${what}`, ink("dim", more));
}

/** A fault by its message; the whole of it is in `--json`. */
function told(value: unknown): string {
  const fault = z.looseObject({ name: z.string(), message: z.string() }).safeParse(value);
  if (fault.success) return JSON.stringify(`${fault.data.name}: ${fault.data.message}`);
  return typeof value === "string" && /^\S+$/.test(value) ? value : JSON.stringify(value);
}

function textOf(path: string, start: number, end: number): string {
  return end === 0 ? "" : new TextDecoder().decode(bytesOf(path, start, end));
}

function bytesOf(path: string, start: number, end: number): Uint8Array {
  using file = Deno.openSync(path);
  file.seekSync(start, Deno.SeekMode.Start);
  const bytes = new Uint8Array(end - start);
  let got = 0;
  for (let read = file.readSync(bytes); read; read = file.readSync(bytes.subarray(got))) {
    got += read;
    if (got === bytes.length) break;
  }
  return bytes.subarray(0, got);
}

/** Undefined when it is not there. */
function sizeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return undefined;
    throw fault;
  }
}

/** The log for operators: one JSON object per line. The event log, by contrast, is for peers. */

import type { Clock } from "kit/core/clock.ts";

export type Level = "debug" | "info" | "warn" | "error";
export type Log = Record<Level, (what: string, fields?: Record<string, unknown>) => void>;

const RANK: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Keys whose values are never written, at any depth of `fields`. */
const SECRET = /token|secret|password|authorization|code_verifier|certificate|^text$/i;

/**
 * A line that cannot be written, for example on a full disk, causes no error in the caller. The
 * next written line counts the lost lines.
 */
export function jsonLog(clock: Clock, minLevel: Level, write: (line: string) => void): Log {
  let lost_lines = 0;
  const logAt = (level: Level) => (what: string, fields: Record<string, unknown> = {}) => {
    if (RANK[level] < RANK[minLevel]) return;
    const time = new Date(clock.now()).toISOString();
    const lost = lost_lines > 0 ? { lost_lines } : {};
    const line = JSON.stringify({ time, level, what, ...fields, ...lost }, redact);
    try {
      write(line);
      lost_lines = 0;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      lost_lines++;
    }
  };
  return { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
}

/**
 * Redirects console output of libraries to the log, because it would stand between the JSON lines
 * of standard error. Disposing the result restores the console.
 */
export function logConsole(log: Log): Disposable {
  const { console } = globalThis;
  const original = { ...console };
  for (const method of ["debug", "log", "info", "warn", "error"] as const) {
    console[method] = (...parts: unknown[]) => {
      log[method === "log" ? "info" : method]("A library wrote to the console", {
        output: parts.map(String).join(" "),
      });
    };
  }
  return { [Symbol.dispose]: () => void Object.assign(console, original) };
}

function redact(key: string, value: unknown): unknown {
  if (SECRET.test(key)) return "[hidden]";
  if (value instanceof Error) {
    return { name: value.name, message: value.message, stack: value.stack, cause: value.cause };
  }
  return value;
}

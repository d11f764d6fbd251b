/** A tmux pane: its record, the format string that requests it, and its parser. */

import { environmentOf } from "../processes.ts";
import type { ReportedSession } from "./session_names.ts";

export interface Pane {
  /** For example `%7`. Unique within its server and never reused. */
  readonly pane_id: string;
  /** The process that tmux started in the pane. */
  readonly pane_pid: number;
  readonly dead: boolean;
  /** True if the pane is in copy mode or another mode in which tmux itself reads the keys. */
  readonly in_mode: boolean;
  /** True if tmux also passes on the keys to the other panes of the window. */
  readonly synchronized: boolean;
  readonly width: number;
  readonly height: number;
  readonly cursor_x: number;
  readonly cursor_y: number;
  /** True if the program in the pane shows the cursor. */
  readonly cursor_shown: boolean;
  /** When the pane's window last had output: seconds, by tmux's clock. */
  readonly written_s: number;
  /** E.g. `@7`. */
  readonly window: string;
  /** The stable name of its session or session group (`session_names.ts`). */
  readonly session: string;
  /** The short name of the foreground program, with tabs replaced by spaces. */
  readonly command: string;
  readonly cwd: string;
}

/** The session and the window of a pane, and the process that tmux started in it. */
export type PaneRoot = Pick<Pane, "session" | "window" | "pane_pid">;
/** A pane as tmux lists it: once for each session that shows its window. */
interface ListedPane extends Pane, ReportedSession {}

/** Separated by tabs. A session's name has none. The path may have some, so it comes last. */
export const PANE_FORMAT = [
  "#{pane_id}",
  "#{pane_pid}",
  "#{pane_dead}",
  "#{pane_in_mode}",
  "#{pane_synchronized}",
  "#{pane_width}",
  "#{pane_height}",
  "#{cursor_x}",
  "#{cursor_y}",
  "#{cursor_flag}",
  "#{window_activity}",
  "#{window_id}",
  "#{session_name}",
  "#{session_id}",
  "#{session_group}",
  "#{pid}",
  "#{s/\t/ /:pane_current_command}",
  "#{pane_current_path}",
].join("\t");

export const SESSION_FORMAT = ["#{session_id}", "#{session_group}", "#{pid}", "#{session_name}"]
  .join("\t");

export function parseSession(line: string): ReportedSession {
  const [session_id = "", session_group = "", server_pid = "", session = ""] = line.split("\t");
  return { session_id, session_group, server_pid, session };
}

/** Undefined for a line without a pane, which tmux writes with empty fields. */
export function parsePane(line = ""): ListedPane | undefined {
  const [pane_id, pid, dead, mode, synchronized, width, height, x, y, shown, ...more] = line.split(
    "\t",
  );
  const [written_s, window, session, session_id = "", session_group = "", ...rest] = more;
  const [server_pid = "", command = "", ...cwd] = rest;
  if (!pane_id || !window || !session) return undefined;
  return {
    pane_id,
    pane_pid: Number(pid),
    dead: dead === "1",
    in_mode: mode !== "0",
    synchronized: synchronized === "1",
    width: Number(width),
    height: Number(height),
    cursor_x: Number(x),
    cursor_y: Number(y),
    cursor_shown: shown !== "0",
    written_s: Number(written_s),
    window,
    session,
    session_id,
    session_group,
    server_pid,
    command,
    cwd: cwd.join("\t"),
  };
}

/**
 * Each pane once, although a window may be linked into several sessions. The pane belongs to the
 * session in which it was made, which its process has in its environment. Without that, it belongs
 * to the oldest session.
 */
export function uniquePanes(listed: readonly ListedPane[]): ListedPane[] {
  return [...Map.groupBy(listed, ({ pane_id }) => pane_id).values()].flatMap((same) => {
    const [only, ...more] = same;
    if (!only || more.length === 0) return only ?? [];
    const home = environmentOf(only.pane_pid)?.get("TMUX")?.split(",").at(-1);
    const number = ({ session_id }: ListedPane) => Number(session_id.slice(1));
    return same.find(({ session_id }) => session_id === `$${home}`) ??
      same.reduce((oldest, pane) => number(pane) < number(oldest) ? pane : oldest);
  });
}

export function isPaneId(text: string): boolean {
  return /^%\d+$/.test(text);
}

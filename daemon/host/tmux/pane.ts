/** A tmux pane: its record, the format string that requests it, and its parser. */

export interface Pane {
  /** For example `%7`. Unique within its server and never reused. */
  readonly pane_id: string;
  /** The process that tmux started in the pane. */
  readonly pane_pid: number;
  readonly dead: boolean;
  /** Whether the pane is in copy mode or another mode in which tmux itself reads the keys. */
  readonly in_mode: boolean;
  /** Whether tmux also passes on the keys to the other panes of the window. */
  readonly synchronized: boolean;
  readonly width: number;
  readonly height: number;
  readonly cursor_x: number;
  readonly cursor_y: number;
  /** Whether the program in the pane shows the cursor. */
  readonly cursor_shown: boolean;
  /** When the pane's window last had output: seconds, by tmux's clock. */
  readonly written_s: number;
  /** E.g. `@7`. */
  readonly window: string;
  readonly session: string;
  /** The short name of the foreground program, with tabs replaced by spaces. */
  readonly command: string;
  readonly cwd: string;
}

/** The session of a pane, and the process that tmux started in it. */
export type PaneRoot = Pick<Pane, "session" | "pane_pid">;

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
  "#{s/\t/ /:pane_current_command}",
  "#{pane_current_path}",
].join("\t");

/** Undefined for a line without a pane, which tmux writes with empty fields. */
export function parsePane(line = ""): Pane | undefined {
  const [pane_id, pid, dead, mode, synchronized, width, height, x, y, shown, ...more] = line.split(
    "\t",
  );
  const [written_s, window, session, command = "", ...cwd] = more;
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
    command,
    cwd: cwd.join("\t"),
  };
}

export function isPaneId(text: string): boolean {
  return /^%\d+$/.test(text);
}

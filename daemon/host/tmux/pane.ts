/** A tmux pane as tmux describes it: one record, the format that asks for it, and its parser. */

export interface Pane {
  /** `%7`: unique in its server, and never given again. */
  readonly pane_id: string;
  /** The process that tmux started in it. */
  readonly pane_pid: number;
  readonly dead: boolean;
  /** Copy mode, or any other mode in which keys are tmux's. */
  readonly in_mode: boolean;
  readonly height: number;
  readonly cursor_x: number;
  readonly cursor_y: number;
  /** The second in which something was last written to its window, by tmux's clock. */
  readonly written_s: number;
  /** `@7`. */
  readonly window: string;
  readonly session: string;
  /** The short name of the program in front; a tab in it is a blank. */
  readonly command: string;
  readonly cwd: string;
}

/** Separated by tabs: no name of a session holds one, and the path, which may, comes last. */
export const PANE_FORMAT = [
  "#{pane_id}",
  "#{pane_pid}",
  "#{pane_dead}",
  "#{pane_in_mode}",
  "#{pane_height}",
  "#{cursor_x}",
  "#{cursor_y}",
  "#{window_activity}",
  "#{window_id}",
  "#{session_name}",
  "#{s/\t/ /:pane_current_command}",
  "#{pane_current_path}",
].join("\t");

/** Undefined for a line that names no pane: tmux fills the format with nothing where none is. */
export function parsePane(line = ""): Pane | undefined {
  const [pane_id, pid, dead, mode, height, x, y, written_s, window, ...rest] = line.split("\t");
  const [session, command = "", ...cwd] = rest;
  if (!pane_id || !window || !session) return undefined;
  return {
    pane_id,
    pane_pid: Number(pid),
    dead: dead === "1",
    in_mode: mode !== "0",
    height: Number(height),
    cursor_x: Number(x),
    cursor_y: Number(y),
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

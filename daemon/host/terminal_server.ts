/** Interface of a terminal whose panes are observed and typed into (docs/adding-a-terminal.md). */

import type { Answer, Failure, Result } from "./tmux/connection.ts";
import type { Pane } from "./tmux/pane.ts";
import type { PaneCache } from "./tmux/pane_cache.ts";
import type { TerminalKind } from "./terminal_addresses.ts";
import type { Keystroke } from "protocol/agents/keys.ts";

/** The terminal servers of this machine, by address (`addresses.ts`). */
export interface TerminalServers {
  at(address: string): TerminalServer;
}

/** A program that owns panes: a tmux server or a kitty process. */
export interface TerminalServer {
  readonly kind: TerminalKind;
  readonly cache: PaneCache;
  /** True if a text has the form of this terminal's pane ids. */
  isPaneId(text: string): boolean;
  panes(): Promise<Answer<{ panes: readonly Pane[] }>>;
  /** One pane; undefined if there is none with this id. */
  pane(pane_id: string): Promise<Answer<{ pane: Pane | undefined }>>;
  /**
   * The rows of the pane's screen with their colours (SGR), as the program drew them, preceded by
   * up to `history_rows` rows above the screen.
   */
  capture(pane_id: string, history_rows?: number): Promise<Result>;
  screen(pane_id: string): Promise<Answer<{ seen: SeenScreen | undefined }>>;
  /** Prepares keys for typing, without typing them. */
  prepare(keys: readonly Keystroke[]): Promise<Answer<{ prepared: PreparedKeys }>>;
  /** Runs `work` exclusively for this pane, in the order of the calls. */
  runExclusive<T>(pane_id: string, work: () => Promise<T>): Promise<T>;
}

/** A pane and the rows of its screen, both of one moment. */
export interface SeenScreen {
  readonly pane: Pane;
  readonly rows: readonly string[];
}

/**
 * `changed`: the pane is not as the guard says. `unmarked`: the program would take each line of a
 * paste as an entry of its own. Nothing was typed then, nor after a failure other than `lost` and
 * `timeout`, and, in tmux, `error`.
 */
export type TypeResult = "done" | "changed" | "unmarked" | Failure;

export interface PreparedKeys {
  /**
   * Types all keys into a pane if the pane is still as the guard says. The terminal itself must
   * compare and type in one step, so that nothing can change in between.
   */
  typeIf(guard: PaneGuard): Promise<TypeResult>;
  /** Frees prepared keys that were not typed. */
  discard(): Promise<void>;
}

/** A pane as it was inspected, and must still be when keys are typed. */
export interface PaneGuard {
  readonly pane: Pane;
  /** The process group that reads the keys; undefined if it is not known. */
  readonly foreground: number | undefined;
  /**
   * A pattern in the syntax that JavaScript, POSIX extended expressions and Python share, and the
   * first row that matches it, without regard to case: counted from 1, 0 for none.
   */
  readonly dialog: { readonly pattern: string; readonly row: number };
  /** A row, counted from 0, and its text without escape sequences; absent if all may change. */
  readonly shown?: { readonly row: number; readonly text: string } | undefined;
  /** The row of the cursor without escape sequences; undefined if it and the cursor may change. */
  readonly cursor_row: string | undefined;
}

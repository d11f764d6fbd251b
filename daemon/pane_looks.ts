/** What is looked at in panes every few seconds: all in one question, and what was written to. */

import type { Clock } from "kit/clock.ts";
import type { Failure, Result } from "./tmux.ts";

/** A pane as a look at all of them shows it. */
export interface Glimpse {
  readonly dead: boolean;
  /** The second in which something was last written to its window, by tmux's count. */
  readonly written_s: number;
}

export type Glimpses = { ok: true; panes: ReadonlyMap<string, Glimpse> } | Failure;

/** What a look asks of a server. */
export interface Looked {
  look(command: readonly string[]): Promise<Result>;
  capture(pane: string): Promise<Result>;
}

interface Kept {
  readonly written_s: number;
  readonly screen: Result;
}

const FORMAT = "#{pane_id} #{pane_dead} #{window_activity}";

/** The looks at one server's panes. */
export class PaneLooks {
  readonly #tmux: Looked;
  readonly #clock: Clock;
  /** Screens to which nothing was written since they were read. */
  readonly #kept = new Map<string, Kept>();
  #listing: Promise<Glimpses> | undefined;

  constructor(tmux: Looked, clock: Clock) {
    this.#tmux = tmux;
    this.#clock = clock;
  }

  /** All panes, by their ids. Those who ask at once share one answer. */
  panes(): Promise<Glimpses> {
    return this.#listing ??= this.#list().finally(() => this.#listing = undefined);
  }

  /** A pane's rows with their colours, as they were when something was last written to it. */
  async screen(pane_id: string): Promise<Result> {
    const listed = await this.panes();
    if (!listed.ok) return listed;
    const written_s = listed.panes.get(pane_id)?.written_s ?? Infinity;
    const kept = this.#kept.get(pane_id);
    if (kept?.written_s === written_s) return kept.screen;
    // More may be written in the very second that this is read in, and its count be the same.
    const over = this.#clock.now() >= (written_s + 1) * 1000;
    const screen = await this.#tmux.capture(pane_id);
    if (over && screen.ok) this.#kept.set(pane_id, { written_s, screen });
    else this.#kept.delete(pane_id);
    return screen;
  }

  async #list(): Promise<Glimpses> {
    const listed = await this.#tmux.look(["list-panes", "-a", "-F", FORMAT]);
    if (!listed.ok) return listed;
    const panes = new Map(listed.lines.map((line) => {
      const [pane_id = "", dead, written_s] = line.split(" ");
      return [pane_id, { dead: dead === "1", written_s: Number(written_s) }];
    }));
    for (const pane_id of this.#kept.keys()) if (!panes.has(pane_id)) this.#kept.delete(pane_id);
    return { ok: true, panes };
  }
}

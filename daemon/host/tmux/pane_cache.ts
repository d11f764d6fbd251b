/** Caches the panes and screens of one tmux server, because they are read every few seconds. */

import type { Clock } from "kit/core/clock.ts";
import type { Answer, Result } from "./connection.ts";
import type { Pane } from "./pane.ts";

type PanesById = Answer<{ panes: ReadonlyMap<string, Pane> }>;

interface PaneSource {
  panes(): Promise<Answer<{ panes: readonly Pane[] }>>;
  capture(pane_id: string): Promise<Result>;
}

interface CachedScreen {
  readonly written_s: number;
  readonly screen: Result;
}

export class PaneCache {
  readonly #tmux: PaneSource;
  readonly #clock: Clock;
  /** Screens of panes that have had no output since the screen was read. */
  readonly #cached = new Map<string, CachedScreen>();
  #pendingList: Promise<PanesById> | undefined;

  constructor(tmux: PaneSource, clock: Clock) {
    this.#tmux = tmux;
    this.#clock = clock;
  }

  /** All panes by id. Concurrent calls share one query. */
  panes(): Promise<PanesById> {
    return this.#pendingList ??= this.#list().finally(() => this.#pendingList = undefined);
  }

  /** A pane's rows with their colours, cached until the pane has new output. */
  async screen(pane_id: string): Promise<Result> {
    const listed = await this.panes();
    if (!listed.ok) return listed;
    const written_s = listed.panes.get(pane_id)?.written_s ?? Infinity;
    const cached = this.#cached.get(pane_id);
    if (cached?.written_s === written_s) return cached.screen;
    // A screen that was read in the second of the last output may still change in that second.
    const isSettled = this.#clock.now() >= (written_s + 1) * 1000;
    const screen = await this.#tmux.capture(pane_id);
    if (isSettled && screen.ok) this.#cached.set(pane_id, { written_s, screen });
    else this.#cached.delete(pane_id);
    return screen;
  }

  async #list(): Promise<PanesById> {
    const listed = await this.#tmux.panes();
    if (!listed.ok) return listed;
    const panes = new Map(listed.panes.map((pane) => [pane.pane_id, pane]));
    for (const pane_id of this.#cached.keys()) {
      if (!panes.has(pane_id)) this.#cached.delete(pane_id);
    }
    return { ok: true, panes };
  }
}

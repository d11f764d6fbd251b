/** Panes of peers that no longer exist in their terminal, so that no message goes there. */

import type { PaneObserver } from "../../host/tmux/pane_observer.ts";
import type { AgentPeer } from "./adapter.ts";

type Place = Pick<AgentPeer, "tmux_socket" | "pane_id">;

export class MissingPanes {
  readonly #paneObserver: Pick<PaneObserver, "stateOf">;
  readonly #missing = new Set<string>();

  constructor(paneObserver: Pick<PaneObserver, "stateOf">) {
    this.#paneObserver = paneObserver;
  }

  has(place: Place): boolean {
    return this.#missing.has(keyOf(place));
  }

  /** Looks for these panes. A terminal that does not answer changes nothing. */
  async look(places: readonly Place[]): Promise<void> {
    const distinct = new Map(places.map((place) => [keyOf(place), place]));
    await Promise.all(distinct.entries().map(([key, place]) => this.#lookAt(key, place)));
  }

  /** Looks for the panes of all peers, and forgets panes without a peer. */
  async refresh(places: readonly Place[]): Promise<void> {
    const keys = new Set(places.map(keyOf));
    for (const key of this.#missing) if (!keys.has(key)) this.#missing.delete(key);
    await this.look(places);
  }

  async #lookAt(key: string, { tmux_socket, pane_id }: Place): Promise<void> {
    if (pane_id === null) return;
    const state = await this.#paneObserver.stateOf(tmux_socket, pane_id);
    if (state === "missing") this.#missing.add(key);
    if (state === "found") this.#missing.delete(key);
  }
}

function keyOf({ tmux_socket, pane_id }: Place): string {
  return `${tmux_socket ?? ""} ${pane_id}`;
}

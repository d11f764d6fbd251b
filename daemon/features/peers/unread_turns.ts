/** The peers whose turns ended, for features that then read what their agents have written. */

import type { Clock } from "kit/core/clock.ts";
import type { PeerState } from "./changes.ts";

/** Time after the end of a turn until it is read: agents write some records a little later. */
const AFTER_TURN_MS = 1_000;

export class UnreadTurns {
  readonly #clock: Pick<Clock, "monotonic">;
  /** The times of the ends, by the monotonic clock. */
  readonly #ended = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** The ids of all peers that were not taken. */
  get peer_ids(): string[] {
    return [...this.#ended.keys()];
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged({ peer_id, status, turn_state }: PeerState): void {
    if (turn_state === "idle" || status === "offline") this.add(peer_id);
  }

  /** As for a turn that ends now. */
  add(peer_id: string): void {
    this.#ended.set(peer_id, this.#clock.monotonic());
  }

  /** Takes the peers whose turns ended long enough ago. */
  takeDue(): string[] {
    const before = this.#clock.monotonic() - AFTER_TURN_MS;
    const due = [...this.#ended].flatMap(([peer_id, at]) => at <= before ? peer_id : []);
    for (const peer_id of due) this.#ended.delete(peer_id);
    return due;
  }

  /** Takes all peers. */
  takeAll(): string[] {
    const all = this.peer_ids;
    this.#ended.clear();
    return all;
  }
}

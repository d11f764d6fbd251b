/** The executions that restarts replaced: what they still say of their end is ignored. */

import type { Ground } from "kit/ground.ts";
import type { Replacement } from "./restarts.ts";

/** A post that comes later than so many restarts is believed. */
const KEPT_MAX = 1000;

/** In memory, until the daemon restarts (specification 3). */
export class Replaced {
  readonly #ground: Ground;
  readonly #known: Replacement[] = [];

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  add(replacement: Replacement): void {
    this.#known.push(replacement);
    if (this.#known.length > KEPT_MAX) this.#known.shift();
  }

  /** Whether an offline post is that of a replaced execution: pane and process must both match. */
  ignores(
    peer_id: string,
    { pane_id, agent_pid }: { pane_id?: string | undefined; agent_pid?: number | undefined },
  ): boolean {
    const found = this.#known.findLast((known) =>
      known.peer_id === peer_id && known.pane_id === pane_id && known.agent_pid === agent_pid
    );
    if (!found) return false;
    const { db, events } = this.#ground;
    const { restart_id } = found;
    db.transact(() => {
      events.append("peer_restart_offline_ignored", { restart_id, peer_id, stage: "register" });
    });
    return true;
  }
}

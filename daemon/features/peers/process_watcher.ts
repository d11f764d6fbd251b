/** Watches over who is here: by their processes, by what reaches them, and by their last signs. */

import type { Ground } from "kit/data/context.ts";
import type { Processes } from "./registration.ts";
import type { Offline } from "./contract.ts";
import type { Directory } from "./directory.ts";
import * as rows from "./store.ts";
import type { Watched } from "./store.ts";

/** How long a peer that nothing reaches counts as here after its last sign (contract 2). */
const UNSEEN_MS_MAX = 10 * 60_000;

export interface WatchNeeds {
  readonly directory: Directory;
  readonly processes: Processes;
  /** The name of this machine. */
  readonly machine: string;
}

/** What is done about what the watch has seen. */
export interface Verbs {
  offline(peer_id: string, cause: Offline): void;
  sighted(peer_id: string, transport: string): void;
}

export class Watch {
  readonly #ground: Ground;
  readonly #needs: WatchNeeds;
  readonly #verbs: Verbs;

  constructor(ground: Ground, needs: WatchNeeds, verbs: Verbs) {
    this.#ground = ground;
    this.#needs = needs;
    this.#verbs = verbs;
  }

  /** After a start nothing is known: every live peer is offline until there is evidence. */
  wakeUp(): void {
    const { db } = this.#ground;
    const cause = { reason: "daemon_restart", source: "daemon", terminal: false };
    db.transact(() => {
      for (const peer of rows.alive(db)) {
        if (peer.role === "human") continue;
        this.#verbs.offline(peer.peer_id, cause);
        if (this.#running(peer)) this.#verbs.sighted(peer.peer_id, "process");
      }
    });
  }

  /** Once a second: writes down signs of life, takes offline who is gone. */
  beat(now: number): void {
    const { db } = this.#ground;
    const touched = this.#needs.directory.takeTouched();
    if (touched.size > 0) {
      db.transact((tx) => touched.forEach((at, peer_id) => rows.touched(tx, peer_id, at)));
    }
    for (const peer of rows.watched(db)) this.#check(peer, now);
  }

  #check(peer: Watched, now: number): void {
    const cause = (reason: string, source: string) =>
      this.#verbs.offline(peer.peer_id, { reason, source, terminal: false });
    if (this.#isOurs(peer) && peer.agent_pid !== null) {
      if (!this.#running(peer)) cause("agent_exited", "process");
      return;
    }
    if (this.#needs.directory.reachable(peer.peer_id)) return;
    const seen = this.#needs.directory.lastSeen(peer) ?? peer.registered_at;
    if (now - seen > UNSEEN_MS_MAX) cause("not_seen", "heart");
  }

  #running({ agent_pid, agent_started, machine }: Watched): boolean {
    if (agent_pid === null || agent_started === null || machine !== this.#needs.machine) {
      return false;
    }
    return this.#needs.processes.isAlive(agent_pid, agent_started);
  }

  /** Whether its process can be looked at from here. */
  #isOurs({ machine, agent_started }: Watched): boolean {
    return machine === this.#needs.machine && agent_started !== null;
  }
}

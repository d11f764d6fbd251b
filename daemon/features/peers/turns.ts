/** Reports of a peer's turns, from hooks, sockets and observation (contract 3). */

import type { Context } from "kit/data/context.ts";
import type { AgentPeer, Observation } from "../agents/adapter.ts";
import type { PeerChanges, PeerReactions } from "./changes.ts";
import type { Chat, Turn } from "./contract.ts";
import { type Directory, isLive } from "./directory.ts";
import type { PeerEvent } from "./machine.ts";
import type { Peers } from "./peers.ts";
import type { Reachability } from "./records.ts";
import * as rows from "./store.ts";

export interface TurnsDeps {
  readonly changes: PeerChanges;
  readonly directory: Directory;
  /** The name of this machine. */
  readonly machine: string;
  readonly peers: Pick<Peers, "markSeen" | "offline">;
  readonly reachability: Reachability;
  readonly reactions: PeerReactions;
}

export class PeerTurns {
  readonly #ctx: Context;
  readonly #changes: PeerChanges;
  readonly #deps: TurnsDeps;

  constructor(ctx: Context, deps: TurnsDeps) {
    this.#ctx = ctx;
    this.#changes = deps.changes;
    this.#deps = deps;
  }

  /** Applies a hook's report of a turn (contract 3). */
  reportTurn(peer_id: string, turn: Turn, by = "hook"): void {
    this.#changes.refuseRetired(peer_id);
    const { db, clock } = this.#ctx;
    const { turn_state, status, model, prompt, last_message } = turn;
    db.transact(() => {
      const busy = status ? status === "busy" : turn_state === "working";
      const event: PeerEvent = busy ? "turn_started" : "turn_ended";
      if (this.#changes.mustGet(peer_id).status === "offline") {
        this.#deps.peers.markSeen(peer_id, by);
      }
      // It is still offline if a restart replaces it.
      const isOnline = this.#changes.mustGet(peer_id).status !== "offline";
      if (isOnline && (status || turn_state || model)) {
        this.#changes.applyEvent(peer_id, status || turn_state ? event : "sighted", (_, peer) => ({
          ...peer,
          turn_state: turn_state ?? peer.turn_state,
          turn_at: turn_state ? clock.now() : peer.turn_at,
          turn_by: turn_state ? by : peer.turn_by,
          status_by: by,
          status_at: clock.now(),
          model: model ?? peer.model,
        }));
      }
      if (prompt !== undefined) this.#deps.reactions.promptSeen(peer_id, prompt);
      if (last_message !== undefined) this.#deps.reactions.finalMessageSeen(peer_id, last_message);
      this.#deps.directory.touch(peer_id);
      db.afterCommit(() => this.#deps.reactions.availabilityChanged(peer_id));
    });
  }

  /** Publishes a chat message without its text. Ids in a user's text prove messages seen. */
  reportChat(peer_id: string, { role, text, turn_id }: Chat): void {
    const { db, events } = this.#ctx;
    db.transact(() => {
      this.reportTurn(peer_id, role === "user" ? { prompt: text } : { last_message: text });
      events.append("chat_turn", { peer_id, role, turn_id: turn_id ?? null });
    });
  }

  /** Applies an observation from outside, unless the record has changed since. */
  applyObservation(seen: AgentPeer, { alive, turn_state, model, source, at }: Observation): void {
    const { db, clock } = this.#ctx;
    const { peer_id } = seen;
    const isNews = turn_state !== null && turn_state !== seen.turn_state;
    if (alive && model === undefined && !isNews) return;
    db.transact(() => {
      const now = rows.get(db, peer_id);
      if (!now || !isLive(now) || now.machine !== this.#deps.machine) return;
      if (now.agent_started !== seen.agent_started || now.pane_id !== seen.pane_id) return;
      if (!alive) {
        if (this.#deps.reachability.isConnected(peer_id)) return;
        return this.#deps.peers.offline(peer_id, {
          reason: "agent_exited",
          source,
          terminal: false,
        });
      }
      if (model !== undefined && model !== now.model) {
        this.#changes.applyEvent(peer_id, "sighted", (_, peer) => ({ ...peer, model }));
      }
      if (turn_state === null || turn_state === now.turn_state) return;
      this.#changes.applyEvent(
        peer_id,
        turn_state === "working" ? "turn_started" : "turn_ended",
        (_, peer) => {
          return { ...peer, turn_state, turn_at: at ?? clock.now(), turn_by: source };
        },
      );
      db.afterCommit(() => this.#deps.reactions.availabilityChanged(peer_id));
    });
  }
}

/** The stored restarts: creates a record, steps it through the state table, and publishes it. */

import type { Context } from "../../../data/context.ts";
import { recoverableProblem } from "protocol/problems.ts";
import { ANONYMOUS_SENDER } from "kit/core/schema.ts";
import { type RestartEvent, restartMachine } from "../states.ts";
import type { SpawnDeps } from "../deps.ts";
import { RestartStage } from "protocol/peers/record.ts";
import { RestartFailure } from "./preflight.ts";
import * as rows from "./store.ts";
import type { StoredRestart } from "./store.ts";

export class RestartRecords {
  readonly #ctx: Context;
  readonly #deps: Pick<SpawnDeps, "notifications" | "profiles">;

  constructor(ctx: Context, deps: Pick<SpawnDeps, "notifications" | "profiles">) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Stores a restart at `preflight`; undefined if another one of the peer is in progress. */
  create(restart: StoredRestart, refusal: RestartFailure | undefined): StoredRestart | undefined {
    const { db, events } = this.#ctx;
    const { restart_id, peer_id } = restart;
    return db.transact((tx) => {
      if (rows.openOf(db, peer_id)) return undefined;
      rows.insert(tx, restart);
      events.append("peer_restart_started", { restart_id, peer_id, stage: "preflight" });
      if (refusal) this.fail(restart_id, refusal);
      return this.mustGet(restart_id);
    });
  }

  mustGet(restart_id: string): StoredRestart {
    const found = rows.get(this.#ctx.db, restart_id);
    if (!found) throw new Error(`Restart ${restart_id} is not in the database`);
    return found;
  }

  /** Takes one step of the state table, and stores it with its time. */
  step(restart_id: string, on: RestartEvent, change: Partial<StoredRestart> = {}): StoredRestart {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const before = this.mustGet(restart_id);
      const state = restartMachine.step(before.state, on);
      const stage = RestartStage.safeParse(state).data;
      const at = clock.now();
      const now: StoredRestart = {
        ...before,
        ...change,
        state,
        stages: stage ? [...before.stages, { stage, at }] : before.stages,
        finished_at: restartMachine.isFinal(state) ? at : null,
      };
      rows.update(tx, now);
      this.#publish(before, now, on);
      return now;
    });
  }

  /** If the restart changes the peer's agent, assigns the peer to the new agent. */
  changeAgent(restart_id: string): void {
    const { peer_id, to_backend } = this.mustGet(restart_id);
    if (to_backend === null) return;
    this.#deps.profiles.changeAgent(peer_id, { backend: to_backend, runtime_session_id: null });
  }

  fail(restart_id: string, { reason, message }: RestartFailure): void {
    this.#ctx.db.transact(() => {
      const { state, finished_at, ...stored } = this.mustGet(restart_id);
      if (finished_at !== null) return;
      const { peer_id, from_backend: backend, from_session: runtime_session_id } = stored;
      const hasChanged = stored.to_backend !== null && !isUnchanged(state);
      if (hasChanged) this.#deps.profiles.changeAgent(peer_id, { backend, runtime_session_id });
      const stage = RestartStage.parse(state);
      this.step(restart_id, "failed", { failed: { stage, reason, detail: message }, seed: null });
    });
  }

  /**
   * Finishes a restart when the peer is back, and queues its message in the same transaction. The
   * peer may have restarted itself. The first message of another agent is beyond all limits,
   * because that agent knows nothing else.
   */
  finish(restart_id: string): void {
    this.#ctx.db.transact(() => {
      const stored = this.mustGet(restart_id);
      const { seed, seed_from, seed_human, seed_attachments, peer_id, state } = stored;
      if (seed === null) return void this.step(restart_id, "restarted");
      if (state === "register") this.step(restart_id, "seeding");
      const from_peer = seed_from ?? ANONYMOUS_SENDER;
      const note = { from_peer, to_peer: peer_id, text: seed, attachments: seed_attachments };
      try {
        this.#deps.notifications.notify(note, {
          proven_human: seed_human,
          unverified: stored.seed_unverified,
          may_be_caller: true,
          notice: stored.to_backend !== null,
        });
      } catch (error) {
        const refusal = recoverableProblem(error);
        if (!refusal) throw error;
        const detail = `The agent is back, but its message was refused: ${refusal.toBody().detail}`;
        return this.fail(restart_id, new RestartFailure(refusal.code, detail));
      }
      this.step(restart_id, "restarted", { seed: null });
    });
  }

  #publish({ state: stage }: StoredRestart, now: StoredRestart, on: RestartEvent): void {
    const { events } = this.#ctx;
    const { restart_id, peer_id, state, failed } = now;
    const ids = { restart_id, peer_id };
    if (on === "launched") events.append("peer_restart_launched", { ...ids, stage: "launch" });
    if (state === "restarted") events.append("peer_restart_restarted", { ...ids, stage });
    if (state === "failed" || state === "cancelled") {
      const reason = failed?.reason ?? "cancelled";
      events.append("peer_restart_failed", { ...ids, stage, reason });
    }
  }
}

/**
 * True if a restart in this state has left the peer's agent unchanged. The agent changes when its
 * process ends. It stays changed once the new process is back, even if its message is refused.
 */
function isUnchanged(state: StoredRestart["state"]): boolean {
  return state !== "launch" && state !== "register";
}

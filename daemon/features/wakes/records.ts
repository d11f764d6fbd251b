/**
 * The stored wakes: creates a wake, steps it through the state table, publishes it, and records it
 * on the asks that wait for the peer.
 */

import type { Context } from "../../data/context.ts";
import { TableView } from "../../data/table_view.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Reason } from "protocol/reasons.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { insertStage } from "../messages/ledger/stages.ts";
import { isOnline, mustGetPeer } from "../peers/directory.ts";
import type { StoredPeer } from "../peers/store.ts";
import { type WakeEvent, wakeMachine, type WakeState } from "./states.ts";
import * as rows from "./store.ts";
import type { StoredWake } from "./store.ts";

/** Maximum waiting asks whose traces show a step. */
const TRACED_ASKS_MAX = 100;

/** The reason for which messages wait in each state; null if the state holds up none. */
const REASONS: Readonly<Record<WakeState, Reason | null>> = {
  checking: "asleep",
  asking: "wake_asked",
  starting: "waking",
  launched: "waking",
  awake: null,
  resting: "asleep",
  asleep: "asleep",
  refused: "asleep",
  failed: "wake_failed",
  over: "asleep", // Unless it is online.
};

/** The stage of a trace for each state that a waiting ask shows. */
const STAGES: Readonly<Partial<Record<WakeState, string>>> = {
  asking: "wake_asked",
  starting: "waking",
  awake: "woken",
  refused: "wake_refused",
  failed: "wake_failed",
};

export class WakeRecords {
  readonly #ctx: Context;
  readonly #open: TableView<StoredWake[]>;

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#open = new TableView(ctx.db, "wakes", rows.open);
  }

  /** The wakes in progress. */
  open(): readonly StoredWake[] {
    return this.#open.get();
  }

  openOf(peer_id: string): StoredWake | undefined {
    return this.open().find((wake) => wake.peer_id === peer_id);
  }

  mustGet(wake_id: string): StoredWake {
    const found = rows.get(this.#ctx.db, wake_id);
    if (!found) throw new Error(`Wake ${wake_id} is not in the database`);
    return found;
  }

  /** Creates a wake; undefined if another peer's wake resumes the same session. */
  create(
    tx: Tx,
    { peer_id, backend, runtime_session_id }: StoredPeer,
    cause: Pick<StoredWake, "allowed_by" | "cause">,
  ): StoredWake | undefined {
    if (backend === null || runtime_session_id === null) return undefined;
    const isTaken = rows.open(this.#ctx.db).some((wake) =>
      wake.peer_id === peer_id ||
      wake.session_id === runtime_session_id && wake.backend === backend
    );
    if (isTaken) return undefined;
    const now = this.#ctx.clock.now();
    const wake: StoredWake = {
      wake_id: this.#ctx.ids.next("wake"),
      peer_id,
      backend,
      session_id: runtime_session_id,
      state: "checking",
      ...cause,
      question_id: null,
      spawn_id: null,
      reason: null,
      detail: null,
      created_at: now,
      changed_at: now,
      ended_at: null,
    };
    rows.insert(tx, wake);
    this.#record(tx, wake);
    return wake;
  }

  /** Records who has allowed a wake that is in progress. */
  setAllowed(tx: Tx, wake: StoredWake, allowed_by: StoredWake["allowed_by"]): StoredWake {
    const changed = { ...wake, allowed_by };
    rows.update(tx, changed);
    return changed;
  }

  /** Takes one step of the state table. */
  step(wake_id: string, on: WakeEvent, change: Partial<StoredWake> = {}): StoredWake {
    return this.#ctx.db.transact((tx) => {
      const before = this.mustGet(wake_id);
      const state = wakeMachine.step(before.state, on);
      const at = this.#ctx.clock.now();
      const wake: StoredWake = {
        ...before,
        ...change,
        state,
        changed_at: at,
        ended_at: wakeMachine.isFinal(state) ? at : null,
      };
      rows.update(tx, wake);
      this.#record(tx, wake);
      return wake;
    });
  }

  /** Records the state of a wake on an ask that has begun to wait for it. */
  recordOn(tx: Tx, { peer_id, state, detail }: StoredWake, delivery_id: string): void {
    const reason = REASONS[state];
    if (reason) ledger.setBlockedReason(tx, peer_id, reason);
    this.#trace(tx, { state, detail }, delivery_id);
  }

  /** Adds the state as a stage to the trace of an ask. */
  #trace(
    tx: Tx,
    { state, detail }: Pick<StoredWake, "state" | "detail">,
    delivery_id: string,
  ): void {
    const stage = STAGES[state];
    if (!stage) return;
    const isGood = state !== "failed" && state !== "refused";
    const ts = this.#ctx.clock.now();
    insertStage(tx, { delivery_id, stage, status: isGood ? "ok" : "fail", ts, detail });
  }

  #record(tx: Tx, wake: StoredWake): void {
    const { db, events } = this.#ctx;
    const { wake_id, peer_id, state, reason } = wake;
    const { name, status } = mustGetPeer(db, peer_id);
    const waiting = REASONS[state];
    if (waiting && !isOnline({ status })) ledger.setBlockedReason(tx, peer_id, waiting);
    for (const delivery_id of ledger.queuedAsks(db, peer_id, TRACED_ASKS_MAX)) {
      this.#trace(tx, wake, delivery_id);
    }
    events.append("wake", { wake_id, peer_id, name, state, reason });
  }
}

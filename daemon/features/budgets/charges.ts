/** Charges what agents use to budgets: tokens, turns and time. What is used only grows. */

import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import * as peers from "../peers/store.ts";
import type { Directory } from "../peers/directory.ts";
import type { Address } from "protocol/peers/record.ts";
import type { RemotePeers } from "../peers/remote/remote_peers.ts";
import type { PeerState } from "../peers/changes.ts";
import type { Budgets } from "./budgets.ts";
import { shareOf, WARNED_SHARE } from "./limits.ts";
import * as store from "./store.ts";
import type { StoredBudget, Used } from "./store.ts";

/** Interval at which the time of a running turn is charged. */
const CHARGE_TIME_MS = 5_000;
/** Interval of the removal of old budgets. */
const PRUNE_MS = 3_600_000;

const NOTHING: Used = { tokens: 0, turns: 0, ms: 0, cost: 0, unpriced_tokens: 0 };

/** A use by a peer under a budget; `is_today` if it belongs to the present day. */
interface Charge {
  readonly peer_id: string;
  readonly budget_id: string | undefined;
  readonly used: Partial<Used>;
  readonly is_today: boolean;
}

interface ChargesDeps {
  readonly budgets: Budgets;
  readonly directory: Directory;
  readonly remotePeers: Pick<RemotePeers, "address">;
}

export class Charges {
  readonly #ctx: Context;
  readonly #deps: ChargesDeps;
  /** The start of each working peer's uncharged time, by the monotonic clock. */
  readonly #working: RollbackMap<string, number>;
  /** The budget to which each running turn was charged; '' for none. */
  readonly #turns: RollbackMap<string, string>;
  /** The budget to which a message was charged whose peer had reported no turn until then. */
  readonly #messages: RollbackMap<string, string>;
  #pruned_at = -Infinity;

  constructor(ctx: Context, deps: ChargesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#working = new RollbackMap(ctx.db);
    this.#turns = new RollbackMap(ctx.db);
    this.#messages = new RollbackMap(ctx.db);
  }

  charge(tx: Tx, { peer_id, budget_id, used, is_today }: Charge): void {
    const { budgets } = this.#deps;
    const charged = [
      ...budgets.chainOf(tx, budget_id),
      ...is_today ? budgets.days.begin(tx, peer_id) : [],
    ];
    if (charged.length === 0) return;
    const at = this.#ctx.clock.now();
    const name = this.#address(peer_id)?.name ?? peer_id;
    for (const budget of charged) {
      store.add(tx, budget.budget_id, { ...NOTHING, ...used }, { peer_id, name, at });
      this.#review(tx, store.get(tx, budget.budget_id));
    }
  }

  /** A peer has read a message, or another prompt. A turn is charged once to its budget. */
  promptRead(tx: Tx, peer_id: string, budget_id = this.#deps.budgets.workOf(tx, peer_id)): void {
    const charged = this.#turns.get(peer_id);
    if (charged === (budget_id ?? "")) return;
    const address = this.#address(peer_id);
    if (!address || address.role === "human") return;
    if (this.#working.has(peer_id)) this.#turns.set(peer_id, budget_id ?? "");
    // A peer that reports no turns has one for each message.
    else if ((peers.get(tx, peer_id)?.turn_state ?? null) !== null) return;
    else this.#messages.set(peer_id, budget_id ?? "");
    const is_today = charged === undefined;
    this.charge(tx, { peer_id, budget_id, used: { turns: 1 }, is_today });
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged({ peer_id, status, turn_state }: PeerState): void {
    const isLive = status !== "offline" && status !== "retired";
    if (isLive && turn_state === "working") {
      if (!this.#working.has(peer_id)) this.#working.set(peer_id, this.#ctx.clock.monotonic());
      // Its first report of a turn may be about the message that it has read.
      const charged = this.#messages.get(peer_id);
      if (charged !== undefined) this.#turns.set(peer_id, charged);
      this.#messages.delete(peer_id);
      return;
    }
    if (this.#deps.budgets.isAny) this.#ctx.db.transact((tx) => this.chargeTime(tx, peer_id));
    this.#working.delete(peer_id);
    if (!isLive || turn_state === "idle") this.#turns.delete(peer_id);
    if (!isLive) this.#messages.delete(peer_id);
  }

  /** Called once a second. */
  tick(): void {
    const { db, clock } = this.#ctx;
    const { budgets } = this.#deps;
    if (!budgets.isAny) return;
    const now = clock.monotonic();
    const due = [...this.#working].filter(([peer_id, at]) =>
      now - at >= CHARGE_TIME_MS || !this.#turns.has(peer_id)
    );
    if (due.length > 0) {
      db.transact((tx) => {
        for (const [peer_id] of due) {
          if (!this.#turns.has(peer_id)) this.promptRead(tx, peer_id);
          this.chargeTime(tx, peer_id);
        }
      });
    }
    if (now - this.#pruned_at < PRUNE_MS) return;
    this.#pruned_at = now;
    budgets.prune(clock.now());
  }

  /** Charges the time of a peer's turn so far, before its work changes. */
  chargeTime(tx: Tx, peer_id: string): void {
    const since = this.#working.get(peer_id);
    if (since === undefined) return;
    const now = this.#ctx.clock.monotonic();
    const ms = Math.floor(now - since);
    if (ms <= 0) return;
    this.#working.set(peer_id, since + ms);
    const budget_id = this.#deps.budgets.workOf(tx, peer_id);
    this.charge(tx, { peer_id, budget_id, used: { ms }, is_today: true });
  }

  /** The address of a peer of this or another machine. */
  #address(peer_id: string): Address | undefined {
    const { directory, remotePeers } = this.#deps;
    return directory.address(peer_id) ?? remotePeers.address(peer_id);
  }

  /** Moves a budget on if two thirds, or all of it, are used. */
  #review(tx: Tx, budget: StoredBudget | undefined): void {
    if (budget?.state !== "open") return;
    const { budgets } = this.#deps;
    const share = shareOf(budget), now = this.#ctx.clock.now();
    if (share >= 1) {
      budgets.step(tx, budget, "spent", { spent_at: now, warned_at: budget.warned_at ?? now });
    } else if (share >= WARNED_SHARE && budget.warned_at === null) {
      store.update(tx, { ...budget, warned_at: now });
      budgets.publish(budget, "warned");
    }
  }
}

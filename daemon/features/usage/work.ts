/**
 * The work of each agent at each time: the chain of messages and the job whose message it read
 * last. A chain is named by its first message; a message belongs to the chain of the message that
 * it answers or follows, otherwise to the chain that its sender was working on.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { SteppedDelivery } from "../budgets/reading.ts";
import { definitionOf } from "../agents/registry.ts";
import * as attempts from "../jobs/fires/store.ts";
import type { DeliveryState } from "protocol/messages/states.ts";
import * as peers from "../peers/store.ts";
import * as store from "./store.ts";

/** Maximum messages that are followed to find the first one of a chain. */
const CHAIN_MAX = 100;
/** Maximum peers whose kind is remembered. */
const PEERS_MAX = 1_000;
/** Time after which a beginning of work is stored, and the number that is stored at once. */
const STORE_AFTER_MS = 10_000;
const UNSTORED_MAX = 5_000;

/** The chain and the job of a request. */
type Cause = Omit<store.Work, "budget_id">;

const NONE: Cause = { chain: "", job_id: "" };

/** Work that an agent began: with a message, or with another prompt. */
interface Beginning {
  readonly peer_id: string;
  readonly at: number;
  readonly message_id: string | undefined;
  /** The budget that the agent works under after the prompt; '' for none. */
  readonly budget_id: string;
}

export class AgentWork {
  readonly #ctx: Context;
  readonly #budgets: Budgets;
  readonly #beginnings: Beginning[] = [];
  readonly #agents = new Map<string, boolean>();

  constructor(ctx: Context, budgets: Budgets) {
    this.#ctx = ctx;
    this.#budgets = budgets;
  }

  /**
   * Called for each step of a delivery. An agent reads a hook's output at once, although only a
   * later hook proves it. Nothing but the id is noted here, on the way of each message.
   */
  stepped({ delivery_id, to_peer_id, transport }: SteppedDelivery, state: DeliveryState): void {
    const isRead = state === "seen" || (state === "sent" && transport === "hook");
    if (isRead) this.#note(to_peer_id, delivery_id);
  }

  /** Called for each prompt, with the ids of the messages in it. */
  promptSeen(peer_id: string, ids: readonly string[]): void {
    this.#note(peer_id, ids.at(-1));
  }

  /** Stores the beginnings that have waited for long, or are many. */
  tick(): void {
    const [first] = this.#beginnings;
    if (!first) return;
    const isDue = Math.abs(this.#ctx.clock.now() - first.at) >= STORE_AFTER_MS;
    if (isDue || this.#beginnings.length >= UNSTORED_MAX) {
      this.#ctx.db.transact((tx) => this.store(tx));
    }
  }

  /** Stores all beginnings so far, in the order of their times. */
  store(tx: Tx): void {
    for (const { peer_id, at, message_id, budget_id: owed } of this.#beginnings.splice(0)) {
      if (message_id === undefined) {
        store.putWork(tx, { peer_id, at, ...NONE, budget_id: owed });
        continue;
      }
      const message = store.chainMessage(tx, message_id);
      if (message?.to_peer_id !== peer_id) continue;
      const { sent_at, transport } = message;
      const begun_at = transport === "hook" && sent_at !== null ? Math.min(at, sent_at) : at;
      // A message that the agent had read before does not end the work for an ask that it owes.
      const budget_id = this.#budgets.idOf(tx, message.delivery_id) || owed;
      store.putWork(tx, { peer_id, at: begun_at, ...this.#workOf(message), budget_id });
    }
  }

  #note(peer_id: string, message_id: string | undefined): void {
    if (!this.#isAgent(peer_id)) return;
    const { db, clock } = this.#ctx;
    const budget_id = this.#budgets.isAny ? this.#budgets.workOf(db, peer_id) ?? "" : "";
    this.#beginnings.push({ peer_id, at: clock.now(), message_id, budget_id });
  }

  /** True for a peer whose sessions can be read. */
  #isAgent(peer_id: string): boolean {
    const known = this.#agents.get(peer_id);
    if (known !== undefined) return known;
    const backend = peers.get(this.#ctx.db, peer_id)?.backend ?? null;
    if (backend === null) return false;
    const isAgent = definitionOf(backend)?.sessionFiles !== undefined;
    setLatest(this.#agents, peer_id, isAgent, PEERS_MAX);
    return isAgent;
  }

  #workOf(message: store.ChainMessage, followed = 0): Cause {
    const { db } = this.#ctx;
    const { kind, correlation_id, delivery_id, reply_to, parent_id } = message;
    const job_id = attempts.jobOfMessage(db, delivery_id);
    if (job_id !== undefined) return { chain: delivery_id, job_id };
    const earlier_id = kind === "ack" ? correlation_id : reply_to;
    if (earlier_id !== null && followed < CHAIN_MAX) {
      const earlier = store.chainMessage(db, earlier_id);
      if (!earlier) return { chain: earlier_id, job_id: "" };
      if (earlier.seq < message.seq) return this.#workOf(earlier, followed + 1);
    }
    const { from_peer_id, created_at } = message;
    const cause = from_peer_id === null ? undefined : store.workAt(db, from_peer_id, created_at);
    if (cause && cause.chain !== "") return { chain: cause.chain, job_id: cause.job_id };
    const own = kind === "ask" ? correlation_id : null;
    return { chain: parent_id ?? own ?? delivery_id, job_id: "" };
  }
}

/**
 * The budgets of chains of messages: which budget a message, a job or a peer counts to, and the
 * refusal of new messages once it is spent. A chain cannot leave its budget: what an agent sends,
 * starts or schedules while it works under a budget counts to it as well.
 */

import type { Reader, Tx } from "kit/data/sqlite.ts";
import { invalidField } from "kit/core/problem.ts";
import type { Context } from "../../data/context.ts";
import { type Amount, parseAmount } from "protocol/budgets/amount.ts";
import type { Budget, BudgetQuery, BudgetScope } from "protocol/budgets/contract.ts";
import { type BudgetEvent, budgetMachine } from "protocol/budgets/states.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { Problem } from "protocol/problems.ts";
import { definitionOf } from "../agents/registry.ts";
import type { OriginProofs, Origins } from "../origins/origins.ts";
import type { Directory } from "../peers/directory.ts";
import type { RemotePeers } from "../peers/remote/remote_peers.ts";
import { BudgetedPeers, type RecipientPorts } from "./budgeted_peers.ts";
import * as peers from "../peers/store.ts";
import { Days, type DaySettings } from "./days.ts";
import { budgetSpent, narrowed, shareOf, toBudget } from "./limits.ts";
import { newBudget } from "./new_budget.ts";
import * as store from "./store.ts";
import type { StoredBudget } from "./store.ts";

/** Time for which an unused budget and all that counted to it are kept. */
const KEPT_MS = 35 * DAY_MS;
/** Maximum budgets within each other. */
const DEPTH_MAX = 16;
/** The budget of a peer that works on something else. */
const OTHER_WORK = "";

/** A message that is about to be sent, as far as budgets depend on it. */
export interface BudgetedMessage {
  readonly kind: StoredMessage["kind"];
  readonly from: { readonly peer_id: string | null; readonly name: string };
  readonly to: { readonly peer_id: string; readonly role: string };
  readonly voice: string;
  readonly reply_to?: string | null;
  readonly correlation_id?: string | null;
  /** True for a message that no limit refuses, such as a notice of the daemon. */
  readonly notice?: boolean;
  /** The limit of the message and of the work that it causes, such as `50k-tokens`. */
  readonly budget?: string | undefined;
  /** The job, schedule or other work on whose behalf it is sent. */
  readonly caused_by?: string | undefined;
}

/** The delivery of an ask, and the ask to many that it is part of. */
interface AskParts {
  readonly delivery_id: string;
  readonly parent_id: string | null;
}

/** Questions of budgets to higher features. */
export interface BudgetPorts extends RecipientPorts {
  askOf(correlation_id: string): AskParts | undefined;
  messageOf(id: string): StoredMessage | undefined;
}

interface BudgetsDeps extends DaySettings {
  readonly directory: Directory;
  readonly origins: Pick<Origins, "include" | "inherit">;
  readonly remotePeers: Pick<RemotePeers, "address">;
  /** The currency of the configured prices. */
  readonly currency: string | undefined;
  /** True if the agents' session files, which have the tokens, are read. */
  readonly counts_tokens: boolean;
  readonly ports: BudgetPorts;
  /** Called for each message that a spent budget refuses. */
  refused(): void;
}

export class Budgets {
  readonly #ctx: Context;
  readonly #deps: BudgetsDeps;
  readonly days: Days;
  readonly #peers: BudgetedPeers;
  /** True if any message can count to a budget. Without one, a message costs nothing more. */
  #isAny: boolean;

  constructor(ctx: Context, deps: BudgetsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.days = new Days(ctx, deps);
    this.#peers = new BudgetedPeers(ctx.db, deps.ports);
    this.#isAny = store.isAny(ctx.db);
  }

  get isAny(): boolean {
    return this.#isAny || this.days.isAny;
  }

  /**
   * The budget that a message counts to; undefined for none. Throws `budget_spent` for a new
   * message to a peer if it is spent. Replies, notices, and what the human sends or gets pass.
   */
  admit(db: Reader, message: BudgetedMessage): StoredBudget | undefined {
    if (!this.isAny) return undefined;
    const { kind, from, to } = message;
    const chain = this.chainOf(db, this.#budgetOf(db, message));
    const isReply = kind === "ack" || kind === "inbox_item";
    const isOfHuman = to.role === "human" || message.voice === "human";
    if (!isReply && !message.notice && !isOfHuman) {
      this.#mustBeOpen(db, [...chain, ...this.days.of(db, [from.peer_id, to.peer_id])]);
    }
    return chain[0];
  }

  /** Records the budget of a stored message, and gives it one of its own. */
  join(
    tx: Tx,
    draft: Pick<BudgetedMessage, "budget" | "from" | "to" | "caused_by">,
    { delivery_id, correlation_id, parent_id }: {
      readonly delivery_id: string;
      readonly correlation_id: string | null;
      /** The ask to many that an ask is part of, whose parts share a budget. */
      readonly parent_id: string | null;
    },
    admitted: StoredBudget | undefined,
  ): void {
    const subject = parent_id ?? correlation_id ?? delivery_id;
    const shared = parent_id === null ? undefined : store.ofSubject(tx, parent_id, null);
    const budget_id = shared?.budget_id ??
      (draft.budget === undefined
        ? admitted?.budget_id
        : this.give(tx, draft.budget, { scope: "ask", subject, from: draft.from }, admitted));
    if (budget_id === undefined) return;
    this.#peers.add(draft.to.peer_id);
    this.#putMember(tx, delivery_id, budget_id);
  }

  /** Gives an ask or a job a budget, within that of its sender. Returns its id. */
  give(
    tx: Tx,
    text: string,
    { scope, subject, from }: {
      readonly scope: BudgetScope;
      readonly subject: string;
      readonly from: BudgetedMessage["from"];
    },
    within: StoredBudget | undefined,
  ): string {
    const amount = this.mustParse(text);
    const outer = this.chainOf(tx, within?.budget_id);
    if (outer.length >= DEPTH_MAX) {
      throw invalidField("budget", `At most ${DEPTH_MAX} budgets lie within each other`);
    }
    const budget = newBudget(this.#ctx, {
      scope,
      subject,
      day: null,
      parent_id: within?.budget_id ?? null,
      from,
      amount: narrowed(amount, outer),
    });
    store.insert(tx, budget);
    this.#ctx.db.afterCommit(() => void (this.#isAny = true));
    this.publish(budget, "opened");
    return budget.budget_id;
  }

  /** The amount of a text. Throws if it is none, or if it names money that has no prices. */
  mustParse(text: string): Amount {
    const amount = parseAmount(text);
    if (typeof amount === "string") throw invalidField("budget", amount);
    const { counts_tokens, currency } = this.#deps;
    if (!counts_tokens && (amount.tokens !== null || amount.cost !== null)) {
      throw invalidField(
        "budget",
        "Tokens are not counted with transcripts: off; give turns or time",
      );
    }
    if (amount.currency !== null && amount.currency !== currency) {
      throw new Problem("budget_needs_prices", {
        currency: amount.currency,
        configured: currency ?? "none",
      });
    }
    return amount;
  }

  /**
   * Records that a job, a schedule or an agent that a peer starts belongs to the chain of the
   * peer's work, and counts to its budget. `begins` is set for what starts work later, by itself.
   * Throws `budget_spent`.
   */
  include(
    tx: Tx,
    subject: string,
    from: BudgetedMessage["from"],
    proofs: OriginProofs,
    begins?: "schedule",
  ): void {
    this.#deps.origins.include(tx, subject, from, proofs, begins);
    if (!this.isAny) return;
    const own = from.peer_id === null ? undefined : this.workOf(tx, from.peer_id);
    const chain = this.chainOf(tx, own);
    this.#mustBeOpen(tx, [...chain, ...this.days.of(tx, [from.peer_id])]);
    if (own !== undefined) this.#put(tx, subject, own);
  }

  /** Work that comes of other work, such as a run of a recurring job, is part of its chain. */
  inherit(tx: Tx, subject: string, of: string): void {
    this.#deps.origins.inherit(tx, subject, of);
    const budget_id = this.isAny ? store.memberOf(tx, of) : undefined;
    if (budget_id) this.#put(tx, subject, budget_id);
  }

  /** A peer that another one has started, and that has no work with a budget, joins its work. */
  inheritWork(tx: Tx, peer_id: string, from_peer_id: string): void {
    if (peer_id === from_peer_id || this.workOf(tx, peer_id) !== undefined) return;
    const budget_id = this.workOf(tx, from_peer_id);
    if (budget_id !== undefined) this.#put(tx, peer_id, budget_id);
  }

  /** Gives a job a budget, within the one that it counts to. */
  giveJob(tx: Tx, job_id: string, text: string, from: BudgetedMessage["from"]): void {
    const [within] = this.chainOf(tx, store.memberOf(tx, job_id));
    const budget_id = this.give(tx, text, { scope: "job", subject: job_id, from }, within);
    this.#put(tx, job_id, budget_id);
  }

  /** A peer has read a message, and works under the message's budget from now on. */
  messageRead(
    tx: Tx,
    peer_id: string,
    { delivery_id, from_peer_id, voice }: Pick<
      StoredMessage,
      "delivery_id" | "from_peer_id" | "voice"
    >,
  ): void {
    const budget_id = store.memberOf(tx, delivery_id);
    if (budget_id !== undefined) return this.#put(tx, peer_id, budget_id);
    // A program that is no peer may belong to the chain, so its message does not end the work.
    if (from_peer_id === null || voice === "unverified") return this.promptRead(tx, peer_id);
    if (this.workOf(tx, peer_id) !== undefined) this.#put(tx, peer_id, OTHER_WORK);
  }

  /**
   * True if a peer works under a budget, has a day's budget, or may read a message that counts to a
   * budget. False for most peers, without a look-up.
   */
  concerns(db: Reader, peer_id: string): boolean {
    return this.days.isAny || this.#peers.has(peer_id) || this.workOf(db, peer_id) !== undefined;
  }

  /** An ask has reached its recipient, which owes an answer until the ask is closed. */
  askReached(tx: Tx, delivery_id: string, to_peer_id: string): void {
    this.#peers.add(to_peer_id);
    store.setOwed(tx, delivery_id, to_peer_id);
  }

  askClosed(correlation_id: string): void {
    if (!this.#isAny) return;
    const { db } = this.#ctx;
    const ask = this.#deps.ports.askOf(correlation_id);
    if (!ask || store.memberOf(db, ask.delivery_id) === undefined) return;
    db.transact((tx) => store.setOwed(tx, ask.delivery_id, null));
  }

  /** A peer got a prompt without a message. It still works for an ask that it owes an answer. */
  promptRead(tx: Tx, peer_id: string): void {
    const budget_id = store.memberOf(tx, peer_id);
    if (!budget_id || store.owedBy(tx, peer_id) !== undefined) return;
    store.removeMember(tx, peer_id);
  }

  /**
   * The budget that a peer works under: that of the message that it read last, else that of an ask
   * that reached it, else that of the peer that started it.
   */
  workOf(db: Reader, peer_id: string): string | undefined {
    const own = this.#peers.has(peer_id) ? store.workOf(db, peer_id) : undefined;
    if (own !== undefined) return own || undefined;
    const address = this.#deps.directory.address(peer_id);
    if (!address?.parent_runtime_id) return undefined;
    const parent = this.#deps.directory.parentOf(address);
    return parent === null ? undefined : this.workOf(db, parent);
  }

  /** The budget that a message or a job counts to; '' for none. */
  idOf(db: Reader, subject: string): string {
    return this.isAny ? store.memberOf(db, subject) ?? "" : "";
  }

  /** A budget and those within which it was given, the narrowest first. */
  chainOf(db: Reader, budget_id: string | undefined | null): StoredBudget[] {
    const chain: StoredBudget[] = [];
    for (let id = budget_id; id && chain.length <= DEPTH_MAX;) {
      const budget = store.get(db, id);
      if (!budget) break;
      chain.push(budget);
      id = budget.parent_id;
    }
    return chain;
  }

  /** A budget with those that were given within it, and so on. */
  within(db: Reader, budget_id: string): string[] {
    const ids = [budget_id];
    for (let next = ids.slice(); next.length > 0 && ids.length < 1_000;) {
      next = store.childrenOf(db, next).filter((id) => !ids.includes(id));
      ids.push(...next);
    }
    return ids;
  }

  /** Moves a budget to its next state, and publishes that. */
  step(
    tx: Tx,
    budget: StoredBudget,
    event: BudgetEvent,
    changes: Partial<StoredBudget> = {},
  ): StoredBudget {
    const next = { ...budget, ...changes, state: budgetMachine.step(budget.state, event) };
    store.update(tx, next);
    this.publish(next, event);
    return next;
  }

  /** Allows as much again, and more while that is used already. */
  grant(tx: Tx, budget: StoredBudget): StoredBudget {
    let grants = budget.grants + 1;
    // A turn under way may have used more than twice the amount.
    while (shareOf({ ...budget, grants }) >= 1) grants++;
    store.clearTold(tx, budget.budget_id);
    const fresh = { grants, warned_at: null, spent_at: null, question_id: null };
    return this.step(tx, budget, "granted", fresh);
  }

  publish(
    { budget_id, scope, subject, state }: StoredBudget,
    event: BudgetEvent | "opened" | "warned",
  ): void {
    this.#ctx.events.append("budget", { budget_id, scope, subject, state, event });
  }

  list({ message, job, peer, open = false, limit }: BudgetQuery): Budget[] {
    const { db } = this.#ctx;
    const ids = this.#idsOf({ message, job, peer });
    const today = this.days.today();
    return store.list(db, { ids, open, today, limit }).map((budget) => this.toPublic(budget));
  }

  toPublic(budget: StoredBudget): Budget {
    const { db } = this.#ctx;
    const isElsewhere = (peer_id: string) => this.#deps.remotePeers.address(peer_id) !== undefined;
    const recordsTokens = (peer_id: string) =>
      definitionOf(peers.get(db, peer_id)?.backend)?.sessionFiles !== undefined;
    const uses = store.uses(db, budget.budget_id);
    return toBudget(budget, { name: this.nameOf(budget), uses, isElsewhere, recordsTokens });
  }

  /** The name of the peer that has a budget; null for another scope. */
  nameOf({ scope, subject }: StoredBudget): string | null {
    return scope === "peer" ? this.#deps.directory.address(subject)?.name ?? subject : null;
  }

  /** Removes what was not used for long. */
  prune(now: number): void {
    if (!this.#isAny) return;
    const { db } = this.#ctx;
    db.transact((tx) => {
      store.prune(tx, now - KEPT_MS);
      db.afterCommit(() => this.#forgetUnused());
    });
  }

  /** Leaves out of memory what is not in the database. Another effect may have begun to write. */
  #forgetUnused(): void {
    const { db } = this.#ctx;
    if (db.hasOpenGroup) return;
    this.#peers.reload();
    this.#isAny = store.isAny(db);
  }

  #mustBeOpen(db: Reader, budgets: readonly StoredBudget[]): void {
    const spent = budgets.find(({ state }) => state !== "open");
    if (!spent) return;
    this.#deps.refused();
    throw budgetSpent(spent, { name: this.nameOf(spent), uses: store.uses(db, spent.budget_id) });
  }

  /** The budgets that a request asks for; null for all. */
  #idsOf({ message, job, peer }: Pick<BudgetQuery, "message" | "job" | "peer">): string[] | null {
    const { db } = this.#ctx;
    const { directory, ports } = this.#deps;
    const ids = new Set<string>();
    const add = (found: readonly StoredBudget[]) => {
      for (const { budget_id } of found) ids.add(budget_id);
    };
    if (message !== undefined) {
      const delivery_id = ports.askOf(message)?.delivery_id ?? message;
      const shared = store.ofSubject(db, message, null);
      add(this.chainOf(db, store.memberOf(db, delivery_id) ?? shared?.budget_id));
    }
    if (job !== undefined) add(this.chainOf(db, store.memberOf(db, job)));
    if (peer !== undefined) {
      const { peer_id } = directory.resolveAnywhere(peer);
      add([...this.chainOf(db, this.workOf(db, peer_id)), ...this.days.of(db, [peer_id])]);
    }
    return message === undefined && job === undefined && peer === undefined ? null : [...ids];
  }

  /**
   * The budget that a message counts to. A reply goes back to the work of the asker, which is
   * outside of a budget that the ask itself has.
   */
  #budgetOf(
    db: Reader,
    { kind, from, reply_to, correlation_id, caused_by }: BudgetedMessage,
  ): string | undefined {
    if (kind === "ack") {
      const ask = correlation_id ? this.#deps.ports.askOf(correlation_id) : undefined;
      const budget_id = ask && store.memberOf(db, ask.delivery_id);
      const budget = budget_id === undefined ? undefined : store.get(db, budget_id);
      const isOwn = budget?.subject === correlation_id || budget?.subject === ask?.parent_id;
      return budget && isOwn ? budget.parent_id ?? undefined : budget_id;
    }
    const own = caused_by === undefined
      ? from.peer_id === null ? undefined : this.workOf(db, from.peer_id)
      : store.memberOf(db, caused_by);
    const before = this.#memberOfAsk(db, reply_to ?? null);
    if (own === undefined || before === undefined) return own ?? before;
    // A follow-up may narrow the budget of its sender, and cannot leave it.
    const isWithin = this.chainOf(db, before).some(({ budget_id }) => budget_id === own);
    return isWithin ? before : own;
  }

  #memberOfAsk(db: Reader, correlation_id: string | null): string | undefined {
    const ask = correlation_id === null ? undefined : this.#deps.ports.askOf(correlation_id);
    return ask && store.memberOf(db, ask.delivery_id);
  }

  /** Records the budget of a peer, or of a job or other work that may become a peer's. */
  #put(tx: Tx, subject: string, budget_id: string): void {
    this.#peers.add(subject);
    this.#putMember(tx, subject, budget_id);
  }

  #putMember(tx: Tx, subject: string, budget_id: string): void {
    store.putMember(tx, { subject, budget_id, at: this.#ctx.clock.now() });
  }
}

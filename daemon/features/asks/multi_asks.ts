/** Asks to many: opens one ask per recipient, and reports the results. */

import { Ages } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { Refusal } from "kit/core/problem.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import type { Address } from "protocol/peers/record.ts";
import { type Directory, mustBeFew, tagOf } from "../peers/directory.ts";
import type { AskContext, Asks } from "./asks.ts";
import {
  type AskMany,
  type Child,
  type ChildAsk,
  type ManyResult,
  PEERS_MAX,
} from "protocol/asks/many.ts";
import type { RoutingPorts } from "./routing/router.ts";
import * as rows from "./store.ts";

/** Maximum parents timed out per tick, so that a tick stays short. */
const DUE_ROWS_MAX = 5;
const FORGET_ROWS_MAX = 20;

interface MultiAsksDeps {
  readonly asks: Asks;
  readonly directory: Directory;
  readonly ports: RoutingPorts;
  /** Minimum time for which a parent is kept; longer while it has an open ask. */
  readonly history_ms: number;
}

/** A recipient by its shown name, with its id, or with the reason why it cannot be asked. */
interface Recipient {
  readonly peer: string;
  readonly to: string | Problem;
}

export class MultiAsks {
  readonly #ctx: Context;
  readonly #deps: MultiAsksDeps;
  readonly #ages: Ages;

  constructor(ctx: Context, deps: MultiAsksDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#ages = new Ages(ctx.clock);
  }

  /**
   * Opens one ask per recipient. A refusal rolls back only the ask to that recipient. Several names
   * of one recipient make one child. If no recipient can be asked, throws the first refusal.
   */
  ask(body: AskMany, requestContext: AskContext): { parent_id: string; children: ChildAsk[] } {
    const { db, ids, clock } = this.#ctx;
    const parent_id = ids.next("askm");
    const refused: Problem[] = [];
    const recipients = this.#recipientsOf(body, requestContext);
    mustBeFew(body.to_peers.join(","), recipients.length, PEERS_MAX);
    const children = recipients.map((recipient): ChildAsk => {
      const child = this.#askOne(recipient, body, { ...requestContext, parent_id });
      if (!(child instanceof Refusal)) return child;
      refused.push(child);
      return { peer: recipient.peer, error: child.code };
    });
    const [first] = refused;
    if (first && refused.length === children.length) throw first;
    const created_at = clock.now();
    const { timeout_seconds } = body;
    const due_at = timeout_seconds === undefined ? null : created_at + timeout_seconds * 1000;
    this.#ages.of(parent_id, created_at);
    db.transact((tx) => rows.insertParent(tx, { parent_id, children, created_at, due_at }));
    return { parent_id, children };
  }

  /** The current results of the children. */
  result(parent_id: string): ManyResult {
    const parent = rows.getParent(this.#ctx.db, parent_id);
    if (!parent) throw new Problem("unknown_ask", { correlation_id: parent_id });
    const children = parent.children.map((child) => this.#toChild(child));
    const asked = children.filter(({ error }) => error === undefined);
    const closed = asked.filter(({ state }) => state === "closed").length;
    const state = closed === asked.length ? "complete" : closed > 0 ? "partial" : "pending";
    return { parent_id, state, children };
  }

  /** Closes open children whose parent has timed out, and deletes old parents. */
  tick(now: number): void {
    const { db } = this.#ctx;
    const before = now - this.#deps.history_ms;
    for (const { parent_id } of rows.finishedBefore(db, before, FORGET_ROWS_MAX)) {
      db.transact((tx) => rows.removeParent(tx, parent_id));
    }
    const due = rows.timeouts(db).filter(({ parent_id, created_at, due_at }) =>
      this.#ages.of(parent_id, created_at) >= due_at - created_at
    ).slice(0, DUE_ROWS_MAX);
    if (due.length === 0) return;
    db.transact((tx) => {
      for (const { parent_id } of due) {
        for (const child of rows.getParent(db, parent_id)?.children ?? []) {
          if ("correlation_id" in child) this.#evict(child.correlation_id);
        }
        rows.clearDue(tx, parent_id);
      }
    });
  }

  /** Each recipient once, under the name that came first. Peers of a `@tag` get their own names. */
  #recipientsOf(body: AskMany, requestContext: AskContext): Recipient[] {
    const recipients = new Map<string, Recipient>();
    for (const { peer, to_peer } of body.to_peers.flatMap((named) => this.#peersOf(named, body))) {
      const to = to_peer instanceof Refusal
        ? to_peer
        : this.#resolve(to_peer, body, requestContext);
      const key = to instanceof Refusal ? subjectOf(to) ?? peer : to;
      if (!recipients.has(key)) recipients.set(key, { peer, to });
    }
    return [...recipients.values()];
  }

  /**
   * The peers of a `@tag`, or one problem if it has none. Those whose account is at a limit are
   * left out, unless all are. Any other argument is one recipient.
   */
  #peersOf(
    peer: string,
    { from_peer, circle }: AskMany,
  ): { readonly peer: string; readonly to_peer: string | Problem }[] {
    const tag = tagOf(peer);
    if (tag === undefined) return [{ peer, to_peer: peer }];
    const { directory } = this.#deps;
    try {
      const caller = directory.sender(from_peer, { circle });
      const found = directory.tagged(tag, { circle, caller });
      const isLimited = ({ peer_id }: Address) => this.#deps.ports.isLimited(peer_id);
      const areAllLimited = found.every(isLimited);
      return found.map((to) => {
        const { name: peer, peer_id } = to;
        const isLeftOut = !areAllLimited && isLimited(to);
        return {
          peer,
          to_peer: isLeftOut ? new Problem("peer_limited", { peer, peer_id }) : peer_id,
        };
      });
    } catch (error) {
      if (isProblem(error, "no_tagged_peer")) return [{ peer, to_peer: error }];
      throw error;
    }
  }

  /** The id of the recipient that an argument names, or the reason why it cannot be asked. */
  #resolve(
    to_peer: string,
    { from_peer, text, circle, reply_delivery, prove }: AskMany,
    requestContext: AskContext,
  ): string | Problem {
    const draft = { from_peer, to_peer, text, circle, reply_delivery, prove, dry_run: true };
    return orProblem(() => this.#deps.asks.open(draft, requestContext).to.peer_id);
  }

  #askOne(
    { peer, to }: Recipient,
    { from_peer, text, circle, reply_delivery, budget, prove }: AskMany,
    requestContext: AskContext,
  ): ChildAsk | Problem {
    if (to instanceof Refusal) return to;
    const draft = { from_peer, to_peer: to, text, circle, reply_delivery, budget, prove };
    const { asks } = this.#deps;
    return orProblem(() => {
      const { ticket } = this.#ctx.db.transactNested(() => asks.open(draft, requestContext));
      const { correlation_id, reason = null } = ticket?.message ?? {};
      return { peer, peer_id: to, correlation_id: correlation_id ?? "", reason };
    });
  }

  #evict(correlation_id: string): void {
    const { asks } = this.#deps;
    const ask = asks.get(correlation_id);
    if (ask?.state === "open") asks.closer.end(ask, "evicted", { responder: null });
  }

  /** The result of a child. An ask that retention has deleted counts as failed. */
  #toChild(child: ChildAsk): Child {
    const { peer } = child;
    const noReply = { reply: null, close_reason: null, outcome: "failed" as const };
    if ("error" in child) {
      const { error } = child;
      return { peer, correlation_id: null, state: "closed", ...noReply, error };
    }
    const { correlation_id } = child;
    const ask = this.#deps.asks.get(correlation_id);
    if (!ask) return { peer, correlation_id, state: "closed", ...noReply };
    const { state, reply, outcome, close_reason } = ask;
    return { peer, correlation_id, state, reply, outcome, close_reason };
  }
}

/** The id of the known peer that a refusal names, if any. */
function subjectOf({ fields }: Problem): string | undefined {
  return "peer_id" in fields && typeof fields.peer_id === "string" ? fields.peer_id : undefined;
}

/** The result, or the refusal for one recipient. A failure of the database fails all recipients. */
function orProblem<T>(work: () => T): T | Problem {
  try {
    return work();
  } catch (error) {
    if (error instanceof Refusal && error.code !== "storage_failed") return error;
    throw error;
  }
}

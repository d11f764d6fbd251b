/** Asks to many: opens one ask per recipient, and reports the results. */

import { Ages } from "kit/core/clock.ts";
import type { Context } from "kit/data/context.ts";
import { isProblem, Problem } from "kit/core/problem.ts";
import { mustBeFew, peersTagged, tagOf } from "../../peers/groups/groups.ts";
import type { Directory } from "../../peers/directory.ts";
import type { AskContext, Asks } from "../asks.ts";
import { type AskMany, type Child, type ChildAsk, type ManyResult, PEERS_MAX } from "./contract.ts";
import * as rows from "./store.ts";

/** How many parents one tick times out, so that a tick stays short. */
const DUE_ROWS_MAX = 5;
const FORGET_ROWS_MAX = 20;

/** A recipient as it is shown, and its name or id, or why it cannot be asked. */
interface Recipient {
  readonly peer: string;
  readonly to_peer: string | Problem;
}

export class MultiAsks {
  readonly #ctx: Context;
  readonly #asks: Asks;
  readonly #directory: Directory;
  readonly #history_ms: number;
  readonly #ages: Ages;

  /**
   * `history_ms` says how long a parent is kept after its creation. A parent with an open ask is
   * kept longer.
   */
  constructor(
    ctx: Context,
    { asks, directory }: { readonly asks: Asks; readonly directory: Directory },
    history_ms: number,
  ) {
    this.#ctx = ctx;
    this.#ages = new Ages(ctx.clock);
    this.#asks = asks;
    this.#directory = directory;
    this.#history_ms = history_ms;
  }

  /**
   * Opens one ask per recipient. A refusal rolls back only the ask to that recipient. A recipient
   * that is named twice is asked once. If no recipient can be asked, throws the first refusal.
   */
  ask(body: AskMany, requestContext: AskContext): { parent_id: string; children: ChildAsk[] } {
    const { db, ids, clock } = this.#ctx;
    const parent_id = ids.next("askm");
    const refused: Problem[] = [];
    const children: ChildAsk[] = [];
    const recipients = this.#recipientsOf(body);
    mustBeFew(body.to_peers.join(","), recipients.length, PEERS_MAX);
    for (const { peer, to_peer } of recipients) {
      const askedBefore = children.filter((child) => "peer_id" in child);
      const child = to_peer instanceof Problem ? to_peer : this.#askOne({ peer, to_peer }, body, {
        askedBefore,
        requestContext: { ...requestContext, parent_id },
      });
      if (child instanceof Problem) refused.push(child);
      children.push(child instanceof Problem ? { peer, error: child.code } : child);
    }
    const [first] = refused;
    if (first && refused.length === children.length) throw first;
    const created_at = clock.now();
    const { timeout_seconds } = body;
    const due_at = timeout_seconds === undefined ? null : created_at + timeout_seconds * 1000;
    this.#ages.of(parent_id, created_at);
    db.transact((tx) => rows.insert(tx, { parent_id, children, created_at, due_at }));
    return { parent_id, children };
  }

  /** The current results of the children. */
  result(parent_id: string): ManyResult {
    const parent = rows.get(this.#ctx.db, parent_id);
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
    for (const { parent_id } of rows.finishedBefore(db, now - this.#history_ms, FORGET_ROWS_MAX)) {
      db.transact((tx) => rows.remove(tx, parent_id));
    }
    const due = rows.timeouts(db).filter(({ parent_id, created_at, due_at }) =>
      this.#ages.of(parent_id, created_at) >= due_at - created_at
    ).slice(0, DUE_ROWS_MAX);
    if (due.length === 0) return;
    db.transact((tx) => {
      for (const { parent_id } of due) {
        for (const child of rows.get(db, parent_id)?.children ?? []) {
          if ("correlation_id" in child) this.#evict(child.correlation_id);
        }
        rows.clearDue(tx, parent_id);
      }
    });
  }

  /** The recipients, with the peers of each `@tag`; a tag without peers has a problem instead. */
  #recipientsOf({ from_peer, to_peers, circle }: AskMany): Recipient[] {
    return to_peers.flatMap((peer): Recipient[] => {
      const tag = tagOf(peer);
      if (tag === undefined) return [{ peer, to_peer: peer }];
      try {
        const caller = this.#directory.sender(from_peer, { circle });
        const found = peersTagged(this.#ctx.db, tag, { circle, caller });
        return found.map(({ name, peer_id }) => ({ peer: name, to_peer: peer_id }));
      } catch (error) {
        if (isProblem(error, "no_tagged_peer")) return [{ peer, to_peer: error }];
        throw error;
      }
    });
  }

  #askOne(
    { peer, to_peer }: { peer: string; to_peer: string },
    { from_peer, text, circle, reply_delivery }: AskMany,
    { askedBefore, requestContext }: {
      askedBefore: readonly Extract<ChildAsk, { peer_id: string }>[];
      requestContext: AskContext;
    },
  ): ChildAsk | Problem {
    const draft = { from_peer, to_peer, text, circle, reply_delivery };
    try {
      const { to: { peer_id } } = this.#asks.open({ ...draft, dry_run: true }, requestContext);
      const before = askedBefore.find((child) => child.peer_id === peer_id);
      if (before) return { ...before, peer };
      const { ticket } = this.#ctx.db.transactNested(() => this.#asks.open(draft, requestContext));
      return { peer, peer_id, correlation_id: ticket?.message.correlation_id ?? "" };
    } catch (error) {
      if (error instanceof Problem && error.code !== "storage_failed") return error;
      throw error;
    }
  }

  #evict(correlation_id: string): void {
    const ask = this.#asks.get(correlation_id);
    if (ask?.state === "open") this.#asks.closer.close(ask, "evicted", { responder: null });
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
    const ask = this.#asks.get(correlation_id);
    if (!ask) return { peer, correlation_id, state: "closed", ...noReply };
    const { state, reply, outcome, close_reason } = ask;
    return { peer, correlation_id, state, reply, outcome, close_reason };
  }
}

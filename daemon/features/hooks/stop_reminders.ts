/** The reminders of unanswered asks that a stop hook gives: each ask once, a turn at most once. */

import type { Context } from "../../data/context.ts";
import { Name } from "kit/core/schema.ts";
import type { Ask } from "protocol/asks/contract.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { insertStage } from "../messages/ledger/stages.ts";
import * as peerRows from "../peers/store.ts";
import * as rows from "../asks/store.ts";

/** Maximum asks in one reminder. The next reminder names the others. */
const ASKS_MAX = 5;
/** Maximum sessions remembered. Beyond it, the oldest session may be reminded twice in a row. */
const SESSIONS_MAX = 1_000;

export class StopReminders {
  readonly #ctx: Context;
  readonly #is_on: boolean;
  /** The sessions whose last stop was held. Their next stop is not. */
  readonly #held = new Set<string>();

  /** `is_on` is the setting `asks.reminders`, for peers without a setting of their own. */
  constructor(ctx: Context, is_on: boolean) {
    this.#ctx = ctx;
    this.#is_on = is_on;
  }

  /** The reminder for a session that ends its turn; null if it may stop. */
  atStop(session_id: string, peer_id: string): string | null {
    if (this.#held.has(session_id)) {
      this.release(session_id);
      return null;
    }
    const asks = this.#asksToRemindOf(peer_id);
    if (asks.length === 0) return null;
    this.#ctx.db.afterCommit(() => this.#hold(session_id));
    return toReminder(asks);
  }

  /** A session began a new turn, or has ended. */
  release(session_id: string): void {
    this.#ctx.db.afterCommit(() => this.#held.delete(session_id));
  }

  /**
   * The asks that a peer has seen, has not answered, and was not reminded of; records that it is
   * now. A peer that waits for the answer to an ask of its own may need it first, so it is left
   * alone.
   */
  #asksToRemindOf(peer_id: string): readonly Ask[] {
    const { db, clock, events } = this.#ctx;
    const is_on = peerRows.get(db, peer_id)?.reminders ?? this.#is_on;
    if (!is_on) return [];
    return db.transact((tx) => {
      const asks = rows.unanswered(db, peer_id, ASKS_MAX);
      if (asks.length === 0 || rows.hasOpenFrom(db, peer_id)) return [];
      for (const { correlation_id, from_peer_id, from_peer_name, to_peer_name } of asks) {
        const delivery_id = ledger.findMessage(db, correlation_id)?.delivery_id ?? "";
        const detail = "by its stop hook";
        insertStage(tx, { delivery_id, stage: "reminded", status: "ok", ts: clock.now(), detail });
        events.append("ask_reminded", {
          correlation_id,
          from_peer_id,
          from: from_peer_name,
          to_peer_id: peer_id,
          to: to_peer_name,
        });
      }
      return asks;
    });
  }

  #hold(session_id: string): void {
    this.#held.add(session_id);
    const [oldest] = this.#held;
    if (this.#held.size > SESSIONS_MAX && oldest !== undefined) this.#held.delete(oldest);
  }
}

/** The daemon is the author of the text, so it quotes only plain names of peers. */
function toReminder(asks: readonly Ask[]): string {
  const lines = asks.map(({ correlation_id, from_peer_name, question }) => {
    const from = Name.safeParse(from_peer_name).success ? ` from @${from_peer_name}` : "";
    return `- ${correlation_id}${from}: ${question ? "the tool answer" : "the tool ack"}`;
  });
  return [
    "[mesh] You are ending your turn, and these asks to you have no answer yet:",
    ...lines,
    "Answer each with that tool of mesh, or refuse it with the tool decline. In a shell: " +
    'mesh ack ID "TEXT", mesh decline ID "REASON"; the text of an ask: mesh show ID. If you ' +
    "cannot answer now, just end your turn: this is said only once.",
  ].join("\n");
}

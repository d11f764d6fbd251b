/** The asks of which an agent is reminded at the end of its turn, each of them once. */

import type { Context } from "../../data/context.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { insertStage } from "../messages/ledger/stages.ts";
import type { Ask } from "protocol/asks/contract.ts";
import * as peerRows from "../peers/store.ts";
import * as rows from "./store.ts";

/** Maximum asks in one reminder. The next reminder names the others. */
const ASKS_MAX = 5;

export class AskReminders {
  readonly #ctx: Context;
  readonly #is_on: boolean;

  /** `is_on` is the setting `asks.reminders`, for peers without a setting of their own. */
  constructor(ctx: Context, is_on: boolean) {
    this.#ctx = ctx;
    this.#is_on = is_on;
  }

  /**
   * The asks that a peer has seen, has not answered, and was not reminded of; records that it is
   * now. A peer that waits for the answer to an ask of its own may need it first, so it is left
   * alone.
   */
  remind(peer_id: string): readonly Ask[] {
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
}

/** Reports to the origin of a message which state the message has reached here. */

import type { Context } from "../../data/context.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { DeliveryState } from "protocol/messages/states.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Ask } from "protocol/asks/contract.ts";
import * as ledger from "../../features/messages/ledger/ledger.ts";
import { identOf } from "../../features/messages/ledger/rows.ts";
import type { ExchangeDeps } from "./deps.ts";
import { StepEntry } from "./entries.ts";
import * as rows from "./store.ts";

const REPORTED = StepEntry.shape.state;
const ENDS: ReadonlySet<string> = new Set(["failed", "expired", "dropped"]);

export class Reports {
  readonly #ctx: Context;
  readonly #links: ExchangeDeps["links"];

  constructor(ctx: Context, links: ExchangeDeps["links"]) {
    this.#ctx = ctx;
    this.#links = links;
  }

  /** Reports a step of a delivery, in the transaction of the step. */
  stepped(delivery_id: string, state: DeliveryState): void {
    const { db } = this.#ctx;
    if (!REPORTED.safeParse(state).success) return;
    const known = rows.byIdent(db, identOf(delivery_id));
    const message = known && !known.sent && ledger.findMessageBySeq(db, known.seq);
    if (!message) return;
    // An ask whose delivery has ended is closed in this transaction, which is reported first.
    const isReportedByClosing = message.kind === "ask" && message.closed_at === null &&
      ENDS.has(state);
    if (!isReportedByClosing) db.transact((tx) => this.#report(tx, known, message));
  }

  /** Reports the delivery of an ask, if it ended before the ask was closed. */
  closing(tx: Tx, { correlation_id }: Ask): void {
    const message = ledger.findMessage(tx, correlation_id);
    if (!message || !ENDS.has(message.state)) return;
    const known = rows.bySeq(tx, message.seq);
    if (known && !known.sent) this.#report(tx, known, message);
  }

  /** Reports the state of a message again, because its origin may have lost the first report. */
  again(tx: Tx, known: rows.RemoteMessage, message: StoredMessage): void {
    if (REPORTED.safeParse(message.state).success) this.#report(tx, known, message);
  }

  #report(tx: Tx, known: rows.RemoteMessage, message: StoredMessage): void {
    const { reason, transport, attempted_at, sent_at, accepted_at, seen_at } = message;
    const entry: StepEntry = {
      delivery_id: known.delivery_id,
      digest: known.digest ?? undefined,
      state: REPORTED.parse(message.state),
      reason,
      transport,
      attempted_at,
      sent_at,
      accepted_at,
      seen_at,
      at: this.#ctx.clock.now(),
    };
    this.#links.append(tx, known.daemon_id, "step", entry);
  }
}

/** The exchange of messages with other machines: outgoing and incoming messages, and reports. */

import type * as z from "zod";
import * as ledger from "../../features/messages/ledger/ledger.ts";
import * as rows from "./store.ts";
import type { Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { DeliveryState } from "protocol/messages/states.ts";
import { EntryRefused, type LinkEntry, type LinkHandlers } from "../links/handlers.ts";
import { Closings } from "./closings.ts";
import type { ExchangeDeps } from "./deps.ts";
import { ClosedEntry, LateEntry, MessageEntry, StepEntry } from "./entries.ts";
import { IncomingMessages } from "./incoming.ts";
import { OutgoingMessages } from "./outgoing.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import { identOf } from "../../features/messages/ledger/rows.ts";

/** Maximum number of messages that are examined after a machine lost its recent state. */
const SENT_AGAIN_MAX = 10_000;

/** Maximum number of rows that one pass reads, and the pause after the last row. */
const PASS_ROWS_MAX = 200;
const PASS_PAUSE_MS = 60_000;

export class Exchange implements LinkHandlers {
  readonly #ctx: Context;
  readonly #deps: ExchangeDeps;
  readonly outgoing: OutgoingMessages;
  readonly #incoming: IncomingMessages;
  readonly #closings: Closings;
  readonly #reports: Reports;
  #cursor = 0;
  #paused_until = 0;

  constructor(ctx: Context, deps: ExchangeDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.outgoing = new OutgoingMessages(ctx, deps);
    this.#incoming = new IncomingMessages(ctx, deps);
    this.#closings = new Closings(ctx, deps);
    this.#reports = new Reports(ctx, deps.links);
  }

  /** Called for each step of a delivery, in its transaction. */
  stepped(delivery_id: string, state: DeliveryState): void {
    this.#reports.stepped(delivery_id, state);
  }

  /**
   * Called for each ask that is closed here, in its transaction, before the end of its delivery is
   * reported: the origin takes the reason from the report that arrives first.
   */
  askClosing(ask: Ask): void {
    this.#ctx.db.transact((tx) => {
      this.#closings.closing(tx, ask);
      this.#reports.closing(tx, ask);
    });
  }

  /** Called for each ask that is closed here, in its transaction, after its delivery has ended. */
  askClosed(ask: Ask): void {
    this.#ctx.db.transact((tx) => this.#closings.closed(tx, ask));
  }

  apply(tx: Tx, from: string, entry: LinkEntry): void {
    const machine = this.#deps.machine(from);
    if (!machine) throw new Problem("unknown_machine_name", { machine: from });
    const { kind, body } = entry;
    if (kind === "message") this.#incoming.apply(tx, machine, parseBody(MessageEntry, body));
    else if (kind === "step") this.outgoing.reported(tx, machine, parseBody(StepEntry, body));
    else if (kind === "closed") this.#closings.apply(tx, machine, parseBody(ClosedEntry, body));
    else if (kind === "late") this.#closings.applyLate(tx, machine, parseBody(LateEntry, body));
    else throw new EntryRefused("unknown_entry");
  }

  published(tx: Tx, _to: string, entries: readonly LinkEntry[]): void {
    for (const message of messagesOf(entries)) this.outgoing.published(tx, message);
  }

  confirmed(tx: Tx, to: string, entries: readonly LinkEntry[]): void {
    for (const message of messagesOf(entries)) this.outgoing.confirmed(tx, message);
    this.#deps.files.uploads.release(tx, to, entries);
  }

  refused(tx: Tx, daemon_id: string, entry: LinkEntry, reason: string): void {
    for (const message of messagesOf([entry])) this.outgoing.refused(tx, message, reason);
    if (entry.kind === "closed") {
      this.#closings.refused(tx, { daemon_id }, ClosedEntry.parse(entry.body), reason);
    }
    this.#deps.files.uploads.release(tx, daemon_id, [entry]);
  }

  expired(tx: Tx, to: string, entries: readonly LinkEntry[]): void {
    for (const message of messagesOf(entries)) {
      this.outgoing.ended(tx, message, "expired", "ttl");
    }
    this.#deps.files.uploads.release(tx, to, entries);
  }

  /**
   * The other machine lost everything that it had applied after `since`. Sends again the messages
   * that wait there, and reports again the state of its own messages here and the closings of asks
   * between the two.
   */
  wentBack(tx: Tx, daemon_id: string, since: number): void {
    const machine = this.#deps.machine(daemon_id);
    if (!machine) return;
    const params = { daemon_id, since, limit: SENT_AGAIN_MAX };
    const seqs = rows.changedSince(tx, params);
    if (seqs.length === SENT_AGAIN_MAX) {
      this.#ctx.log.warn("Only the newest messages are sent again", params);
    }
    for (const seq of seqs.toReversed()) {
      this.outgoing.sendAgain(tx, machine, seq);
      const known = rows.bySeq(tx, seq);
      const message = ledger.findMessageBySeq(tx, seq);
      if (!known || !message) continue;
      this.#closings.again(tx, known);
      if (!known.sent) this.#reports.again(tx, known, message);
    }
  }

  /** Removes rows whose messages were deleted, a few at a time. */
  tick(now: Monotonic): void {
    if (now < this.#paused_until) return;
    const { db } = this.#ctx;
    const scanned = rows.scan(db, { after: this.#cursor, limit: PASS_ROWS_MAX });
    const gone = scanned.filter((row) => row.gone === 1).map(({ seq }) => seq);
    if (gone.length > 0) db.transact((tx) => rows.remove(tx, gone));
    const isComplete = scanned.length < PASS_ROWS_MAX;
    this.#cursor = isComplete ? 0 : scanned.at(-1)?.seq ?? 0;
    if (isComplete) this.#paused_until = now + PASS_PAUSE_MS;
  }
}

/** The body of an entry. Throws `unknown_entry` for an entry of another version of the daemon. */
function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new EntryRefused("unknown_entry");
  return parsed.data;
}

/** The fields needed of a message that this machine wrote; checking all of them takes 30 µs. */
const OwnMessage = MessageEntry.pick({ delivery_id: true });

/** The messages among entries of this machine. */
function messagesOf(entries: readonly LinkEntry[]): z.output<typeof OwnMessage>[] {
  return entries.flatMap(({ kind, body }) => kind === "message" ? [OwnMessage.parse(body)] : []);
}

const REPORTED = StepEntry.shape.state;
const ENDS: ReadonlySet<string> = new Set(["failed", "expired", "dropped"]);

class Reports {
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

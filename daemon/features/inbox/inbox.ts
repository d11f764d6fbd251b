/** The human's inbox: adds, reads and deletes items. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { asksForDecision, isDecidedThere, TERMINAL } from "../asks/answers.ts";
import { ask as getAsk } from "../asks/store.ts";
import { expiryField, type Question } from "protocol/messages/question.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Address } from "protocol/peers/record.ts";
import type { Directory } from "../peers/directory.ts";
import type { InboxItem, InboxQuery } from "protocol/inbox.ts";
import type { Pushes } from "./push/pushes.ts";
import * as rows from "./store.ts";
import type { Surfaces } from "./surfaces.ts";

/** Maximum asks followed back to find the first ask of a thread. */
const THREAD_ASKS_MAX = 32;

/** Items that retention reads per tick, and its pause after a pass over all items. */
const FORGET_ROWS_MAX = 100;
const FORGET_PAUSE_MS = 60_000;

/** Maximum characters of an ask that its closing note repeats. */
const QUESTION_CHARS_MAX = 500;

interface InboxDeps {
  readonly directory: Pick<Directory, "mustHuman">;
  readonly surfaces: Pick<Surfaces, "offer" | "showEnd">;
  readonly pushes: Pick<Pushes, "offer" | "itemChanged">;
  /** Time for which a read item is kept. */
  readonly history_ms: number;
}

export class Inbox {
  readonly #ctx: Context;
  readonly #deps: InboxDeps;
  /** The last row number that retention has examined, and the end of its pause. */
  #cursor = 0;
  #paused_until = 0;

  constructor(ctx: Context, deps: InboxDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Adds an item for a message to the human: stores it, publishes it, offers it to surfaces. */
  add(message: StoredMessage): { item_id: string; surfaces: string[] } {
    const { db, events, ids } = this.#ctx;
    return db.transact((tx) => {
      const item = {
        item_id: ids.next("inb"),
        kind: message.kind === "ask" ? "ask" as const : "notify" as const,
        from: message.from_peer_name,
        from_peer_id: message.from_peer_id,
        voice: message.voice,
        correlation_id: message.correlation_id,
        text: this.#textOf(message),
        attachments: message.attachments,
        question: message.question as Question | null,
        read_at: null,
        read_by: null,
        replied_at: null,
        snoozed_until: null,
        created_at: message.created_at,
      };
      rows.insert(tx, { ...item, thread: this.#threadOf(item.correlation_id) });
      const { item_id, kind, from, from_peer_id, correlation_id } = item;
      events.append("inbox_item", {
        item_id,
        kind,
        from,
        from_peer_id,
        correlation_id,
        ...expiryField(item),
      });
      this.#deps.pushes.offer({ item_id, delivery_id: message.delivery_id });
      return { item_id, surfaces: this.#deps.surfaces.offer(item, message) };
    });
  }

  list(query: InboxQuery) {
    const human = this.mustHuman();
    return { human: human.name, human_peer_id: human.peer_id, items: this.#search(query) };
  }

  mustHuman(): Address {
    return this.#deps.directory.mustHuman();
  }

  has(item_id: string): boolean {
    return rows.get(this.#ctx.db, item_id) !== undefined;
  }

  mustGet(item_id: string): InboxItem {
    this.mustHuman();
    const item = rows.get(this.#ctx.db, item_id);
    if (!item) throw new Problem("unknown_item", { item_id });
    return item;
  }

  /** Marks an item as read, for every surface. Does nothing if the item is already read. */
  read(item_id: string, surface: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      const item = this.mustGet(item_id);
      if (item.read) return;
      rows.markRead(tx, item_id, surface, clock.now());
      this.publishUpdated({ ...item, read: true }, surface);
    });
  }

  /** Marks an item as unread again. An item with a reply stays read. */
  unread(item_id: string, surface: string): void {
    this.#ctx.db.transact((tx) => {
      const item = this.mustGet(item_id);
      if (!item.read || item.replied) return;
      rows.markUnread(tx, item_id);
      this.publishUpdated({ ...item, read: false }, surface);
    });
  }

  /** Puts an item off until an instant; with null, no longer. */
  snooze(item_id: string, { until, surface }: { until: number | null; surface: string }): void {
    this.#ctx.db.transact((tx) => {
      const item = this.mustGet(item_id);
      rows.snooze(tx, item_id, until);
      this.publishUpdated(item, surface);
    });
  }

  /** True if the daemon has notified the human about something; `about` identifies it. */
  hasNotice(from: string, about: string): boolean {
    return rows.noticesAbout(this.#ctx.db, from, about).length > 0;
  }

  /** The texts of the daemon's unread notices. */
  unreadNotices(from: string): string[] {
    return rows.unreadNotices(this.#ctx.db, from);
  }

  /** Marks the daemon's notices about something that is over as read, for every surface. */
  endNotices(from: string, about: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      for (const item of rows.noticesAbout(db, from, about)) {
        if (item.read) continue;
        rows.markRead(tx, item.item_id, from, clock.now());
        this.publishUpdated({ ...item, read: true }, null);
      }
    });
  }

  /**
   * Shows the end of an ask in its item, on every surface. If the human answered it, the item is
   * read and replied. An unanswered item is read if it asked for a decision, because its caller no
   * longer waits. Any other unanswered item stays unread.
   */
  onAskClosed(ask: Ask): void {
    const { db, clock } = this.#ctx;
    const item = rows.itemOfAsk(db, ask.correlation_id);
    if (!item) return;
    const { outcome, close_reason, question } = ask;
    this.#deps.surfaces.showEnd(item);
    this.#deps.pushes.itemChanged(item.item_id);
    if (item.replied) return; // By the reply that closes the ask.
    const answered = close_reason === "answered" || outcome === "answered" ||
      outcome === "acknowledged" || outcome === "declined";
    db.transact((tx) => {
      const { item_id } = item;
      if (answered || asksForDecision(question)) {
        rows.markRead(tx, item_id, isDecidedThere(outcome) ? TERMINAL : null, clock.now());
      }
      if (answered) rows.markReplied(tx, item_id, clock.now());
      const { read, replied } = rows.get(db, item_id) ?? item;
      const isChanged = read !== item.read || replied !== item.replied;
      if (isChanged) this.publishUpdated({ ...item, read, replied }, null);
    });
  }

  /** Called once a second. Deletes items that were read long ago, unless their ask is open. */
  tick(now: number): void {
    const { clock, db } = this.#ctx;
    if (clock.monotonic() < this.#paused_until) return;
    const before = now - this.#deps.history_ms;
    const old = rows.readBefore(db, { before, after: this.#cursor, limit: FORGET_ROWS_MAX });
    const done = old.filter(({ kind, correlation_id }) =>
      kind !== "ask" || !correlation_id || getAsk(this.#ctx.db, correlation_id)?.state !== "open"
    );
    if (done.length > 0) {
      db.transact((tx) => done.forEach(({ item_id }) => rows.remove(tx, item_id)));
    }
    const isComplete = old.length < FORGET_ROWS_MAX;
    this.#cursor = isComplete ? 0 : old.at(-1)?.seq ?? 0;
    if (isComplete) this.#paused_until = clock.monotonic() + FORGET_PAUSE_MS;
  }

  /** An ack without a text, or of a cancelled ask, names the ask: its item shows no other text. */
  #textOf({ text, close_reason, correlation_id }: StoredMessage): string {
    const isReply = text !== "" && close_reason !== "cancelled";
    if (isReply) return text;
    const closed = correlation_id === null ? undefined : getAsk(this.#ctx.db, correlation_id);
    const question = closed && ` ${closed.text.slice(0, QUESTION_CHARS_MAX).toWellFormed()}`;
    const note = `(${close_reason ?? "no text"})${question ?? ""}`;
    return text === "" ? note : `${text}\n\n${note}`;
  }

  #search({ unread = false, open, limit, surface, through_ref }: InboxQuery): InboxItem[] {
    const { db } = this.#ctx;
    if (surface === undefined) {
      return open ? rows.open(db, limit) : rows.list(db, { unread, limit });
    }
    const digits = through_ref === undefined ? null : stripLeadingZeros(through_ref);
    return rows.rendered(db, { surface, unread, limit, digits });
  }

  /** The id of the first ask in a thread, which an item knows or to which `reply_to` leads. */
  #threadOf(correlation_id: string | null): string | null {
    let first = correlation_id;
    for (let asks = 0; first !== null && asks < THREAD_ASKS_MAX; asks++) {
      const known = rows.threadOf(this.#ctx.db, first);
      if (known !== null) return known;
      const before: string | null = getAsk(this.#ctx.db, first)?.reply_to ?? null;
      if (before === null) break;
      first = before;
    }
    return first;
  }

  /** Publishes that an item was read or replied to. */
  publishUpdated({ item_id, read, replied }: InboxItem, surface: string | null): void {
    this.#ctx.events.append("inbox_updated", { item_id, read, replied, surface });
    this.#deps.pushes.itemChanged(item_id);
  }
}

/** Normalizes a decimal ref, which may have any length (contract 4). */
export function stripLeadingZeros(ref: string): string {
  return ref.replace(/^0+/, "");
}

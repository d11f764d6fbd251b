/** The human's inbox: new items, reading, replying, and deleting old items. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Ask } from "../asks/contract.ts";
import type { Question } from "../messages/question.ts";
import type { StoredMessage } from "../messages/contract.ts";
import type { Address } from "../peers/contract.ts";
import type { InboxItem, InboxQuery, InboxReply } from "./contract.ts";
import * as pushes from "./pushes.ts";
import * as rows from "./store.ts";

/** How many asks a thread is followed back to find its first ask. */
const THREAD_ASKS_MAX = 32;

/** Items that retention looks at per tick, and its pause after a pass over all items. */
const FORGET_ROWS_MAX = 100;
const FORGET_PAUSE_MS = 60_000;

export interface InboxDeps {
  mustHuman(): Address;
  /** Offers an item to the surfaces; the names of those that are connected. */
  offer(item: NewInboxItem, message: StoredMessage): string[];
  ask(correlation_id: string): Ask | undefined;
  /** Acks an open ask as the human. */
  ack(
    correlation_id: string,
    fields: { message?: string; attachments?: string[] },
    by: ReplyAuthor,
  ): void;
  /** Answers an open structured question as the human. */
  answer(
    correlation_id: string,
    fields: { option_id?: string; text?: string; attachments?: string[] },
    by: ReplyAuthor,
  ): void;
  /** Asks a peer as the human; the new ask's id. */
  openAsk(
    to_peer: string,
    fields: { text: string; attachments: string[] | undefined; origin: Origin },
    reply_to: string | null,
    by: ReplyAuthor,
  ): string;
  /** How long an item is kept once it is read. */
  readonly history_ms: number;
}

/** The author of a reply. */
export interface ReplyAuthor {
  /** Whether the reply has a proven human origin (contract 2). */
  readonly proven_human: boolean;
}

type NewInboxItem = Omit<InboxItem, "pushes" | "read" | "replied">;
/** The message on a surface that opened an ask of the human (specification 2); null without. */
type Origin = { readonly surface: string; readonly ref: string } | null;

interface ReplyInput {
  readonly surface: string;
  readonly text: string;
  readonly option_id?: string | undefined;
  readonly attachments?: string[] | undefined;
  readonly ref?: string | undefined;
}

/** The text of a reply that has attachments only, as an ask needs a text. */
const FILES_ONLY_TEXT = "(see the attached files)";

export class Inbox {
  readonly #ctx: Context;
  readonly #deps: InboxDeps;
  /** The last row number that retention has looked at, and the end of its pause. */
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
        correlation_id: message.correlation_id,
        text: message.text || `(${message.close_reason ?? "no text"})`,
        attachments: message.attachments,
        question: message.question as Question | null,
        read_at: null,
        read_by: null,
        replied_at: null,
        created_at: message.created_at,
      };
      rows.insert(tx, { ...item, thread: this.#threadOf(item.correlation_id) });
      const { item_id, kind, from, from_peer_id, correlation_id } = item;
      events.append("inbox_item", { item_id, kind, from, from_peer_id, correlation_id });
      return { item_id, surfaces: this.#deps.offer(item, message) };
    });
  }

  list(query: InboxQuery) {
    const human = this.mustHuman();
    return { human: human.name, human_peer_id: human.peer_id, items: this.#search(query) };
  }

  mustHuman(): Address {
    return this.#deps.mustHuman();
  }

  mustGet(item_id: string): InboxItem {
    this.mustHuman();
    const item = rows.get(this.#ctx.db, item_id);
    if (!item) throw new Problem("unknown_item", { item_id });
    return item;
  }

  /** Whether the inbox has an item for the ask. */
  hasAsk(correlation_id: string): boolean {
    return rows.itemOfAsk(this.#ctx.db, correlation_id) !== undefined;
  }

  /** Marks an item as read, for every surface; repeating it changes nothing. */
  read(item_id: string, surface: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      const item = this.mustGet(item_id);
      if (item.read) return;
      rows.markRead(tx, item_id, surface, clock.now());
      this.#publishUpdated({ ...item, read: true }, surface);
    });
  }

  /** Answers the item's ask if it is open; else opens an ask to its sender (specification 4). */
  reply(item_id: string, reply: InboxReply, by: ReplyAuthor) {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const item = this.mustGet(item_id);
      const result = this.#applyReply(item, reply, by);
      if (result.action === "asked") rows.setThread(tx, item_id, result.correlation_id);
      rows.markRead(tx, item_id, reply.surface, clock.now());
      const replied = result.action !== "read";
      if (replied) rows.markReplied(tx, item_id, clock.now());
      const changed = !item.read || (replied && !item.replied);
      if (changed) {
        this.#publishUpdated(
          { ...item, read: true, replied: item.replied || replied },
          reply.surface,
        );
      }
      return result;
    });
  }

  /** Replies to the item that a surface has rendered as this message, in whole or in part. */
  replyByRef(ref: string, reply: InboxReply, by: ReplyAuthor) {
    this.mustHuman();
    const { surface } = reply;
    const digits = DECIMAL.test(ref) ? stripLeadingZeros(ref) : null;
    const item_id = pushes.byRef(this.#ctx.db, { surface, ref, digits });
    if (!item_id) throw new Problem("unknown_surface_ref", { surface, surface_ref: ref });
    return this.reply(item_id, reply, by);
  }

  /** Marks the item of a closed ask as read and replied, if the human answered it anywhere. */
  onAskClosed(ask: Ask): void {
    const { db, clock } = this.#ctx;
    const item = rows.itemOfAsk(db, ask.correlation_id);
    if (!item || item.replied) return;
    const { outcome, close_reason } = ask;
    const answered = close_reason === "answered" || outcome === "answered" ||
      outcome === "acknowledged" || outcome === "declined";
    if (!answered) return;
    db.transact((tx) => {
      rows.markRead(tx, item.item_id, null, clock.now());
      rows.markReplied(tx, item.item_id, clock.now());
    });
    this.#publishUpdated({ ...item, read: true, replied: true }, null);
  }

  /** Once a second: deletes items that were read long ago, unless their ask is open. */
  tick(now: number): void {
    if (now < this.#paused_until) return;
    const { db } = this.#ctx;
    const before = now - this.#deps.history_ms;
    const old = rows.readBefore(db, { before, after: this.#cursor, limit: FORGET_ROWS_MAX });
    const done = old.filter(({ kind, correlation_id }) =>
      kind !== "ask" || !correlation_id || this.#deps.ask(correlation_id)?.state !== "open"
    );
    if (done.length > 0) {
      db.transact((tx) => done.forEach(({ item_id }) => rows.remove(tx, item_id)));
    }
    const isComplete = old.length < FORGET_ROWS_MAX;
    this.#cursor = isComplete ? 0 : old.at(-1)?.seq ?? 0;
    if (isComplete) this.#paused_until = now + FORGET_PAUSE_MS;
  }

  #applyReply(
    item: InboxItem,
    { surface, text, option_id, attachments, ref }: ReplyInput,
    by: ReplyAuthor,
  ) {
    const { correlation_id, from_peer_id, from } = item;
    const ask = correlation_id === null ? undefined : this.#deps.ask(correlation_id);
    const asked = item.kind === "ask" ? ask : undefined;
    if (asked?.state === "open") {
      this.#ctx.db.transact((tx) => rows.markReplied(tx, item.item_id, this.#ctx.clock.now()));
      const { correlation_id, question } = asked;
      const files = attachments && { attachments };
      if (question) {
        const fields = { ...option_id && { option_id }, ...text && { text }, ...files };
        this.#deps.answer(correlation_id, fields, by);
      } else {
        this.#deps.ack(correlation_id, { ...text && { message: text }, ...files }, by);
      }
      return { action: question ? "answered" as const : "acked" as const, correlation_id };
    }
    if (text === "" && !attachments?.length) {
      return { action: "read" as const, correlation_id: null };
    }
    const reply_to = ask ? ask.correlation_id : null;
    const origin = ref === undefined ? null : { surface, ref };
    const askFields = { text: text || FILES_ONLY_TEXT, attachments, origin };
    const opened = this.#deps.openAsk(from_peer_id ?? from, askFields, reply_to, by);
    return { action: "asked" as const, correlation_id: opened };
  }

  #search({ unread = false, limit, surface, through_ref }: InboxQuery): InboxItem[] {
    const { db } = this.#ctx;
    if (surface === undefined) return unread ? rows.unread(db, limit) : rows.list(db, limit);
    const filter = { surface, unread, limit };
    if (through_ref === undefined) return rows.rendered(db, filter);
    return rows.renderedThrough(db, { ...filter, digits: stripLeadingZeros(through_ref) });
  }

  /** The first ask of an ask's thread: from a stored item, or by following `reply_to`. */
  #threadOf(correlation_id: string | null): string | null {
    let first = correlation_id;
    for (let asks = 0; first !== null && asks < THREAD_ASKS_MAX; asks++) {
      const known = rows.threadOf(this.#ctx.db, first);
      if (known !== null) return known;
      const before: string | null = this.#deps.ask(first)?.reply_to ?? null;
      if (before === null) break;
      first = before;
    }
    return first;
  }

  #publishUpdated({ item_id, read, replied }: InboxItem, surface: string | null): void {
    this.#ctx.events.append("inbox_updated", { item_id, read, replied, surface });
  }
}

const DECIMAL = /^\d+$/;

/** Normalizes a decimal ref, which may have any length (contract 4). */
function stripLeadingZeros(ref: string): string {
  return ref.replace(/^0+/, "");
}

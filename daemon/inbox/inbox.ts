/** The inbox desk: what waits for the human, what was read, what was said back. */

import type { Ground } from "kit/ground.ts";
import { Problem } from "kit/problem.ts";
import type { Ask, Question } from "../asks/contract.ts";
import type { Held } from "../delivery/contract.ts";
import type { Address } from "../peers/contract.ts";
import type { InboxItem, InboxQuery, InboxReply, Push } from "./contract.ts";
import * as rows from "./store.ts";

/** How far back a surface that connects is given what it has missed (contract 4). */
export const CATCH_UP_MS = 24 * 3_600_000;

/** Items that retention looks at in one beat, and how long it rests when it has seen them all. */
const FORGET_ROWS_MAX = 100;
const FORGET_REST_MS = 60_000;

export interface InboxNeeds {
  mustHuman(): Address;
  /** Names of the surfaces that are connected, the dashboard included. */
  surfaces(): readonly string[];
  ask(correlation_id: string): Ask | undefined;
  /** Acks an open ask as the human. */
  ack(correlation_id: string, said: { message?: string; attachments?: string[] }): void;
  /** Answers an open structured question as the human. */
  answer(
    correlation_id: string,
    said: { option_id?: string; text?: string; attachments?: string[] },
  ): void;
  /** Asks a peer as the human; the new ask's id. */
  openAsk(
    to_peer: string,
    said: { text: string; attachments: string[] | undefined },
    reply_to: string | null,
  ): string;
  /** How long an item is kept once it is read. */
  readonly history_ms: number;
}

interface Thread {
  readonly surface: string;
  readonly text: string;
  readonly option_id?: string | undefined;
  readonly attachments?: string[] | undefined;
}

/** What is asked with files alone: an ask has a text. */
const FILES_ALONE = "(see the attached files)";

export class Inbox {
  readonly #ground: Ground;
  readonly #needs: InboxNeeds;
  /** How far retention has come, by number, and until when it rests. */
  #forgotten = 0;
  #rest_until = 0;

  constructor(ground: Ground, needs: InboxNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  /** Takes a message to the human in: stored, told, pushed to the surfaces that are there. */
  take(message: Held): { item_id: string; surfaces: string[] } {
    const { db, events, ids } = this.#ground;
    return db.transact(() => {
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
      rows.insert(db, item);
      const { item_id, kind, from, from_peer_id, correlation_id } = item;
      events.append("inbox_item", { item_id, kind, from, from_peer_id, correlation_id });
      const surfaces = [...this.#needs.surfaces()];
      for (const surface of surfaces) this.#offer(surface, item_id);
      return { item_id, surfaces };
    });
  }

  /** The dashboard's stream has flushed the item's event: the receipt of that surface. */
  shown(item_id: string, surface_ref: string): void {
    const { db, clock, events } = this.#ground;
    const surface = "dashboard";
    db.transact(() => {
      if (!rows.get(db, item_id)) return;
      const refs = { surface_ref, surface_refs: [surface_ref] };
      const receipt = { status: "pushed" as const, verified: true, error_class: null };
      rows.upsertPush(db, item_id, { surface, ...receipt, ...refs, at: clock.now() });
      events.append("surface_pushed", { surface, item_id, surface_ref });
    });
  }

  list(query: InboxQuery) {
    const { db } = this.#ground;
    const human = this.#needs.mustHuman();
    const { unread = false, limit, surface, through_ref } = query;
    const found = surface === undefined
      ? rows.list(db, unread, limit)
      : this.#renderedOn(surface, through_ref).filter(({ read }) => !unread || !read);
    return { human: human.name, human_peer_id: human.peer_id, items: found.slice(0, limit) };
  }

  mustGet(item_id: string): InboxItem {
    this.#needs.mustHuman();
    const item = rows.get(this.#ground.db, item_id);
    if (!item) throw new Problem("unknown_item", { item_id });
    return item;
  }

  /** Whether an ask is there to be answered. */
  holds(correlation_id: string): boolean {
    return rows.askItem(this.#ground.db, correlation_id) !== undefined;
  }

  /** Read for every surface; a second time changes nothing. */
  read(item_id: string, surface: string): void {
    const { db, clock } = this.#ground;
    db.transact(() => {
      const item = this.mustGet(item_id);
      if (item.read) return;
      rows.markRead(db, item_id, surface, clock.now());
      this.#sayUpdated({ ...item, read: true }, surface);
    });
  }

  /** Answers the item's ask while it is open; else asks its sender anew (specification 4). */
  reply(item_id: string, reply: InboxReply) {
    const { db, clock } = this.#ground;
    return db.transact(() => {
      const item = this.mustGet(item_id);
      const done = this.#act(item, reply);
      rows.markRead(db, item_id, reply.surface, clock.now());
      const replied = done.action !== "read";
      if (replied) rows.markReplied(db, item_id, clock.now());
      const changed = !item.read || (replied && !item.replied);
      if (changed) {
        this.#sayUpdated(
          { ...item, read: true, replied: item.replied || replied },
          reply.surface,
        );
      }
      return done;
    });
  }

  replyByRef(surface_ref: string, reply: InboxReply) {
    this.#needs.mustHuman();
    const { surface } = reply;
    const item_id = rows.byRef(this.#ground.db, surface, surface_ref);
    if (!item_id) throw new Problem("unknown_surface_ref", { surface, surface_ref });
    return this.reply(item_id, reply);
  }

  /** An ask is closed: the human's item of it needs no answer any more. */
  closed(ask: Ask): void {
    const { db, clock } = this.#ground;
    const item = rows.askItem(db, ask.correlation_id);
    if (!item || item.replied) return;
    const answered = ask.close_reason === "answered" || ask.outcome === "answered" ||
      ask.outcome === "acknowledged" || ask.outcome === "declined";
    if (answered) rows.markReplied(db, item.item_id, clock.now());
    this.#sayUpdated({ ...item, replied: answered }, null);
  }

  /** Once a second: forgets items that were read long ago, unless their ask is open. */
  beat(now: number): void {
    if (now < this.#rest_until) return;
    const { db } = this.#ground;
    const before = now - this.#needs.history_ms;
    const old = rows.readBefore(db, { before, after: this.#forgotten, limit: FORGET_ROWS_MAX });
    const done = old.filter(({ kind, correlation_id }) =>
      kind !== "ask" || !correlation_id || this.#needs.ask(correlation_id)?.state !== "open"
    );
    if (done.length > 0) {
      db.transact(() => done.forEach(({ item_id }) => rows.forget(db, item_id)));
    }
    const over = old.length < FORGET_ROWS_MAX;
    this.#forgotten = over ? 0 : old.at(-1)?.seq ?? 0;
    if (over) this.#rest_until = now + FORGET_REST_MS;
  }

  #act(item: InboxItem, { text, option_id, attachments }: Thread) {
    const { correlation_id, from_peer_id, from } = item;
    const ask = correlation_id === null ? undefined : this.#needs.ask(correlation_id);
    const asked = item.kind === "ask" ? ask : undefined;
    if (asked?.state === "open") {
      rows.markReplied(this.#ground.db, item.item_id, this.#ground.clock.now());
      const { correlation_id, question } = asked;
      const files = attachments && { attachments };
      if (question) {
        const said = { ...option_id && { option_id }, ...text && { text }, ...files };
        this.#needs.answer(correlation_id, said);
      } else {
        this.#needs.ack(correlation_id, { ...text && { message: text }, ...files });
      }
      return { action: question ? "answered" as const : "acked" as const, correlation_id };
    }
    if (text === "" && !attachments?.length) {
      return { action: "read" as const, correlation_id: null };
    }
    const reply_to = asked ? asked.correlation_id : null;
    const asking = { text: text || FILES_ALONE, attachments };
    const opened = this.#needs.openAsk(from_peer_id ?? from, asking, reply_to);
    return { action: "asked" as const, correlation_id: opened };
  }

  /** Notes that a surface is to show an item; its receipt says what became of it. */
  #offer(surface: string, item_id: string): void {
    const { db, clock } = this.#ground;
    const push: Push = {
      surface,
      status: "pending",
      surface_ref: null,
      surface_refs: [],
      verified: false,
      error_class: null,
      at: clock.now(),
    };
    rows.upsertPush(db, item_id, push);
  }

  #renderedOn(surface: string, through_ref: string | undefined): InboxItem[] {
    const { db } = this.#ground;
    const ref = (item: InboxItem) =>
      item.pushes.find((push) => push.surface === surface)?.surface_ref;
    return rows.pushedTo(db, surface)
      .filter((item) => through_ref === undefined || isAtMost(ref(item), through_ref))
      .sort((a, b) => compareRefs(ref(b), ref(a)));
  }

  #sayUpdated({ item_id, read, replied }: InboxItem, surface: string | null): void {
    this.#ground.events.append("inbox_updated", { item_id, read, replied, surface });
  }
}

const DECIMAL = /^\d+$/;

/** Refs are decimal numbers of any length; what is no number sorts last (contract 4). */
export function compareRefs(a: string | null | undefined, b: string | null | undefined): number {
  const [x, y] = [toNumber(a), toNumber(b)];
  if (x === undefined || y === undefined) return Number(x !== undefined) - Number(y !== undefined);
  return x < y ? -1 : x > y ? 1 : 0;
}

function isAtMost(ref: string | null | undefined, most: string): boolean {
  return toNumber(ref) !== undefined && compareRefs(ref, most) <= 0;
}

function toNumber(ref: string | null | undefined): bigint | undefined {
  return ref && DECIMAL.test(ref) ? BigInt(ref) : undefined;
}

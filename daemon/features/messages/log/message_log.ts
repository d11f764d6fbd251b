/** The desk of everything said: pages through it, searches it, and forgets what is old and done. */

import * as z from "zod";
import type { Ground } from "kit/data/context.ts";
import { invalidRequest, isProblem, Problem } from "kit/core/problem.ts";
import type { Numbers } from "../id_codec.ts";
import * as ledger from "../ledger/ledger.ts";
import { Retention, type RetentionLimits } from "../ledger/retention.ts";
import type { Message, MessageQuery } from "./contract.ts";
import { Feed } from "./indexer.ts";
import type { Filter, Hit, Part, Row, Side } from "./store.ts";
import * as rows from "./store.ts";
import { type Search, snippetOf, toSearch } from "./search_terms.ts";

/** Texts of one page: one that would be more ends earlier, and goes on by its cursor. */
const PAGE_BYTES_MAX = 2 * 1024 * 1024;
/** Messages that are looked at in one go, and how often for one page: bounds a request's time. */
const LOOKED_MAX = 5000;
const LOOKS_MAX = 8;
/** The clock may have been set back: as far as this, numbers and instants may disagree. */
const CLOCK_SLIP_MS = 86_400_000;
/** After all that will be said. */
const EVER = Number.MAX_SAFE_INTEGER;

export interface MessagesNeeds {
  readonly numbers: Numbers;
  /** The peer that an argument names; refuses with `unknown_peer` or `ambiguous_peer`. */
  resolve(argument: string): { peer_id: string };
  readonly retention: RetentionLimits;
  readonly ending: AbortSignal;
}

/** Where one look has come to: where the next goes on, null at the end. */
interface Look {
  readonly hits: readonly Hit[];
  readonly next: number | null;
}

export class Messages {
  readonly #ground: Ground;
  readonly #needs: MessagesNeeds;
  readonly #feed: Feed;
  readonly #retention: Retention;

  constructor(ground: Ground, needs: MessagesNeeds) {
    this.#ground = ground;
    this.#needs = needs;
    this.#feed = new Feed(ground, needs.ending);
    this.#retention = new Retention(
      ground,
      needs.retention,
      (seq) => ground.db.transact((tx) => rows.unfeed(tx, seq)),
    );
  }

  mustGet(id: string): Message {
    const row = rows.message(this.#ground.db, id);
    const message = row && toMessage(row);
    if (!message || ![message.message_id, message.delivery_id].includes(id)) {
      throw new Problem("unknown_message", { id });
    }
    return message;
  }

  /** A page, newest first; what comes in meanwhile is above every cursor, and moves none. */
  page(query: MessageQuery): { messages: Message[]; next: string | null } {
    const { q, peer, with: other, kind = null, since = 0, until = EVER, limit } = query;
    const search = q?.trim() ? toSearch(q) : null;
    const cursor = this.#seqOf(query.cursor);
    const filter = { peer: this.#side(peer), other: this.#side(other), kind, since, until };
    if (search === undefined) return { messages: [], next: null };
    if (search) this.#feed.catchUp();
    const { hits, next } = this.#collect({ filter, before: cursor, limit: limit + 1 }, search);
    const shown = fitting(hits.slice(0, limit));
    const cut = shown.length < hits.length ? shown.at(-1)?.seq ?? null : next;
    return {
      messages: rows.bySeqs(this.#ground.db, shown.map(({ seq }) => seq)).map((row) => ({
        ...toMessage(row),
        ...(search && { snippet: snippetOf(search, [row.text, row.reply ?? ""]) }),
      })),
      next: cut === null ? null : this.#needs.numbers.ident(cut),
    };
  }

  /** Once a second: feeds the full text, and forgets. */
  beat(now: number): void {
    this.#feed.beat();
    this.#retention.beat(now);
  }

  #collect(part: Part, search: Search | null): { hits: Hit[]; next: number | null } {
    const hits: Hit[] = [];
    let next: number | null = Math.min(part.before, this.#above(part.filter.until));
    for (let looks = 0; looks < LOOKS_MAX && next !== null; looks++) {
      const rest: Part = { ...part, before: next, limit: part.limit - hits.length };
      const look: Look = search ? this.#lookFor(search, rest) : this.#look(rest);
      hits.push(...look.hits);
      next = look.next;
      if (hits.length >= part.limit) break;
    }
    return { hits, next };
  }

  /** The next numbers down; the gaps that retention has left are stepped over. */
  #look(part: Part): Look {
    const { db } = this.#ground;
    const newest = rows.below(db, part.before);
    if (!newest) return { hits: [], next: null };
    const floor = Math.max(0, newest.seq - LOOKED_MAX + 1);
    const hits = rows.hits(db, part, floor);
    return { hits, next: this.#goesOn(floor, part.filter) };
  }

  #lookFor({ match }: Search, part: Part): Look {
    const { db } = this.#ground;
    const of = { match, looked_max: LOOKED_MAX };
    const hits = rows.found(db, part, of);
    if (hits.length >= part.limit) return { hits, next: hits.at(-1)?.seq ?? null };
    const last = rows.lastLooked(db, { ...of, before: part.before });
    return { hits, next: last === undefined ? null : this.#goesOn(last, part.filter) };
  }

  /** The number to go on below, or null where all that lies there is too old. */
  #goesOn(floor: number, { since }: Filter): number | null {
    const rest = rows.below(this.#ground.db, floor);
    return rest && rest.created_at >= since - CLOCK_SLIP_MS ? floor : null;
  }

  /** A number above all that was said before `until`: found by halves, as numbers rise with time. */
  #above(until: number): number {
    const { db } = this.#ground;
    let low = 0, high = ledger.lastSeq(db) + 1;
    if (until === EVER) return high;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const said = rows.below(db, middle);
      if (!said || said.created_at < until + CLOCK_SLIP_MS) low = middle;
      else high = said.seq;
    }
    return low;
  }

  /** A cursor is the number of the last one shown, in disguise; another is refused. */
  #seqOf(cursor: string | undefined): number {
    const last = ledger.lastSeq(this.#ground.db);
    if (cursor === undefined) return last + 1;
    const seq = this.#needs.numbers.seq(cursor);
    if (seq !== null && seq <= last) return seq;
    const message = "Not a cursor that was given";
    const issue = { code: "custom" as const, path: ["cursor"], message, input: cursor };
    throw invalidRequest(new z.ZodError([issue]));
  }

  #side(argument: string | undefined): Side | null {
    if (argument === undefined) return null;
    try {
      return { peer_id: this.#needs.resolve(argument).peer_id, name: argument };
    } catch (fault) {
      if (!isProblem(fault, "unknown_peer")) throw fault;
      return { peer_id: null, name: argument };
    }
  }
}

/** As many as fit a page, and always the first. */
function fitting(hits: readonly Hit[]): Hit[] {
  let bytes = 0;
  return hits.filter((hit, at) => (bytes += hit.bytes) <= PAGE_BYTES_MAX || at === 0);
}

function toMessage({ seq: _, ...row }: Row): Message {
  const { kind, correlation_id, delivery_id } = row;
  return { message_id: kind === "ask" ? correlation_id ?? delivery_id : delivery_id, ...row };
}

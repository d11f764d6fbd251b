/** The message log: pages through all messages, searches them, and deletes old ones. */

import type { Context } from "../../../data/context.ts";
import { SHORT_ID_MATCHES_MAX } from "../../../data/short_ids.ts";
import { invalidField } from "kit/core/problem.ts";
import { isProblem, Problem } from "protocol/problems.ts";
import type { IdCodec } from "../id_codec.ts";
import * as ledger from "../ledger/ledger.ts";
import { Retention } from "../ledger/retention.ts";
import type { Message, MessageQuery } from "protocol/messages/log.ts";
import { Indexer } from "./indexer.ts";
import type { Filter, Hit, PageRequest, PeerRef, Row } from "./store.ts";
import * as rows from "./store.ts";
import { type Search, snippetOf, toSearch } from "./search_terms.ts";

/** Maximum size of a page's texts. A page ends before it, and its cursor continues there. */
const PAGE_BYTES_MAX = 2 * 1024 * 1024;
/** Maximum messages that one scan reads, and that one page has: they bound a request's time. */
const SCANNED_MAX = 5000;
const PAGE_SCANNED_MAX = 8 * SCANNED_MAX;
/** Minimum cost of a scan, in messages, however few messages lie between two gaps. */
const SCAN_COST = 50;
/** Maximum disorder of row numbers and instants after the clock was set back. */
const CLOCK_SKEW_MS = 86_400_000;
/** Maximum latest messages, and open asks, compared with a shortened id, in about 30 ms. */
const IDS_SCANNED_MAX = 20_000;
const NO_TIME_LIMIT = Number.MAX_SAFE_INTEGER;

interface MessagesDeps {
  readonly idCodec: IdCodec;
  /** The peer that an argument names. Throws `unknown_peer` or `ambiguous_peer`. */
  resolve(argument: string): { peer_id: string };
  readonly history_ms: number;
  readonly messages_max: number;
  readonly shutdownSignal: AbortSignal;
}

/** The result of one scan. `next` is the start of the next scan; null at the end. */
interface PageScan {
  readonly hits: readonly Hit[];
  /** Upper bound of the messages that it has read. */
  readonly scanned: number;
  readonly next: number | null;
}

export class Messages {
  readonly #ctx: Context;
  readonly #deps: MessagesDeps;
  readonly #indexer: Indexer;
  readonly #retention: Retention;

  constructor(ctx: Context, deps: MessagesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#indexer = new Indexer(ctx, deps.shutdownSignal);
    const onRemoved = (seq: number) => ctx.db.transact((tx) => rows.unindex(tx, seq));
    this.#retention = new Retention(ctx, { ...deps, onRemoved });
  }

  mustGet(id: string): Message {
    const row = rows.find(this.#ctx.db, id);
    const message = row && toMessage(row);
    if (!message || ![message.message_id, message.delivery_id].includes(id)) {
      throw new Problem("unknown_message", { id });
    }
    return message;
  }

  /**
   * The first messages whose ids begin with these digits: of the latest ones, and of the latest
   * open asks. Ids are made from row numbers, so no index finds them.
   */
  startingWith(digits: string): Message[] {
    const { db } = this.#ctx;
    const limits = { scanned_max: IDS_SCANNED_MAX, limit: SHORT_ID_MATCHES_MAX };
    const found = rows.startingWith(db, { digits, ...limits });
    const chosen = rows.chosenIds(db, `ask-${digits}`).flatMap((id) => rows.find(db, id) ?? []);
    return [...chosen, ...rows.bySeqs(db, found)].map(toMessage);
  }

  /** A page of messages, newest first. New messages get higher numbers and shift no later page. */
  page(query: MessageQuery): { messages: Message[]; next: string | null } {
    const { q, peer, with: other, since = 0, until = NO_TIME_LIMIT, limit } = query;
    const search = q?.trim() ? toSearch(q) : null;
    const cursor = this.#seqOf(query.cursor);
    const filter = {
      peer: this.#toPeerRef(peer),
      other: this.#toPeerRef(other),
      sender: this.#toPeerRef(query.from),
      recipient: this.#toPeerRef(query.to),
      kind: query.kind ?? null,
      circle: query.circle ?? null,
      state: query.state ?? null,
      since,
      until,
    };
    if (search === undefined) return { messages: [], next: null };
    if (search) this.catchUp();
    const { hits, next } = this.#collect({ filter, before: cursor, limit: limit + 1 }, search);
    const shown = fittingPage(hits.slice(0, limit));
    const next_seq = shown.length < hits.length ? shown.at(-1)?.seq ?? null : next;
    return {
      messages: rows.bySeqs(this.#ctx.db, shown.map(({ seq }) => seq)).map((row) => ({
        ...toMessage(row),
        ...(search && { snippet: snippetOf(search, [row.text, row.reply ?? ""]) }),
      })),
      next: next_seq === null ? null : this.#deps.idCodec.ident(next_seq),
    };
  }

  /** Indexes new texts, so that a search finds them. */
  catchUp(): void {
    this.#indexer.catchUp();
  }

  /** Called once a second. Indexes new texts, and deletes old messages. */
  tick(now: number): void {
    this.#indexer.tick();
    this.#retention.tick(now);
  }

  #collect(request: PageRequest, search: Search | null): { hits: Hit[]; next: number | null } {
    const hits: Hit[] = [];
    let next: number | null = Math.min(request.before, this.#seqAtOrAfter(request.filter.until));
    for (let scanned = 0; scanned < PAGE_SCANNED_MAX && next !== null;) {
      const remaining: PageRequest = {
        ...request,
        before: next,
        limit: request.limit - hits.length,
      };
      const scan: PageScan = search ? this.#search(search, remaining) : this.#scan(remaining);
      hits.push(...scan.hits);
      scanned += scan.scanned + SCAN_COST;
      next = scan.next;
      if (hits.length >= request.limit) break;
    }
    return { hits, next };
  }

  /** Scans downwards by number. Skips gaps, left by deleted messages and before each run. */
  #scan(request: PageRequest): PageScan {
    const { db } = this.#ctx;
    const newest = rows.newestBelow(db, request.before);
    if (!newest) return { hits: [], scanned: 0, next: null };
    const floor = Math.max(0, newest.seq - SCANNED_MAX + 1);
    const hits = rows.hits(db, request, floor);
    const scanned = newest.seq - rows.oldestFrom(db, floor) + 1;
    return { hits, scanned, next: this.#nextFloor(floor, request.filter) };
  }

  #search({ match }: Search, request: PageRequest): PageScan {
    const { db } = this.#ctx;
    const scanned = SCANNED_MAX;
    const searchParams = { match, scanned_max: scanned };
    const hits = rows.search(db, request, searchParams);
    if (hits.length >= request.limit) return { hits, scanned, next: hits.at(-1)?.seq ?? null };
    const last = rows.lastScanned(db, { ...searchParams, before: request.before });
    const next = last === undefined ? null : this.#nextFloor(last, request.filter);
    return { hits, scanned, next };
  }

  /** The number below which the next scan starts; null if all older messages are before `since`. */
  #nextFloor(floor: number, { since }: Filter): number | null {
    const older = rows.newestBelow(this.#ctx.db, floor);
    return older && older.created_at >= since - CLOCK_SKEW_MS ? floor : null;
  }

  /** A row number above all messages before `until`, by binary search: numbers rise with time. */
  #seqAtOrAfter(until: number): number {
    const { db } = this.#ctx;
    let low = 0, high = ledger.lastSeq(db) + 1;
    if (until === NO_TIME_LIMIT) return high;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const row = rows.newestBelow(db, middle);
      if (!row || row.created_at < until + CLOCK_SKEW_MS) low = middle;
      else high = row.seq;
    }
    return low;
  }

  /** Decodes a cursor: the number below which the next page starts. Refuses any other value. */
  #seqOf(cursor: string | undefined): number {
    const last = ledger.lastSeq(this.#ctx.db);
    if (cursor === undefined) return last + 1;
    const seq = this.#deps.idCodec.seq(cursor);
    if (seq !== null && seq <= last) return seq;
    throw invalidField("cursor", "Use the `next` of an earlier page");
  }

  #toPeerRef(argument: string | undefined): PeerRef | null {
    if (argument === undefined) return null;
    try {
      return { peer_id: this.#deps.resolve(argument).peer_id, name: argument };
    } catch (error) {
      if (!isProblem(error, "unknown_peer")) throw error;
      return { peer_id: null, name: argument };
    }
  }
}

/** The hits that fit on a page. The first hit is always included. */
function fittingPage(hits: readonly Hit[]): Hit[] {
  let bytes = 0;
  return hits.filter((hit, at) => (bytes += hit.bytes) <= PAGE_BYTES_MAX || at === 0);
}

function toMessage({ seq: _, ...row }: Row): Message {
  const { kind, correlation_id, delivery_id } = row;
  return { message_id: kind === "ask" ? correlation_id ?? delivery_id : delivery_id, ...row };
}

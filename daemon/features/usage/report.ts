/** Reports of counted tokens, with their price, for readers who may see them. */

import { dateOf } from "kit/core/local_time.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Context } from "../../data/context.ts";
import { definitionOf } from "../agents/registry.ts";
import { TOKEN_KINDS } from "../agents/sessions/requests.ts";
import * as jobs from "../jobs/store.ts";
import * as peers from "../peers/store.ts";
import { isSubagent } from "../peers/subagents.ts";
import { invalidField } from "kit/core/problem.ts";
import {
  type Prices,
  USAGE_DAYS_DEFAULT,
  USAGE_ROWS_MAX,
  type UsageBy,
  type UsageQuery,
  type UsageReport,
  type UsageRow,
} from "protocol/usage.ts";
import type { Reader, Transcripts } from "../transcripts/transcripts.ts";
import type { SessionReading } from "../transcripts/session_reading.ts";
import type { PriceTable } from "./prices.ts";
import * as store from "./store.ts";

interface ReportDeps {
  readonly sessionReading: Pick<SessionReading, "readAll">;
  readonly transcripts: Transcripts;
  readonly prices: Prices | undefined;
  readonly table: PriceTable;
}

type Sums = UsageReport["total"];

export class UsageReports {
  readonly #ctx: Context;
  readonly #deps: ReportDeps;

  constructor(ctx: Context, deps: ReportDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  async report(query: UsageQuery, reader: Reader): Promise<UsageReport> {
    const { by } = query;
    const { prices, sessionReading } = this.#deps;
    const range = this.#rangeOf(query);
    await sessionReading.readAll();
    const { db } = this.#ctx;
    const allowed = this.#allowedPeers(range, query.peer_id, reader);
    const groups = new Map<string, Sums>();
    let total = EMPTY;
    for (const sum of store.sumsBy(db, by, { ...range, peers: allowed })) {
      const priced = this.#priced(sum);
      groups.set(sum.key, added(groups.get(sum.key) ?? EMPTY, priced));
      total = added(total, priced);
    }
    const rows = Array.from(groups, ([key, sums]) => ({ key, sums }));
    if (by === "day") rows.sort((a, b) => a.key < b.key ? -1 : 1);
    else rows.sort((a, b) => tokensOf(b.sums) - tokensOf(a.sums));
    return {
      by,
      ...range,
      timezone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
      rows: rows.slice(0, USAGE_ROWS_MAX).map(({ key, sums }) => this.#toRow(by, key, sums)),
      cut: rows.length > USAGE_ROWS_MAX,
      total,
      prices: prices ? { currency: prices.currency, as_of: prices.as_of } : null,
      left_out: await this.#leftOut(query.peer_id, reader),
    };
  }

  /** What was counted so far of some chains of the last days, by chain; absent if nothing was. */
  ofChains(chains: readonly string[]): Map<string, Sums & { readonly currency: string | null }> {
    const { clock, db } = this.#ctx;
    const from = dateOf(new Date(clock.now() - USAGE_DAYS_DEFAULT * DAY_MS));
    const currency = this.#deps.prices?.currency ?? null;
    const groups = new Map<string, Sums & { currency: string | null }>();
    for (const sum of store.sumsOfChains(db, { chains, from })) {
      const total = added(groups.get(sum.key) ?? EMPTY, this.#priced(sum));
      groups.set(sum.key, { ...total, currency });
    }
    return groups;
  }

  #rangeOf({ from, to, days }: UsageQuery): { from: string; to: string } {
    const last = to ?? dateOf(new Date(this.#ctx.clock.now()));
    // From noon, because a day may have 23 or 25 hours.
    const noon = new Date(`${last}T12:00:00`).getTime();
    const first = from ?? dateOf(new Date(noon - (days - 1) * DAY_MS));
    if (first > last) throw invalidField("from", `${first} is after the last day, ${last}`);
    return { from: first, to: last };
  }

  /** The peers whose tokens the reader may see; null is all. */
  #allowedPeers(
    range: { from: string; to: string },
    wanted: string | undefined,
    reader: Reader,
  ): string[] | null {
    const { db } = this.#ctx;
    const peers_wanted = wanted === undefined ? null : [wanted];
    if (reader.isHuman) return peers_wanted;
    return store.peersIn(db, { ...range, peers: peers_wanted }).filter((peer_id) => {
      const peer = peers.get(db, peer_id);
      return peer && !this.#deps.transcripts.refusalOfCopy(peer, reader);
    });
  }

  /** The live agents whose tokens are not counted, or not for this reader. */
  async #leftOut(wanted: string | undefined, reader: Reader): Promise<UsageReport["left_out"]> {
    const { transcripts } = this.#deps;
    const left_out: UsageReport["left_out"] = [];
    for (const peer of peers.livePeers(this.#ctx.db)) {
      const isAgent = definitionOf(peer.backend)?.sessionFiles !== undefined;
      if (!isAgent || isSubagent(peer) || !transcripts.isHere(peer)) continue;
      const { peer_id, name } = peer;
      if (wanted !== undefined && wanted !== peer_id) continue;
      const refusal = transcripts.refusalOfCopy(peer, reader);
      const session = refusal ? undefined : await transcripts.sessionOf(peer);
      const reason = refusal?.toBody().detail ??
        (typeof session === "string" ? session : undefined);
      if (reason !== undefined) left_out.push({ peer_id, name, reason });
    }
    return left_out;
  }

  #priced(sum: store.GroupSum): Sums {
    const { requests, model } = sum;
    const incomplete = TOKEN_KINDS.filter((kind) => sum[kind] !== null && sum[`no_${kind}`] > 0);
    const { input_tokens, cached_input_read_tokens, cached_input_write_tokens } = sum;
    const { output_tokens, reasoning_tokens } = sum;
    const tokens = {
      input_tokens,
      cached_input_read_tokens,
      cached_input_write_tokens,
      output_tokens,
      reasoning_tokens,
    };
    return { requests, ...tokens, incomplete, ...this.#deps.table.costOf(model, tokens) };
  }

  #toRow(by: UsageBy, key: string, sums: Sums): UsageRow {
    return { key: key === "" ? null : key, name: this.#nameOf(by, key), ...sums };
  }

  #nameOf(by: UsageBy, key: string): string | null {
    const { db } = this.#ctx;
    if (key === "") return null;
    if (by === "agent") return peers.get(db, key)?.name ?? null;
    if (by === "job") return jobs.get(db, key)?.title ?? null;
    if (by !== "chain") return null;
    const first = store.chainMessage(db, key);
    return first ? `${first.from_peer_name} → ${first.to_peer_name}` : null;
  }
}

const EMPTY: Sums = {
  requests: 0,
  input_tokens: null,
  cached_input_read_tokens: null,
  cached_input_write_tokens: null,
  output_tokens: null,
  reasoning_tokens: null,
  incomplete: [],
  cost: null,
  unpriced_tokens: 0,
};

/** The sum of two sums. A kind that only one side has is incomplete. */
function added(a: Sums, b: Sums): Sums {
  if (a === EMPTY) return b;
  const add = (x: number | null, y: number | null) => x === null || y === null ? x ?? y : x + y;
  const isIncomplete = (kind: typeof TOKEN_KINDS[number]) =>
    (a[kind] === null) !== (b[kind] === null) ||
    a.incomplete.includes(kind) || b.incomplete.includes(kind);
  return {
    requests: a.requests + b.requests,
    input_tokens: add(a.input_tokens, b.input_tokens),
    cached_input_read_tokens: add(a.cached_input_read_tokens, b.cached_input_read_tokens),
    cached_input_write_tokens: add(a.cached_input_write_tokens, b.cached_input_write_tokens),
    output_tokens: add(a.output_tokens, b.output_tokens),
    reasoning_tokens: add(a.reasoning_tokens, b.reasoning_tokens),
    incomplete: TOKEN_KINDS.filter(isIncomplete),
    cost: add(a.cost, b.cost),
    unpriced_tokens: a.unpriced_tokens + b.unpriced_tokens,
  };
}

function tokensOf({ input_tokens, output_tokens }: Sums): number {
  return (input_tokens ?? 0) + (output_tokens ?? 0);
}

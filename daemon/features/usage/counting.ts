/** Counts the tokens of agents' sessions, by the requests that are read of their files. */

import { DAY_MS } from "kit/core/duration.ts";
import { dateOf } from "kit/core/local_time.ts";
import { cleanLine } from "kit/core/text.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import type { RequestTokens } from "../agents/sessions/requests.ts";
import type { NewRecords } from "../agents/sessions/session_files.ts";
import type { StoredPeer } from "../peers/store.ts";
import { USAGE_DAYS_MAX } from "protocol/usage.ts";
import type { ReadSession } from "../transcripts/session_reading.ts";
import { byPrice, type PriceTable } from "./prices.ts";
import { combined, RecentRequests } from "./recent.ts";
import * as store from "./store.ts";
import type { AgentWork } from "./work.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { Charges } from "../budgets/charges.ts";

/**
 * Days within which a request is counted once. An older one, such as that of a session from before
 * mesh was installed, is not counted.
 */
const COUNTED_DAYS = 35;
const MODEL_CHARS_MAX = 100;

/** Counts used tokens for `/metrics`. */
interface Meter {
  tokensUsed(used: {
    readonly agent: string;
    readonly model: string;
    readonly tokens: Readonly<Record<string, number>>;
    readonly cost: number | null;
    readonly currency: string | undefined;
  }): void;
}

interface CountingDeps {
  readonly budgets: Pick<Budgets, "isAny">;
  readonly charges: Charges;
  readonly work: AgentWork;
  readonly table: PriceTable;
  readonly currency: string | undefined;
  readonly meter: Meter;
}

export class TokenCounting {
  readonly #ctx: Context;
  readonly #deps: CountingDeps;
  #pruned_day = "";

  constructor(ctx: Context, deps: CountingDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Adds the new requests of a file to the sums, and moves its cursor behind them. */
  recorded(tx: Tx, { peer, session_id }: ReadSession, part: NewRecords): void {
    const { db, events, clock } = this.#ctx;
    const { file, cursor: { at: position, before, state } } = part;
    const { peer_id } = peer;
    const now = clock.now();
    this.#prune(now);
    this.#deps.work.store(tx);
    const requests = new RecentRequests(store.getFile(tx, { file, session_id })?.recent);
    const sums = this.#sumsOf(tx, peer, session_id, part, requests);
    for (const sum of sums) store.addSum(tx, sum);
    const recent = String(requests);
    const read = { file, session_id, peer_id, position, before, state, recent, read_at: now };
    store.putFile(tx, read);
    if (sums.length === 0) return;
    events.append("usage_counted", { peer_id });
    db.afterCommit(() => sums.forEach((sum) => this.#meter(sum)));
  }

  /** The sums of the requests that were not counted before, which are counted now. */
  #sumsOf(
    tx: Tx,
    { peer_id, backend }: StoredPeer,
    session_id: string,
    { requests }: NewRecords,
    recent: RecentRequests,
  ): store.DailySum[] {
    const now = this.#ctx.clock.now();
    const sums = new Map<string, store.DailySum>();
    for (const request of requests) {
      const at = Math.min(request.at ?? now, now);
      if (at < now - COUNTED_DAYS * DAY_MS) continue;
      const day = dateOf(new Date(at));
      const growth = recent.count(request, (key) => store.markCounted(tx, key, day));
      if (!growth) continue;
      const work = store.workAt(tx, peer_id, at);
      const { chain, job_id } = work ?? { chain: "", job_id: "" };
      const model = cleanLine(request.model ?? "").slice(0, MODEL_CHARS_MAX);
      if (this.#deps.budgets.isAny) {
        const is_today = day === dateOf(new Date(now));
        const budget_id = work?.budget_id;
        const used = this.#usedBy(model, growth.tokens);
        this.#deps.charges.charge(tx, { peer_id, budget_id, used, is_today });
      }
      const key = JSON.stringify([day, model, chain, job_id]);
      const before = sums.get(key);
      const tokens = before ? combined(before, growth.tokens, (a, b) => a + b) : growth.tokens;
      sums.set(key, {
        day,
        peer_id,
        backend: backend ?? "",
        session_id,
        model,
        chain,
        job_id,
        requests: (before?.requests ?? 0) + (growth.isFirst ? 1 : 0),
        ...tokens,
      });
    }
    return [...sums.values()];
  }

  /** The use of a budget by a request: all its input and output, and the price. */
  #usedBy(model: string, tokens: RequestTokens) {
    const { cost, unpriced_tokens } = this.#deps.table.costOf(model, tokens);
    const all = (tokens.input_tokens ?? 0) + (tokens.output_tokens ?? 0);
    return { tokens: Math.max(0, all), cost: Math.max(0, cost ?? 0), unpriced_tokens };
  }

  #meter({ backend: agent, model, ...tokens }: store.DailySum): void {
    const { currency, meter, table } = this.#deps;
    meter.tokensUsed({
      agent,
      model: model === "" ? "unknown" : model,
      tokens: byPrice(tokens),
      cost: table.costOf(model, tokens).cost,
      currency,
    });
  }

  /** Removes what is too old, once on each day on which tokens are counted. */
  #prune(now: number): void {
    const today = dateOf(new Date(now));
    if (today === this.#pruned_day) return;
    this.#pruned_day = today;
    const counted_before_ms = now - (COUNTED_DAYS + 1) * DAY_MS;
    this.#ctx.db.transact((tx) =>
      store.prune(tx, {
        sums_before: dateOf(new Date(now - USAGE_DAYS_MAX * DAY_MS)),
        counted_before: dateOf(new Date(counted_before_ms)),
        counted_before_ms,
      })
    );
  }
}

/** Counts the tokens of agents' sessions: at the end of a turn, and when somebody asks. */

import { DAY_MS } from "kit/core/duration.ts";
import { dateOf } from "kit/core/local_time.ts";
import { cleanLine } from "kit/core/text.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import type { RequestCursor, RequestPart, RequestTokens } from "../agents/sessions/requests.ts";
import { definitionOf } from "../agents/registry.ts";
import type { PeerState } from "../peers/changes.ts";
import { UnreadTurns } from "../peers/unread_turns.ts";
import { isSubagent } from "../peers/subagents.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import { USAGE_DAYS_MAX } from "protocol/usage.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";
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
/** Interval at which running turns are counted while there are budgets. */
const BUDGETED_TURN_MS = 5_000;
/** Time for which a session that its peer has left is looked at again. */
const LEFT_SESSION_MS = DAY_MS;
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
  readonly transcripts: Transcripts;
  readonly work: AgentWork;
  readonly table: PriceTable;
  readonly currency: string | undefined;
  readonly meter: Meter;
}

export class TokenCounting {
  readonly #ctx: Context;
  readonly #deps: CountingDeps;
  readonly #unreadTurns: UnreadTurns;
  #running: Promise<void> = Promise.resolve();
  #pruned_day = "";
  /** The last count of running turns, by the monotonic clock. */
  #counted_at = -Infinity;

  constructor(ctx: Context, deps: CountingDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#unreadTurns = new UnreadTurns(ctx.clock);
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged(peer: PeerState): void {
    this.#unreadTurns.peerChanged(peer);
  }

  /** Called once a second. Counts the turns that ended. */
  tick(): void {
    const now = this.#ctx.clock.monotonic();
    const due = new Set(this.#unreadTurns.takeDue());
    if (this.#deps.budgets.isAny && now - this.#counted_at >= BUDGETED_TURN_MS) {
      this.#counted_at = now;
      for (const peer_id of this.#deps.charges.working) due.add(peer_id);
    }
    if (due.size === 0) return;
    const counting = this.#afterwards(() => this.#peersWith([...due]));
    this.#ctx.background.run("Tokens could not be counted", counting);
  }

  /** Counts what the agents of this machine have recorded so far. */
  async countAll(): Promise<void> {
    const { db, clock } = this.#ctx;
    await this.#afterwards(() => {
      const read = store.sessionsReadSince(db, clock.now() - LEFT_SESSION_MS)
        .flatMap(({ peer_id, session_id: runtime_session_id }) => {
          const peer = peers.get(db, peer_id);
          return peer ? [{ ...peer, runtime_session_id }] : [];
        });
      return [...peers.livePeers(db), ...this.#peersWith(this.#unreadTurns.peer_ids), ...read];
    });
  }

  #peersWith(peer_ids: readonly string[]): StoredPeer[] {
    return peer_ids.flatMap((peer_id) => peers.get(this.#ctx.db, peer_id) ?? []);
  }

  /** Counts after what is being counted: two readings of a file would both begin at its cursor. */
  #afterwards(find: () => readonly StoredPeer[]): Promise<void> {
    const before = this.#running;
    const counting = (async () => {
      await before.catch(() => undefined);
      const found = new Map(
        find().map((peer) => [`${peer.peer_id} ${peer.runtime_session_id}`, peer]),
      );
      for (const peer of found.values()) await this.#countSession(peer);
    })();
    this.#running = counting;
    return counting;
  }

  async #countSession(peer: StoredPeer): Promise<void> {
    const { db } = this.#ctx;
    if (!definitionOf(peer.backend)?.sessionFiles || !this.#isOwner(peer)) return;
    const session = await this.#deps.transcripts.sessionOf(peer);
    if (typeof session === "string") return;
    const { files, session_id } = session;
    const cursorOf = (file: string): RequestCursor | undefined => {
      const found = store.getFile(db, { file, session_id });
      return found && { at: found.position, before: found.before, state: found.state };
    };
    for await (const part of files.requests(session_id, cursorOf)) {
      this.#store(peer, session_id, part);
    }
  }

  /** True if a session is counted for this peer: not for a subagent, nor for one that claims it. */
  #isOwner(peer: StoredPeer): boolean {
    if (isSubagent(peer) || !this.#deps.transcripts.isHere(peer)) return false;
    if (peer.session_proved || peer.runtime_session_id === null) return true;
    const others = peers.bySession(this.#ctx.db, peer.runtime_session_id);
    return !others.some(({ peer_id, session_proved }) =>
      session_proved && peer_id !== peer.peer_id
    );
  }

  /** Adds the new requests of a file to the sums, and moves its cursor behind them. */
  #store(peer: StoredPeer, session_id: string, part: RequestPart): void {
    const { db, events, clock } = this.#ctx;
    const { file, cursor: { at: position, before, state } } = part;
    const { peer_id } = peer;
    const now = clock.now();
    db.transact((tx) => {
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
    });
  }

  /** The sums of the requests that were not counted before, which are counted now. */
  #sumsOf(
    tx: Tx,
    { peer_id, backend }: StoredPeer,
    session_id: string,
    { requests }: RequestPart,
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

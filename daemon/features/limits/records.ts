/** The accounts of this machine's agents as the API shows them. */

import type { Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import type { Backend } from "protocol/agents/contract.ts";
import type { Limit, LimitWait, LimitWindow } from "protocol/limits/contract.ts";
import { isLimited } from "protocol/limits/states.ts";
import { limitWords, NO_CREDIT, timeOfDay, TOO_FAST } from "protocol/derived/limits.ts";
import { Problem } from "protocol/problems.ts";
import type { AgentTransports } from "../agents/transports.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import type { Directory } from "../peers/directory.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Account, Accounts } from "./accounts.ts";
import type { AccountLimits } from "./limits.ts";
import * as rows from "./store.ts";
import type { StoredLimit } from "./store.ts";

interface RecordsDeps {
  readonly accounts: Accounts;
  readonly directory: Pick<Directory, "find">;
  readonly limits: AccountLimits;
  readonly resume: string;
  readonly transports: Pick<AgentTransports, "adapterOf">;
}

/** The shortest time between two questions to the agents: each makes them ask their provider. */
const ASK_MS_MIN = 60_000;

export class LimitRecords {
  readonly #ctx: Context;
  readonly #deps: RecordsDeps;
  /** The last answer of each kind of agent. */
  readonly #answers = new Map<Backend, readonly LimitWindow[]>();
  #asked_at: Monotonic | undefined;

  constructor(ctx: Context, deps: RecordsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** The accounts of agents, also of those that sleep; the limited ones first. */
  list(): Limit[] {
    const stored = new Map(rows.all(this.#ctx.db).map((limit) => [limit.account_id, limit]));
    return this.#withPeers(stored)
      .map(({ account, peers }) => this.#toLimit(account, stored.get(account.account_id), peers))
      .toSorted((a, b) => rank(a) - rank(b) || a.account.localeCompare(b.account));
  }

  /** The highest used share of each window, over the accounts of one kind of agent. */
  highestUse(): { backend: string; window: string; used_percent: number }[] {
    const highest = new Map<string, ReturnType<LimitRecords["highestUse"]>[number]>();
    for (const { account: { backend }, peers } of this.#withPeers(new Map())) {
      for (const { window, used_percent } of this.#windowsOf(peers)) {
        const key = `${backend} ${window}`;
        if (used_percent <= (highest.get(key)?.used_percent ?? -1)) continue;
        highest.set(key, { backend: backend ?? "", window, used_percent });
      }
    }
    return [...highest.values()];
  }

  #withPeers(stored: ReadonlyMap<string, StoredLimit>) {
    const { accounts } = this.#deps;
    const peers = peerRows.liveAndEndedPeers(this.#ctx.db);
    const byAccount = new Map<string, { account: Account; peers: StoredPeer[] }>();
    for (const limit of stored.values()) {
      if (limit.state !== "clear") byAccount.set(limit.account_id, { account: limit, peers: [] });
    }
    for (const peer of peers) {
      const shared = accounts.shared(peer);
      if (shared && !byAccount.has(shared.account_id)) {
        byAccount.set(shared.account_id, { account: shared, peers: [] });
      }
      for (const account of [shared, accounts.own(peer)]) {
        if (account) byAccount.get(account.account_id)?.peers.push(peer);
      }
    }
    return [...byAccount.values()];
  }

  /** Asks each running agent that can answer how far its account is used. */
  async refresh(): Promise<void> {
    const now = this.#ctx.clock.monotonic();
    if (this.#asked_at !== undefined && now - this.#asked_at < ASK_MS_MIN) return;
    this.#asked_at = now;
    const backends = this.#withPeers(new Map()).map(({ account: { backend } }) => backend);
    await Promise.all([...new Set(backends)].map(async (backend) => {
      const adapter = this.#deps.transports.adapterOf(backend);
      const answer = await adapter?.askForWindows?.();
      if (adapter && answer) this.#answers.set(adapter.backend, answer);
    }));
  }

  mustGet(account_id: string): Limit {
    const found = this.list().find((limit) => limit.account_id === account_id);
    if (!found) throw new Problem("unknown_limit", { account: account_id });
    return found;
  }

  /** The id of an account, which a peer of it may name. */
  idOf(argument: string): string {
    if (/^acct-/.test(argument)) return this.mustGet(argument).account_id;
    const { peer_id } = this.#deps.directory.find(argument);
    const limits = this.list().filter(({ peers }) =>
      peers.some((peer) => peer.peer_id === peer_id)
    );
    const [found] = limits;
    if (!found) throw new Problem("unknown_limit", { account: argument });
    return found.account_id;
  }

  #toLimit(
    { account_id, backend, account }: Account,
    limit: StoredLimit | undefined,
    peers: readonly StoredPeer[],
  ): Limit {
    const state = limit?.state ?? "clear";
    const { source = null, evidence_at = null, evidence_peer_id = null } = limit ?? {};
    const hasEvidence = source !== null && evidence_at !== null && evidence_peer_id !== null;
    const resumes_at = limit ? this.#deps.limits.resumesAt(limit) : null;
    const waits_for = limit ? this.#waitOf(limit, resumes_at) : null;
    const detail = limit ? this.#sentence(limit, waits_for) : "It is at no limit.";
    return {
      account_id,
      backend,
      account,
      state,
      window: limit?.window ?? null,
      since: limit?.since ?? null,
      resets_at: limit?.resets_at ?? null,
      resumes_at,
      waits_for,
      evidence: hasEvidence && state !== "clear"
        ? { source, at: evidence_at, peer_id: evidence_peer_id, text: limit?.text ?? null }
        : null,
      windows: this.#windowsOf(peers),
      peers: peers.map(({ peer_id, name }) => ({ peer_id, name })),
      queued: peers.reduce(
        (sum, { peer_id }) => sum + ledger.queuedCount(this.#ctx.db, peer_id),
        0,
      ),
      detail,
    };
  }

  #waitOf(limit: StoredLimit, resumes_at: number | null): LimitWait | null {
    const { due_at, state, probe_peer_id } = limit;
    if (state === "clear") return null;
    if (state === "probing") {
      if (probe_peer_id !== null) return "probe";
      return this.#deps.limits.awaitsAgent(limit) ? "agent" : "message";
    }
    if (due_at === null) return "person";
    if (resumes_at !== null) return resumes_at > due_at ? "quiet_hours" : "reset";
    return due_at > this.#ctx.clock.now() ? "reset" : "approval";
  }

  #sentence(limit: StoredLimit, waits_for: LimitWait | null): string {
    const { account_id, state, window } = limit;
    const now = this.#ctx.clock.now();
    if (isLimited(state)) {
      const end = this.#deps.limits.endOf(limit);
      const detail = state === "out_of_credits"
        ? NO_CREDIT
        : state === "throttled"
        ? TOO_FAST
        : window;
      const until = end === null || end <= now ? undefined : timeOfDay(end, now);
      const rest = waits_for === "quiet_hours"
        ? "; its limit is reset within the quiet hours"
        : this.#deps.resume !== "always" || waits_for === "person"
        ? `; it goes on after: mesh limits resume ${account_id}`
        : "";
      return `It ${limitWords(detail, until)}${rest}.`;
    }
    if (waits_for === "agent") {
      return "Its limit is over, and its agent is about to go on by itself.";
    }
    if (waits_for === "probe") {
      return "Its limit is over, and one message shows if it answers again.";
    }
    return waits_for === null
      ? "It is at no limit."
      : "Its limit is over; the next message goes alone, to see if it answers again.";
  }

  /** The present windows, by the records of the peer that was seen last or by a later answer. */
  #windowsOf(peers: readonly StoredPeer[]): LimitWindow[] {
    const now = this.#ctx.clock.now();
    // The use of a window that has been reset since is unknown.
    const present = (windows: readonly LimitWindow[] = []) =>
      windows.filter(({ resets_at }) => resets_at === null || resets_at > now);
    const recorded = peers.toSorted((a, b) => (b.turn_at ?? 0) - (a.turn_at ?? 0)).values()
      .map(({ backend, runtime_session_id }) => {
        const read = this.#deps.transports.adapterOf(backend)?.limitWindows;
        return present(runtime_session_id === null ? [] : read?.(runtime_session_id));
      }).find((windows) => windows.length > 0) ?? [];
    const [peer] = peers;
    const answered = present(peer?.backend ? this.#answers.get(peer.backend) : []);
    return (answered[0]?.at ?? 0) > (recorded[0]?.at ?? 0) ? answered : recorded;
  }
}

function rank({ state }: Limit): number {
  if (isLimited(state)) return 0;
  return state === "probing" ? 1 : 2;
}

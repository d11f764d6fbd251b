/** The limits of accounts: reports of them, the messages that they hold, and their end. */

import { setLatest } from "kit/core/bounded_map.ts";
import { cleanLine } from "kit/core/text.ts";
import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Context } from "../../data/context.ts";
import { TableView } from "../../data/table_view.ts";
import { EVIDENCE_CHARS_MAX } from "protocol/limits/contract.ts";
import { parseHours, quietUntil, type ResumeMode } from "protocol/limits/settings.ts";
import { isLimited, type LimitEvent, limitMachine } from "protocol/limits/states.ts";
import { NO_CREDIT, TOO_FAST } from "protocol/derived/limits.ts";
import type { DeliveryState } from "protocol/messages/states.ts";
import type { Hold } from "protocol/messages/holds.ts";
import type { TurnEnd } from "../agents/adapter.ts";
import { isLive } from "../peers/directory.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import { type TurnEvidence, UNREPORTED_MS } from "../peers/turn_end.ts";
import { idleSince } from "../peers/turns.ts";
import {
  BY_SCREEN,
  type KnownWait,
  type LimitReport,
  type PeerWaits,
  waitAfter,
} from "../peers/waits.ts";
import type { Account, Accounts } from "./accounts.ts";
import { LIMITED, type LimitEffects } from "./deps.ts";
import { addsNothing, dueAfterStep, type Finding, findingOf } from "./evidence.ts";
import type { LimitNotices } from "./notices.ts";
import * as rows from "./store.ts";
import type { StoredLimit } from "./store.ts";

/** Maximum peers with a report, and with a prompt, in memory. */
const PEERS_MAX = 20_000;
/** Time after a reset in which an agent that goes on by itself is not given a message. */
const CONTINUE_MS = 5 * 60_000;
/** Time after which a probe counts as answered, if no limit was reported since. */
const PROBE_MS_MAX = 10 * 60_000;
/** The text of a turn of Gemini CLI that got no answer (0.61.0). */
const NO_ANSWER = "[no response text]";

interface LimitsDeps {
  readonly accounts: Accounts;
  readonly effects: LimitEffects;
  readonly notices: LimitNotices;
  readonly waits: Pick<PeerWaits, "limitOver" | "review">;
  readonly resume: ResumeMode;
  readonly quiet_hours: string | undefined;
}

/** One responsibility: the state of each account, from reports to the probe that clears it. */
export class AccountLimits {
  readonly #ctx: Context;
  readonly #deps: LimitsDeps;
  /** The limits that are not clear, by account. */
  readonly #open: TableView<ReadonlyMap<string, StoredLimit>>;
  /** The accounts with an agent that goes on by itself after the reset. */
  readonly #continuing: TableView<ReadonlySet<string>>;
  /** The last report of each peer: the observation repeats it. */
  readonly #reported: RollbackMap<string, string>;
  /** The last prompt of each peer of an account at a limit. */
  readonly #prompted = new Map<string, number>();

  constructor(ctx: Context, deps: LimitsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#reported = new RollbackMap(ctx.db);
    this.#open = new TableView(ctx.db, "limits", (db) => {
      const open = rows.all(db).filter(({ state }) => state !== "clear");
      return new Map(open.map((limit) => [limit.account_id, limit]));
    });
    this.#continuing = new TableView(ctx.db, "limited_turns", (db) => {
      const turns = rows.allTurns(db).filter(({ continues }) => continues);
      return new Set(turns.map(({ account_id }) => account_id));
    });
  }

  /** The reason why no message may go to a peer now. Called for each message. */
  holdOf(peer_id: string): Hold | undefined {
    for (const limit of this.#limitsOf(peer_id)) {
      if (isLimited(limit.state)) return { reason: LIMITED };
      if (!this.#takesProbe(limit)) return { reason: "limit_probe" };
    }
    return undefined;
  }

  /** True if the account of a peer is at a limit. */
  isLimited(peer_id: string): boolean {
    return this.#limitsOf(peer_id).some(({ state }) => isLimited(state));
  }

  /** The limit of a peer's account as a wait of the peer, unless it has begun a turn since. */
  waitOf(peer_id: string): KnownWait | undefined {
    const limit = this.#limitsOf(peer_id).find(({ state }) => isLimited(state));
    if (!limit) return undefined;
    const { state, window, resets_at, source, changed_at, evidence_at, since } = limit;
    if ((this.#prompted.get(peer_id) ?? 0) > (evidence_at ?? changed_at)) return undefined;
    const detail = state === "out_of_credits"
      ? NO_CREDIT
      : state === "throttled"
      ? TOO_FAST
      : window ?? undefined;
    const end = resets_at === null ? null : this.endOf(limit);
    return {
      kind: "limit",
      detail,
      resets_at: end ?? undefined,
      source: source ?? "unknown",
      at: since ?? changed_at,
    };
  }

  /** The end of a limit as far as it is known; later than its reset within quiet hours. */
  endOf(limit: StoredLimit): number | null {
    const { resets_at } = limit;
    return resets_at === null || this.#quietUntil(limit) !== undefined
      ? this.resumesAt(limit)
      : resets_at;
  }

  /** The time of the next try; null if a person decides. */
  resumesAt(limit: StoredLimit): number | null {
    const { state, due_at } = limit;
    if (!isLimited(state) || due_at === null || this.#deps.resume !== "always") return null;
    return this.#quietUntil(limit) ?? due_at;
  }

  /** The end of the quiet hours in which an account would be tried. */
  #quietUntil({ due_at }: StoredLimit): number | undefined {
    const hours = parseHours(this.#deps.quiet_hours ?? "");
    if (!hours || due_at === null) return undefined;
    return quietUntil(hours, Math.max(due_at, this.#ctx.clock.now()));
  }

  /** A limit of a peer was reported, perhaps repeatedly. */
  reported(peer_id: string, report: LimitReport): void {
    const { db, clock } = this.#ctx;
    const { source, at, error, detail, resets_at } = report;
    // A screen shows a limit for as long as its dialog is open.
    const key = JSON.stringify([source, source !== BY_SCREEN && at, error, detail, resets_at]);
    const peer = peerRows.get(db, peer_id);
    if (this.#reported.get(peer_id) === key || !peer || !isLive(peer)) return;
    const account = this.#accountOf(peer, report);
    const known = rows.get(db, account.account_id);
    const now = clock.now();
    const isTried = known !== undefined && known.state !== "clear";
    const found = findingOf(report, isTried ? known.tries : 0, now);
    const isNews = found && !(known && isOutdated(known, found));
    db.transact((tx) => {
      setLatest(this.#reported, peer_id, key, PEERS_MAX);
      if (!isNews) return;
      // A plugin reports a limit while its agent waits to try again within the turn.
      const isTrying = source === "websocket" && peer.turn_state === "working";
      const continues = report.continues ?? isTrying;
      const { account_id } = account;
      rows.putTurn(tx, { peer_id, account_id, at: found.at, continues });
      if (known && isLimited(known.state) && addsNothing(known, found, now)) return;
      this.#enter(account, { known, found, peer_id });
    });
  }

  /**
   * The peer's own report holds no longer. A limit of the peer alone is then over. A limit of its
   * account is in doubt if the peer tried on by itself; its turn is the probe.
   */
  withdrawn(peer_id: string): void {
    const { db } = this.#ctx;
    const limits = this.#limitsOf(peer_id).filter(({ state }) => isLimited(state));
    if (limits.length === 0) return;
    const peer = peerRows.get(db, peer_id);
    const own_id = peer && this.#deps.accounts.own(peer).account_id;
    const isTrying = rows.getTurn(db, peer_id)?.continues && peer?.turn_state === "working";
    db.transact(() => {
      for (const limit of limits) {
        if (limit.account_id === own_id) this.#store(limit, { ...limit, ...NOTHING }, "withdrawn");
        else if (isTrying) {
          this.#tryAgain(limit, "contradicted");
          const tried = rows.get(db, limit.account_id);
          if (tried) this.#setProbe(tried, { peer_id, id: null });
        }
      }
    });
  }

  /**
   * The account of a report. A report that the agent's own program did not make holds
   * for the peer alone, so that nobody can hold up the peers of others.
   */
  #accountOf(peer: StoredPeer, { is_of_account, source }: LimitReport): Account {
    const isOfPlugin = source === "websocket" && peer.agent_proved;
    const shared = is_of_account || isOfPlugin ? this.#deps.accounts.shared(peer) : undefined;
    return shared ?? this.#deps.accounts.own(peer);
  }

  #enter(
    account: Account,
    { known, found, peer_id }: {
      readonly known: StoredLimit | undefined;
      readonly found: Finding;
      readonly peer_id: string;
    },
  ): void {
    const { event, at, text, ...facts } = found;
    const before = known ?? newLimit(account, at);
    const isFirst = !isLimited(before.state);
    const isLonger = (facts.resets_at ?? 0) - (before.resets_at ?? 0) > 60_000;
    const state = limitMachine.step(before.state, event);
    const isNews = state !== "throttled" &&
      (before.state === "clear" || before.state === "throttled" || isLonger);
    const limit: StoredLimit = {
      ...before,
      ...account,
      ...facts,
      since: isFirst ? at : before.since,
      tries: before.state === "clear" ? 1 : before.tries + (isFirst ? 1 : 0),
      evidence_at: at,
      evidence_peer_id: peer_id,
      text: text === null ? null : cleanLine(text).slice(0, EVIDENCE_CHARS_MAX).toWellFormed(),
      asked: false,
      offered: isFirst ? false : before.offered,
    };
    this.#store(before, limit, event);
    const { notices } = this.#deps;
    const waitOf = (id: string) => this.waitOf(id);
    if (isNews) notices.notifyAskers(this.peersOf(limit), waitOf);
    else if (isFirst) notices.notifyAskers(this.peersOf(limit), waitOf, { seen_by: peer_id });
  }

  /** Stores a changed limit, and publishes it with the waits of its peers. */
  #store(before: StoredLimit, limit: StoredLimit, event: LimitEvent): void {
    const { clock, db, events } = this.#ctx;
    const state = limitMachine.step(before.state, event);
    const noProbe = { probe_peer_id: null, probe_id: null, probe_at: null };
    const next = { ...limit, ...noProbe, state, changed_at: clock.now() };
    db.transact((tx) => rows.put(tx, next));
    const { account_id, backend, window, resets_at, evidence_peer_id: peer_id } = next;
    events.append("limit_changed", {
      account_id,
      backend,
      state,
      prior_state: before.state,
      window,
      resets_at: resets_at === null ? null : new Date(resets_at).toISOString(),
      peer_id,
      reason: event,
    });
    const peers = this.peersOf(next);
    if (isLimited(before.state)) peers.forEach(({ peer_id }) => this.#reported.delete(peer_id));
    if (isLimited(before.state) && !isLimited(state)) this.#deps.notices.limitOver(next);
    db.afterCommit(() => {
      for (const peer of peers.filter(isLive)) {
        if (isLimited(state)) this.#deps.waits.review(peer.peer_id);
        else this.#deps.waits.limitOver(peer.peer_id);
      }
    });
  }

  /** Evidence of the ends of a peer's turns: a limit, or the end of one. */
  turnEvidence(peer_id: string, { ends }: TurnEvidence): void {
    for (const end of ends) {
      if (end.how === "failed") this.#failed(peer_id, end);
      for (const limit of this.#limitsOf(peer_id)) this.#weigh(limit, peer_id, end);
    }
  }

  #failed(peer_id: string, { text: error = "", at, source, resets_at, limit }: TurnEnd): void {
    const wait = waitAfter(error);
    // A hook's report comes with more facts by another way.
    if (wait?.kind !== "limit" || source === "hook" || source === "websocket") return;
    this.reported(peer_id, {
      ...limit,
      ...wait,
      error,
      at,
      source,
      resets_at,
      is_of_account: true,
    });
  }

  /** A turn that ended well proves that its account answers; before the reset, a probe decides. */
  #weigh(limit: StoredLimit, peer_id: string, { how, at, text }: TurnEnd): void {
    const { state, probe_peer_id, probe_at, changed_at } = limit;
    // An agent that tries again within its turn begins no other one.
    const isProbing = probe_peer_id === peer_id ||
      probe_peer_id === null && this.#continues(peer_id) === true;
    const isProbe = state === "probing" && isProbing && at >= (probe_at ?? changed_at);
    if (how !== "completed") {
      if (isProbe && how !== "unreported") this.#setProbe(limit, undefined);
      return;
    }
    if (text === NO_ANSWER) return;
    if (isProbe) return this.#clear(limit);
    const begun_at = this.#prompted.get(peer_id) ?? 0;
    if (isLimited(state) && begun_at > (limit.evidence_at ?? 0) && at >= begun_at) {
      this.#tryAgain(limit, "contradicted");
    }
  }

  /** A peer began a turn: if its account is tried, with a prompt of its own, too. */
  promptSeen(peer_id: string): void {
    const { clock, db } = this.#ctx;
    const turn = this.#continues(peer_id);
    if (turn !== undefined) {
      db.transact((tx) => rows.removeTurn(tx, peer_id));
      if (turn) this.#deps.effects.goesOn(peer_id);
    }
    for (const limit of this.#limitsOf(peer_id)) {
      setLatest(this.#prompted, peer_id, clock.now(), PEERS_MAX);
      if (limit.state === "probing" && limit.probe_peer_id === null) {
        this.#setProbe(limit, { peer_id, id: null });
      }
    }
  }

  /** The agent of a peer will not go on by itself, so the daemon has it go on. */
  stays(peer_id: string): void {
    const { db } = this.#ctx;
    const turn = rows.getTurn(db, peer_id);
    if (turn?.continues) db.transact((tx) => rows.putTurn(tx, { ...turn, continues: false }));
  }

  /** True if the peer's last turn was cut off and goes on by itself; undefined if none was. */
  #continues(peer_id: string): boolean | undefined {
    return this.#open.get().size === 0 ? undefined : rows.getTurn(this.#ctx.db, peer_id)?.continues;
  }

  /** Called when a delivery takes a step, in its transaction: the first attempt is the probe. */
  stepped(
    { delivery_id, to_peer_id }: { readonly delivery_id: string; readonly to_peer_id: string },
    state: DeliveryState,
  ): void {
    for (const limit of this.#limitsOf(to_peer_id)) {
      if (limit.state !== "probing") continue;
      if (limit.probe_id === delivery_id) {
        if (HAS_NOT_GONE.has(state)) this.#setProbe(limit, undefined);
      } else if (state === "attempting" && limit.probe_peer_id === null) {
        this.#setProbe(limit, { peer_id: to_peer_id, id: delivery_id });
      }
    }
  }

  #setProbe(
    limit: StoredLimit,
    probe: { readonly peer_id: string; readonly id: string | null } | undefined,
  ): void {
    const { clock, db } = this.#ctx;
    const probe_at = probe ? clock.now() : null;
    const { peer_id: probe_peer_id = null, id: probe_id = null } = probe ?? {};
    db.transact((tx) => rows.put(tx, { ...limit, probe_peer_id, probe_id, probe_at }));
  }

  /** True if the next message to a peer of the account may go, as the probe. */
  #takesProbe({ account_id, probe_peer_id, changed_at }: StoredLimit): boolean {
    if (probe_peer_id !== null) return false;
    const waits_ms = this.#ctx.clock.now() - changed_at;
    return waits_ms >= CONTINUE_MS || !this.#continuing.get().has(account_id);
  }

  /** True if the account waits for an agent that goes on by itself. */
  awaitsAgent({ account_id, probe_peer_id, state }: StoredLimit): boolean {
    return state === "probing" && probe_peer_id === null && this.#continuing.get().has(account_id);
  }

  #clear(limit: StoredLimit): void {
    this.#ctx.db.transact((tx) => {
      rows.removeTurnsOf(tx, limit.account_id);
      this.#store(limit, { ...limit, ...NOTHING }, "answered");
    });
  }

  /** Lets one message go to the account, and has the turns go on that its limit cut off. */
  #tryAgain(limit: StoredLimit, event: "reset" | "resumed" | "contradicted"): void {
    const { db } = this.#ctx;
    db.transact((tx) => {
      this.#store(limit, limit, event);
      for (const { peer_id, account_id, at, continues } of rows.allTurns(db)) {
        if (account_id !== limit.account_id || continues && event === "reset") continue;
        rows.removeTurn(tx, peer_id);
        const delivery_id = this.#deps.notices.goOn(peer_id, at);
        if (delivery_id !== undefined) this.#deps.effects.goesOnBy(peer_id, delivery_id);
      }
    });
  }

  /** Tries an account again because a person says so. */
  resume(account_id: string): void {
    const limit = this.#open.get().get(account_id);
    if (limit && isLimited(limit.state)) this.#tryAgain(limit, "resumed");
    else if (limit) this.#ctx.db.transact((tx) => rows.removeTurnsOf(tx, account_id));
  }

  /** Called once a second. Tries the accounts whose time has come, and ends probes. */
  tick(now: number): void {
    for (const limit of this.#open.get().values()) {
      if (isLimited(limit.state)) this.#tickLimited(limit, now);
      else this.#tickProbing(limit, now);
    }
  }

  #tickLimited(limit: StoredLimit, now: number): void {
    const { notices, resume } = this.#deps;
    const { db } = this.#ctx;
    const isOffered = !limit.offered &&
      notices.offer(limit, () => this.peersOf(limit), (id) => this.waitOf(id));
    const current = isOffered ? { ...limit, offered: true } : limit;
    if (isOffered) db.transact((tx) => rows.put(tx, current));
    if (limit.due_at === null || limit.due_at > now) return;
    if (resume === "always") {
      if (this.#quietUntil(limit) === undefined) this.#tryAgain(current, "reset");
    } else if (resume === "ask" && !limit.asked && notices.askToResume(limit)) {
      db.transact((tx) => rows.put(tx, { ...current, asked: true }));
    }
  }

  #tickProbing(limit: StoredLimit, now: number): void {
    const { account_id, changed_at, probe_at } = limit;
    const isAnswered = probe_at !== null &&
      (now - probe_at >= PROBE_MS_MAX || this.#hasRested(limit, now));
    if (isAnswered) return this.#clear(limit);
    // An agent that did not go on by itself was stopped by its user.
    if (this.awaitsAgent(limit) && now - changed_at >= CONTINUE_MS) {
      this.#ctx.db.transact((tx) => rows.removeTurnsOf(tx, account_id));
    }
  }

  /** True if the program that got the probe has said that it is idle, and of no error since. */
  #hasRested({ probe_peer_id, probe_at }: StoredLimit, now: number): boolean {
    const peer = peerRows.get(this.#ctx.db, probe_peer_id ?? "");
    const idle = peer ? idleSince(peer) : null;
    return idle?.source === "websocket" && idle.at > (probe_at ?? now) &&
      now - idle.at >= UNREPORTED_MS;
  }

  /** The clock of this machine was set: times that it gave move along, a provider's do not. */
  clockStepped(step_ms: number): void {
    const { clock, db } = this.#ctx;
    const moved = (at: number | null) => at === null ? null : at + step_ms;
    db.transact((tx) => {
      for (const limit of this.#open.get().values()) {
        rows.put(tx, {
          ...limit,
          due_at: dueAfterStep(limit, step_ms, clock.now()),
          evidence_at: moved(limit.evidence_at),
          probe_at: moved(limit.probe_at),
          changed_at: limit.changed_at + step_ms,
        });
      }
    });
  }

  /** The numbers of accounts in each state, of those that have been at a limit. */
  counts(): { [state: string]: number } {
    const counts: { [state: string]: number } = {};
    for (const state of limitMachine.states) counts[state] = 0;
    for (const { state } of rows.all(this.#ctx.db)) counts[state] = (counts[state] ?? 0) + 1;
    return counts;
  }

  /** The limits of a peer that are not clear: of its account, and its own. */
  #limitsOf(peer_id: string): readonly StoredLimit[] {
    const open = this.#open.get();
    if (open.size === 0) return [];
    const peer = peerRows.get(this.#ctx.db, peer_id);
    if (!peer) return [];
    const { accounts } = this.#deps;
    return [accounts.shared(peer), accounts.own(peer)].flatMap((account) =>
      account && open.get(account.account_id) || []
    );
  }

  /** The peers of an account, with those that sleep. */
  peersOf({ account_id }: Pick<StoredLimit, "account_id">): StoredPeer[] {
    const { accounts } = this.#deps;
    return peerRows.liveAndEndedPeers(this.#ctx.db).filter((peer) =>
      accounts.shared(peer)?.account_id === account_id ||
      accounts.own(peer).account_id === account_id
    );
  }
}

const NOTHING = { window: null, since: null, resets_at: null, due_at: null, tries: 0 };

/** The states of a message that has not reached its agent. */
const HAS_NOT_GONE: ReadonlySet<DeliveryState> = new Set([
  "queued",
  "failed",
  "expired",
  "dropped",
]);

/** True for a report from before the account was tried again. */
function isOutdated({ state, changed_at, probe_at }: StoredLimit, { at }: Finding): boolean {
  return !isLimited(state) && at < (state === "probing" ? probe_at ?? changed_at : changed_at);
}

function newLimit(account: Account, at: number): StoredLimit {
  return {
    ...account,
    state: "clear",
    window: null,
    since: null,
    resets_at: null,
    due_at: null,
    tries: 0,
    source: null,
    evidence_at: null,
    evidence_peer_id: null,
    text: null,
    probe_peer_id: null,
    probe_id: null,
    probe_at: null,
    offered: false,
    asked: false,
    changed_at: at,
  };
}

/**
 * Wakes: an ask to an agent that has ended starts it again, by the policy of the peer and the
 * human's decision. One wake serves all messages that wait. An agent that a message has woken goes
 * back to sleep; one that a person uses does not.
 */

import { Ages } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { Problem, recoverableProblem } from "protocol/problems.ts";
import { sentenceOf } from "protocol/reasons.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { isOutside } from "protocol/derived/origins.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import { isAppName, type Wake, type WakePolicy } from "protocol/peers/record.ts";
import { WAKE_SCOPE } from "protocol/wakes.ts";
import type { Asks } from "../asks/asks.ts";
import * as askRows from "../asks/store.ts";
import * as jobRows from "../jobs/store.ts";
import type { Linking } from "../lifecycle/linking.ts";
import { LIMITED } from "../limits/deps.ts";
import type { AccountLimits } from "../limits/limits.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import type { Notifications } from "../notifications/notifications.ts";
import { type Directory, isLive, isOnline, mustGetPeer } from "../peers/directory.ts";
import { DAEMON_RESTART, type Peers } from "../peers/peers.ts";
import type { PeerProfiles } from "../peers/profiles.ts";
import type { Origins } from "../origins/origins.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Terminals } from "../../host/tmux/terminals.ts";
import type { Resumptions } from "../spawn/resumptions.ts";
import { isRestarting } from "../spawn/restarts/replacement.ts";
import type { Spawns } from "../spawn/spawns.ts";
import { Obstacles } from "./obstacles.ts";
import { openAsksOf, WakeQuestions } from "./questions.ts";
import { WakeRecords } from "./records.ts";
import { RUNNING_MS_MAX, WakeRuns } from "./runs.ts";
import type { StoredWake } from "./store.ts";
import * as rows from "./store.ts";

/** Time until an agent that went offline counts as ended: it may be starting again. */
const SETTLE_MS = 5_000;
/** Time after "not now" in which the human is not asked about the peer again. */
const NOT_NOW_MS = 60 * 60_000;
/** Time after a wake within which only a person wakes the peer, in case it ends at each start. */
const PAUSE_MS = 5 * 60_000;
/** Maximum open asks that a woken agent is reminded of. */
const REMINDED_ASKS_MAX = 5;

/** Reasons of peers that are offline by the daemon's or a person's own act. */
const INTENDED: ReadonlySet<string | null> = new Set(["killed", "job_over"]);

export interface WakesDeps {
  readonly asks: Asks;
  readonly directory: Directory;
  readonly limits: Pick<AccountLimits, "holdOf" | "isLimited">;
  readonly linking: Linking;
  readonly notifications: Pick<Notifications, "tryNotifyFromDaemon">;
  readonly origins: Pick<Origins, "allows">;
  readonly peers: Pick<Peers, "offline">;
  readonly profiles: Pick<PeerProfiles, "setWakePolicy">;
  readonly resumptions: Resumptions;
  readonly spawns: Spawns;
  readonly terminals: Pick<Terminals, "isWatched">;
  readonly shutdownSignal: AbortSignal;
  /** The setting `daemon.wake`. */
  readonly policy: WakePolicy;
  /** The setting `daemon.wake_idle_minutes`. */
  readonly idle_ms: number;
}

/** The sender of a message, as far as it decides about a wake. */
type WakingMessage =
  & Pick<StoredMessage, "chain" | "from_peer_id" | "from_peer_name" | "voice">
  & { readonly is_elsewhere: boolean };

export class Wakes {
  readonly #ctx: Context;
  readonly #deps: WakesDeps;
  readonly #records: WakeRecords;
  readonly #questions: WakeQuestions;
  readonly #runs: WakeRuns;
  readonly #obstacles: Obstacles;
  readonly #ages: Ages;
  /** The peers that went offline, and when each is looked at. */
  readonly #ended: RollbackMap<string, number>;
  readonly #started_at: number;
  #watching: Promise<void> | undefined;

  constructor(ctx: Context, deps: WakesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#ended = new RollbackMap(ctx.db);
    this.#ages = new Ages(ctx.clock);
    this.#records = new WakeRecords(ctx);
    this.#questions = new WakeQuestions(ctx, deps);
    this.#obstacles = new Obstacles(ctx, deps.resumptions);
    this.#started_at = ctx.clock.monotonic();
    this.#runs = new WakeRuns(ctx, this.#records, {
      ...deps,
      decide: (wake) => this.#decide(wake),
      failed: (wake) => this.#reportFailure(wake),
      woken: (wake) => this.#remind(wake),
      // An ask may have come while the agent was being ended.
      slept: ({ peer_id }) => void this.#ended.set(peer_id, ctx.clock.monotonic()),
      isOver: (wake) => this.#isOver(wake),
    });
  }

  /** Called after a start. */
  start(): void {
    this.#runs.start();
    for (const peer_id of askRows.pendingOfAll(this.#ctx.db).keys()) this.wentOffline(peer_id);
  }

  async close(): Promise<void> {
    await this.#runs.close();
    await this.#watching;
  }

  /** The sleep of a peer, as its record shows it. */
  viewOf(peer: StoredPeer): Wake | null {
    if (!isAgent(peer)) return null;
    const policy = this.#policyOf(peer);
    const view = (state: Wake["state"], reason: string | null = null, detail?: string | null) => {
      return { state, policy, reason, detail: detail ?? (reason && sentenceOf(reason)) };
    };
    const wake = this.#records.openOf(peer.peer_id);
    if (isOnline(peer)) return wake?.state === "awake" ? view("awake") : null;
    if (wake?.state === "asking") return view("asking");
    if (wake?.state === "starting" || wake?.state === "launched") return view("waking");
    const obstacle = this.#obstacles.of(peer);
    if (obstacle !== undefined) return view("not_resumable", obstacle);
    if (this.#deps.limits.isLimited(peer.peer_id)) return view("asleep", LIMITED);
    const last = rows.latestOf(this.#ctx.db, peer.peer_id);
    // An agent that failed to start may have been online for a moment.
    const isOfThisSleep = last && (last.ended_at ?? last.created_at) >= (peer.status_at ?? 0);
    return isOfThisSleep ? view("asleep", last.reason, last.detail) : view("asleep");
  }

  /**
   * Waits until a message to a peer is stored, and until it is decided how it goes on. From then on
   * no failure refuses the message: its sender would send it again.
   */
  async settled(
    { to_peer_id, delivery_id }: Pick<StoredMessage, "to_peer_id" | "delivery_id">,
  ): Promise<{ wake?: Wake | undefined; reason?: string | null }> {
    const { background, db } = this.#ctx;
    await db.whenDurable();
    try {
      const begun = this.#records.openOf(to_peer_id);
      if (begun?.state === "checking") await this.#runs.advance(begun.wake_id);
      const peer = peerRows.get(db, to_peer_id);
      const wake = peer && this.viewOf(peer) || undefined;
      return { wake, reason: ledger.findMessage(db, delivery_id)?.reason ?? null };
    } catch (error) {
      background.failed("The answer to an ask lacks the sleep of its recipient", error);
      return {};
    }
  }

  /** Called in the transaction that queues an ask to an offline peer. */
  askWaits(message: StoredMessage, { is_elsewhere }: { readonly is_elsewhere: boolean }): void {
    const { to_peer_id: peer_id, delivery_id, correlation_id: cause } = message;
    this.#ctx.db.transact((tx) => {
      const peer = peerRows.get(this.#ctx.db, peer_id);
      if (!peer || !isAgent(peer)) return;
      const mayWake = this.#mayWake(peer, { ...message, is_elsewhere });
      if (!this.#deps.origins.allows(message.chain, "wake")) {
        return ledger.setBlockedReason(tx, peer_id, "asleep");
      }
      const wake = this.#records.openOf(peer_id);
      if (wake) return this.#join(tx, wake, { delivery_id, mayWake });
      const isNew = peer.offline_reason === DAEMON_RESTART &&
        this.#ctx.clock.monotonic() - this.#started_at < SETTLE_MS;
      if (isNew) this.wentOffline(peer_id);
      const isOver = this.#obstacles.of(peer) !== undefined;
      if (isOver) return ledger.setBlockedReason(tx, peer_id, "not_resumable");
      const isPerson = message.voice === "human";
      const waits = isNew || this.#policyOf(peer) === "never";
      if (waits || !isPerson && this.#isQuiet(peer, [message])) {
        return ledger.setBlockedReason(tx, peer_id, "asleep");
      }
      // It keeps the limit's reason, and the peer is looked at until the limit is over.
      if (!isPerson && this.#deps.limits.holdOf(peer_id)) return this.wentOffline(peer_id);
      this.#begin(tx, peer, { cause, allowed_by: mayWake ? "policy" : null });
    });
  }

  /** One more ask waits for a wake in progress. It may answer the question to the human. */
  #join(
    tx: Tx,
    wake: StoredWake,
    { delivery_id, mayWake }: { readonly delivery_id: string; readonly mayWake: boolean },
  ): void {
    const { state, allowed_by } = wake;
    if (state !== "awake") this.#records.recordOn(tx, wake, delivery_id);
    if (!mayWake || allowed_by !== null) return;
    if (state === "asking") this.#allow(wake, "policy");
    else this.#records.setAllowed(tx, wake, "policy");
  }

  /** Wakes a peer for a person. It then stays awake. */
  async wake(peer_id: string): Promise<Wake | null> {
    const { db } = this.#ctx;
    const resting = this.#records.openOf(peer_id);
    if (resting?.state === "resting") await this.#runs.advance(resting.wake_id);
    const peer = mustGetPeer(db, peer_id);
    const { name } = peer;
    if (peer.status === "retired") throw new Problem("peer_retired", { peer_id });
    if (isLive(peer)) return this.viewOf(peer);
    const obstacle = isAgent(peer) ? this.#obstacles.look(peer) : "no_resume";
    if (obstacle !== undefined) {
      const why = sentenceOf(obstacle);
      throw new Problem("not_resumable", { peer: name, peer_id, reason: obstacle, why });
    }
    const wake = db.transact((tx) => {
      const open = this.#records.openOf(peer_id);
      if (!open) return this.#records.create(tx, peer, { allowed_by: "person", cause: null });
      if (open.state === "asking") return this.#allow(open, "person");
      return this.#records.setAllowed(tx, open, "person");
    });
    if (!wake) {
      const holder = "another peer with this session is being woken";
      const session_id = peer.runtime_session_id ?? "";
      throw new Problem("session_running", { session_id, holder, peer_id });
    }
    await db.whenDurable();
    try {
      return await this.#goOn(wake);
    } catch (error) {
      const stored = `The wake of ${name} is stored`;
      throw recoverableProblem(error) ??
        new Problem("stored_then_failed", { id: peer_id, stored }, error);
    }
  }

  /** Goes on with a person's wake. Throws the refusal that has ended it. */
  async #goOn({ wake_id, peer_id }: StoredWake): Promise<Wake | null> {
    const refusal = await this.#runs.advance(wake_id);
    const isOver = this.#records.openOf(peer_id)?.wake_id !== wake_id;
    if (refusal && isOver) throw refusal;
    const view = this.viewOf(mustGetPeer(this.#ctx.db, peer_id));
    if (!refusal || !view) return view;
    const detail = `${refusal.toBody().detail}; mesh tries again for ${RUNNING_MS_MAX / 1000} s`;
    return { ...view, state: "waking", reason: refusal.code, detail };
  }

  /** The end of an ask: it may be the human's decision about a wake. In the ask's transaction. */
  askClosed(ask: Ask): void {
    if (ask.question?.scope !== WAKE_SCOPE) return;
    const wake = rows.ofQuestion(this.#ctx.db, ask.correlation_id);
    if (wake?.state !== "asking") return;
    const decision = this.#questions.decisionOf(ask);
    if (decision === "wake") return void this.#allow(wake, "answer");
    const detail = sentenceOf(decision);
    this.#records.step(wake.wake_id, "refused", { reason: decision, detail });
    if (decision === "never") this.#deps.profiles.setWakePolicy(wake.peer_id, "never");
    else this.#ctx.db.transact((tx) => this.#askAgain(tx, wake));
  }

  /** A prompt without a message's id is a person's, to whom the agent belongs from then on. */
  promptSeen(peer_id: string, ids: readonly string[]): void {
    const wake = ids.length === 0 ? this.#records.openOf(peer_id) : undefined;
    if (wake?.state === "awake") this.#end(wake);
  }

  /** Called after a peer went offline. It is looked at once that has settled. */
  wentOffline(peer_id: string): void {
    this.#ended.set(peer_id, this.#ctx.clock.monotonic() + SETTLE_MS);
  }

  /** Called after the agent of a spawn has registered. */
  registered(spawn_id: string): void {
    const wake = this.#records.open().find((wake) => wake.spawn_id === spawn_id);
    if (wake?.state === "launched") void this.#runs.advance(wake.wake_id);
  }

  /** Called once a second. */
  tick(): void {
    const monotonic = this.#ctx.clock.monotonic();
    for (const [peer_id, due] of this.#ended) {
      if (due > monotonic) continue;
      this.#ctx.db.transact(() => {
        this.#ended.delete(peer_id);
        this.#offer(peer_id);
      });
    }
    const awake: StoredWake[] = [];
    for (const wake of this.#records.open()) {
      if (this.#runs.isRunning(wake.wake_id)) continue;
      const { state } = wake;
      if (state === "awake") awake.push(wake);
      // An earlier run of the daemon may have opened the pane of one that is starting.
      else if (state === "asking" && this.#isOver(wake)) this.#end(wake);
      else if (state !== "asking") void this.#runs.advance(wake.wake_id);
    }
    if (this.#watching || awake.length === 0) return;
    const watching = this.#watch(awake).finally(() => this.#watching = undefined);
    this.#watching = this.#ctx.background.run("Woken agents were not looked at", watching);
  }

  /** Offers to wake an agent that has ended with open asks. */
  #offer(peer_id: string): void {
    const { db } = this.#ctx;
    const peer = peerRows.get(db, peer_id);
    if (!peer || !isAgent(peer) || isOnline(peer) || isRestarting(db, peer_id)) return;
    if (INTENDED.has(peer.offline_reason) || this.#records.openOf(peer_id)) return;
    const policy = this.#policyOf(peer);
    const { open, received } = openAsksOf(this.#ctx, peer_id);
    if (policy === "never" || open.length === 0 || this.#obstacles.look(peer) !== undefined) return;
    if (this.#deps.limits.holdOf(peer_id)) return this.wentOffline(peer_id);
    const last = rows.latestOf(db, peer_id);
    const isAskNew = open.some((ask) => ask.created_at > (last?.ended_at ?? 0));
    const wasOffered = last && !isAskNew && !isAwakened(last) &&
      last.created_at >= (peer.status_at ?? 0);
    if (wasOffered || this.#isQuiet(peer, open)) return;
    const hasEndedAgain = last && last.state !== "asleep" &&
      this.#ages.of(last.wake_id, last.ended_at ?? 0) < PAUSE_MS;
    // A record does not say where a sender without a peer has asked from.
    const mayWake = (ask: Ask) => this.#mayWake(peer, { ...ask, is_elsewhere: !ask.from_peer_id });
    const caller = open.find(mayWake);
    const alone = policy === "always" && received.length === 0 && caller && !hasEndedAgain;
    const cause = received.length === 0 ? (caller ?? open[0])?.correlation_id ?? null : null;
    db.transact((tx) => this.#begin(tx, peer, { cause, allowed_by: alone ? "policy" : null }));
  }

  #begin(tx: Tx, peer: StoredPeer, why: Pick<StoredWake, "cause" | "allowed_by">): void {
    const wake = this.#records.create(tx, peer, why);
    if (wake) this.#ctx.db.afterCommit(() => void this.#runs.advance(wake.wake_id));
  }

  /** After the check of a session: starts it, or asks the human. In the caller's transaction. */
  #decide(wake: StoredWake): void {
    if (this.#isOver(wake)) return this.#end(wake);
    if (wake.allowed_by !== null) return void this.#records.step(wake.wake_id, "allowed");
    const peer = mustGetPeer(this.#ctx.db, wake.peer_id);
    const question_id = this.#questions.open(wake, peer);
    if (question_id) return void this.#records.step(wake.wake_id, "asked", { question_id });
    const reason = "no_human";
    this.#records.step(wake.wake_id, "refused", { reason, detail: sentenceOf(reason) });
  }

  #allow(wake: StoredWake, allowed_by: NonNullable<StoredWake["allowed_by"]>): StoredWake {
    const { db } = this.#ctx;
    return db.transact(() => {
      const allowed = this.#records.step(wake.wake_id, "allowed", { allowed_by });
      this.#questions.withdraw(wake, "it is being woken");
      db.afterCommit(() => void this.#runs.advance(wake.wake_id));
      return allowed;
    });
  }

  /** True if no ask waits for the wake any more, or the peer came back by itself. */
  #isOver({ peer_id, allowed_by }: StoredWake): boolean {
    const peer = peerRows.get(this.#ctx.db, peer_id);
    if (!peer || !isAgent(peer) || isOnline(peer)) return true;
    return allowed_by !== "person" && askRows.openTo(this.#ctx.db, peer_id).length === 0;
  }

  #end(wake: StoredWake): void {
    this.#ctx.db.transact(() => {
      this.#records.step(wake.wake_id, "over");
      this.#questions.withdraw(wake, "nothing waits for it any more");
    });
  }

  /** Names the open asks that a woken agent had received before it ended. None is sent again. */
  #remind({ peer_id }: StoredWake): void {
    const { received } = openAsksOf(this.#ctx, peer_id);
    if (received.length === 0) return;
    const shown = received.slice(0, REMINDED_ASKS_MAX)
      .map(({ correlation_id, from_peer_name }) => `${correlation_id} from @${from_peer_name}`);
    const text = "You ended before you had answered, and were started again. Still open: " +
      `${shown.join(", ")}. Read one with: mesh show ID`;
    this.#deps.notifications.tryNotifyFromDaemon(peer_id, text);
  }

  /** Puts idle agents back to sleep. One that a person uses is not the mesh's any more. */
  async #watch(awake: readonly StoredWake[]): Promise<void> {
    for (const wake of awake) {
      const peer = peerRows.get(this.#ctx.db, wake.peer_id);
      const isPersons = wake.allowed_by === "person" || !peer || !isOnline(peer);
      if (isPersons || await this.#isWatched(peer)) {
        if (this.#isAwake(wake)) this.#end(wake);
      } else if (this.#isAwake(wake)) this.#restIfIdle(wake);
    }
  }

  #isAwake({ wake_id }: StoredWake): boolean {
    return this.#records.open().some((wake) => wake.wake_id === wake_id && wake.state === "awake");
  }

  async #isWatched({ tmux_socket, pane_id }: StoredPeer): Promise<boolean> {
    if (tmux_socket === null || pane_id === null) return false;
    return await this.#deps.terminals.isWatched(tmux_socket, pane_id);
  }

  /** The peer goes offline before its process ends, so that a new message wakes it again. */
  #restIfIdle({ wake_id, peer_id, changed_at }: StoredWake): void {
    const { db } = this.#ctx;
    const peer = mustGetPeer(db, peer_id);
    const { status, turn_state, turn_at, last_delivery_at } = peer;
    const since = Math.max(changed_at, turn_at ?? 0, last_delivery_at ?? 0);
    const isIdle = status === "online" && (turn_state ?? "idle") === "idle" &&
      this.#ages.of(`idle ${wake_id}`, since) >= this.#deps.idle_ms;
    const isNeeded = () =>
      askRows.hasOpen(db, peer_id) || ledger.firstQueued(db, peer_id) !== undefined ||
      jobRows.involves(db, peer_id);
    if (!isIdle || isNeeded()) return;
    db.transact(() => {
      this.#records.step(wake_id, "resting");
      const cause = { reason: "put_to_sleep", source: "daemon", terminal: false };
      this.#deps.peers.offline(peer_id, cause);
      db.afterCommit(() => void this.#runs.advance(wake_id));
    });
  }

  /**
   * Notifies the senders of waiting asks of a failed wake. The person is notified after a wake that
   * the person wanted, and if the cause can only be seen by starting the agent by hand.
   */
  #reportFailure({ peer_id, allowed_by, reason, detail }: StoredWake): void {
    const { directory, notifications } = this.#deps;
    const { name } = mustGetPeer(this.#ctx.db, peer_id);
    const why = `${name} could not be woken: ${detail}`;
    const { open } = openAsksOf(this.#ctx, peer_id);
    const human_id = directory.human()?.peer_id ?? null;
    for (const sender of new Set(open.map(({ from_peer_id }) => from_peer_id))) {
      if (sender === null || sender === human_id) continue;
      const ids = open.filter(({ from_peer_id }) => from_peer_id === sender)
        .map(({ correlation_id }) => correlation_id).slice(0, REMINDED_ASKS_MAX).join(", ");
      notifications.tryNotifyFromDaemon(sender, `${why}. Waiting for it: ${ids}`);
    }
    const hasPerson = allowed_by === "answer" || reason === "not_registered" ||
      open.some(({ from_peer_id }) => from_peer_id !== null && from_peer_id === human_id);
    if (hasPerson && human_id !== null) notifications.tryNotifyFromDaemon(human_id, why);
  }

  #policyOf({ wake_policy }: Pick<StoredPeer, "wake_policy">): WakePolicy {
    return wake_policy ?? this.#deps.policy;
  }

  /**
   * True if a message wakes the peer without a question: the human's own, unless the policy is
   * `never`; with `always`, also that of a proved peer of its circle or of a program of the user,
   * unless its work began outside.
   */
  #mayWake(peer: StoredPeer, message: WakingMessage): boolean {
    const { chain, from_peer_id, from_peer_name, voice, is_elsewhere } = message;
    if (voice === "human") return true;
    const isOpen = this.#policyOf(peer) === "always";
    if (!isOpen || voice === "unverified" || is_elsewhere || isOutside(chain)) return false;
    if (from_peer_id === null) return !isAppName(from_peer_name);
    return peerRows.get(this.#ctx.db, from_peer_id)?.circle === peer.circle;
  }

  /**
   * True after a failure or "not now": for some time only a person wakes the peer. A "not now" to
   * an ask from outside does not answer other asks.
   */
  #isQuiet({ peer_id }: StoredPeer, asks: readonly Pick<StoredMessage, "chain">[]): boolean {
    const last = rows.latestOf(this.#ctx.db, peer_id);
    if (!last || last.ended_at === null) return false;
    const age_ms = this.#ages.of(last.wake_id, last.ended_at);
    if (last.state === "failed") return age_ms < PAUSE_MS;
    const isRefused = last.state === "refused" && last.reason === "not_now";
    if (!isRefused || age_ms >= NOT_NOW_MS) return false;
    return !this.#isOfOutside(last) || asks.every(({ chain }) => isOutside(chain));
  }

  /** True for the wake by an ask from outside. */
  #isOfOutside({ cause }: StoredWake): boolean {
    return cause !== null && isOutside(ledger.findMessage(this.#ctx.db, cause)?.chain);
  }

  /** The human has seen only the ask from outside: asks about one that came meanwhile. */
  #askAgain(tx: Tx, wake: StoredWake): void {
    if (!this.#isOfOutside(wake)) return;
    const next = askRows.openTo(tx, wake.peer_id).find(({ chain }) => !isOutside(chain));
    if (!next) return;
    const peer = mustGetPeer(tx, wake.peer_id);
    this.#begin(tx, peer, { cause: next.correlation_id, allowed_by: null });
  }
}

/** Clients that come and go by themselves. */
const CLIENTS: ReadonlySet<string | null> = new Set(["sdk", "mcp-http", "acp", null]);

/** True for an agent that can sleep: no client, no subagent, and neither closed nor retired. */
function isAgent(peer: StoredPeer): boolean {
  const { role, backend, status, closed, dropped_at, addressable } = peer;
  return (role === "agent" || role === "orchestrator") && !CLIENTS.has(backend) &&
    status !== "retired" && !closed && dropped_at === null && addressable;
}

/** True if a wake has started its agent. */
function isAwakened({ state }: StoredWake): boolean {
  return state === "over" || state === "asleep";
}

/**
 * Briefings: after an agent has lost what it knew, its next hook tells it who it is, what it owes
 * and is owed, its jobs, leases and shared files, and which answers it has had. Once, with proof
 * that the model read it.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Monotonic } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import { DAY_MS, formatDuration, MINUTE_MS } from "kit/core/duration.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { HookReport } from "../agents/adapter.ts";
import * as asks from "../asks/store.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { insertStage } from "../messages/ledger/stages.ts";
import type { Notifications } from "../notifications/notifications.ts";
import { mustGetPeer } from "../peers/directory.ts";
import { type BriefingEntry, type BriefingSection, briefingText } from "./briefing_text.ts";
import * as rows from "./store.ts";

/** Maximum entries of a section that are read; the text shows fewer. */
const ENTRIES_MAX = 5;
/** Age of the oldest answer and finished job that are named. */
const RESULTS_MS_MAX = DAY_MS;
/** Maximum messages that are searched for answers. */
const SCANNED_MAX = 2_000;

/** Minimum time between two briefings by a message, so that reports cannot fill a queue. */
const MESSAGE_PAUSE_MS = MINUTE_MS;
/** Maximum peers whose last briefing by a message is remembered. */
const PEERS_MAX = 1_000;

/**
 * The starts of a session after which its model no longer knows its conversation, or knows that of
 * another session: it is told who it is even if nothing is owed.
 */
const NEEDS_IDENTITY: ReadonlySet<string> = new Set(["compact", "clear", "fork"]);
/** Copilot CLI's MCP server starts before the session's own first event. */
const NO_START = "mcp";

/** A job, subscription or lease of a peer, as a briefing names it. */
export interface PeerTask {
  readonly id: string;
  /** The state, and the checks of a job. */
  readonly facts: readonly string[];
  readonly text: string;
}

/** A file that a peer and another one change. */
export interface SharedFile {
  readonly path: string;
  /** The name of the other peer. */
  readonly other: string;
  /** Time at which both agents were informed. */
  readonly told_at: number;
}

/** Questions to the features above. */
export interface BriefingPorts {
  /** A person's comment on a line, if an ask is one: the place and the text. */
  reviewComment(correlation_id: string): string | undefined;
  /** The unfinished jobs of a peer. */
  jobsOf(peer_id: string): readonly PeerTask[];
  /** The conditions that a peer waits for. */
  subscriptionsOf(peer_id: string): readonly PeerTask[];
  /** The ports and other resources that a peer has leased. */
  leasesOf(peer_id: string): readonly PeerTask[];
  /** The files of which a peer was told since an instant: another changes them, too. */
  sharedFiles(peer_id: string, since: number): readonly SharedFile[];
  /** The jobs of a peer that have ended since an instant, newest first. */
  jobsEnded(peer_id: string, since: number): readonly PeerTask[];
}

interface BriefingsDeps {
  readonly notifications: Pick<Notifications, "tryNotifyFromDaemon">;
  readonly ports: BriefingPorts;
  /** The setting `asks.briefings`. */
  readonly is_on: boolean;
}

interface Contents {
  readonly sections: readonly BriefingSection[];
  readonly ask_ids: readonly string[];
  /** True if the agent knew of something that is owed by the peer or to it. */
  readonly isOwed: boolean;
  /** True if the peer keeps others from what it has leased or changes. */
  readonly isHolding: boolean;
}

export class Briefings {
  readonly #ctx: Context;
  readonly #deps: BriefingsDeps;
  /** The times of the last briefings by a message. */
  readonly #sent_at = new Map<string, Monotonic>();

  constructor(ctx: Context, deps: BriefingsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Notes that the agent of a peer has lost what it knew, if this event reports it. */
  note(peer_id: string, { source, compacts, end_reason }: HookReport): void {
    const { db } = this.#ctx;
    const cause = compacts ? "compact" : source;
    if (end_reason !== undefined || !this.#deps.is_on) {
      db.transact((tx) => rows.remove(tx, peer_id));
    } else if (cause !== undefined && cause !== NO_START) {
      const none = { given_at: null, requested: false, ask_ids: [] };
      db.transact((tx) => rows.replace(tx, { peer_id, cause, ...none }));
    }
  }

  /** The briefing that waits for a hook of this peer; null if there is none. */
  give(peer_id: string, { event, prompt }: HookReport): string | null {
    const { db, clock, events } = this.#ctx;
    const waiting = rows.get(db, peer_id);
    if (!waiting || waiting.given_at !== null) return null;
    const { cause } = waiting;
    const { sections, ask_ids, isOwed, isHolding } = this.#contentsOf(peer_id);
    return db.transact((tx) => {
      if (!isOwed && !isHolding && !NEEDS_IDENTITY.has(cause)) {
        rows.remove(tx, peer_id);
        return null;
      }
      const now = clock.now();
      const requested = prompt !== undefined;
      rows.update(tx, { peer_id, cause, given_at: now, requested, ask_ids: [...ask_ids] });
      this.#addStages(ask_ids, "restated", `after ${cause}, by its hook ${event}`);
      const { name, circle } = mustGetPeer(db, peer_id);
      events.append("briefing", { peer_id, name, cause, asks: ask_ids.length, state: "given" });
      return briefingText({ name, peer_id, circle, cause, sections });
    });
  }

  /**
   * Sends a briefing as a message, to an agent without a hook that reaches its model. Its delivery
   * proves that it was read. It begins a turn, so it is sent only if something is owed.
   */
  send(peer_id: string, cause: string): void {
    const { db, events, clock } = this.#ctx;
    const { notifications, is_on } = this.#deps;
    const now = clock.monotonic();
    if (!is_on || now - (this.#sent_at.get(peer_id) ?? -Infinity) < MESSAGE_PAUSE_MS) return;
    const { sections, ask_ids, isOwed } = this.#contentsOf(peer_id);
    if (!isOwed) return;
    setLatest(this.#sent_at, peer_id, now, PEERS_MAX);
    const { name, circle } = mustGetPeer(db, peer_id);
    const text = briefingText({ name, peer_id, circle, cause, sections });
    db.transact(() => {
      if (!notifications.tryNotifyFromDaemon(peer_id, text, { unverified: true })) return;
      this.#addStages(ask_ids, "restated", `after ${cause}, by a message`);
      events.append("briefing", { peer_id, name, cause, asks: ask_ids.length, state: "given" });
    });
  }

  /**
   * Records that the model has read a briefing, if this event proves it. After a request that
   * failed, the briefing is given again.
   */
  prove(peer_id: string, report: HookReport): void {
    const { db } = this.#ctx;
    const given = rows.get(db, peer_id);
    if (!given || given.given_at === null) return;
    const { prompt, turn_error, interrupted, before_request, after_request } = report;
    if (turn_error !== undefined || interrupted || after_request === false) {
      this.takeBack(peer_id);
    } else if (prompt !== undefined && !given.requested) {
      db.transact((tx) => rows.update(tx, { ...given, requested: true }));
    } else if (after_request || (given.requested && !before_request)) {
      this.#proved(given);
    }
  }

  /** The answer of the hook was not read, so the briefing waits for the next one. */
  takeBack(peer_id: string): void {
    const { db } = this.#ctx;
    const given = rows.get(db, peer_id);
    if (!given) return;
    db.transact((tx) => rows.update(tx, { ...given, given_at: null, requested: false }));
  }

  #proved({ peer_id, cause, ask_ids }: rows.Briefing): void {
    const { db, events } = this.#ctx;
    const { name } = mustGetPeer(db, peer_id);
    db.transact((tx) => {
      rows.remove(tx, peer_id);
      this.#addStages(ask_ids, "restated_seen", `after ${cause}`);
      events.append("briefing", { peer_id, name, cause, asks: ask_ids.length, state: "seen" });
    });
  }

  #addStages(ask_ids: readonly string[], stage: string, detail: string): void {
    const { db, clock } = this.#ctx;
    db.transact((tx) => {
      for (const id of ask_ids) {
        const delivery_id = ledger.findMessage(db, id)?.delivery_id;
        if (delivery_id === undefined) continue; // Retention has deleted it.
        insertStage(tx, { delivery_id, stage, status: "ok", ts: clock.now(), detail });
      }
    });
  }

  #contentsOf(peer_id: string): Contents {
    const { db, clock } = this.#ctx;
    const now = clock.now();
    const owes = asks.owedBy(db, peer_id);
    const checked = asks.openTo(db, peer_id).filter(isBeingChecked(owes));
    const queued = new Set(rows.queuedAsks(db, peer_id));
    const waits = asks.openFrom(db, { peer_id, name: "" });
    const { ports } = this.#deps;
    const jobs = ports.jobsOf(peer_id);
    const subscriptions = ports.subscriptionsOf(peer_id);
    const leases = ports.leasesOf(peer_id);
    const since = now - RESULTS_MS_MAX;
    const files = ports.sharedFiles(peer_id, since);
    const scan = { peer_id, since, scanned_max: SCANNED_MAX, limit: ENTRIES_MAX };
    const answers = rows.answersHad(db, scan).map((answer) => toAnswer(answer, now));
    const ended = ports.jobsEnded(peer_id, since).map(toTask);
    const sections = [
      toSection("You owe an answer", owes, (ask) => this.#toDebt(ask, now, queued)),
      toSection("You wait for an answer", waits, (ask) => toRequest(ask, ask.to_peer_name, now)),
      toSection("Your jobs", jobs, toTask),
      toSection("You wait for", subscriptions, toTask),
      toSection("You have leased", leases, toTask),
      toSection("Files that others change, too", files, (file) => toFile(file, now)),
      toSection(
        "Your answers that are checked now",
        checked,
        (ask) => toRequest(ask, ask.from_peer_name, now),
      ),
      toSection("Results you have had", [...answers, ...ended], (entry) => entry),
    ];
    const ask_ids = [...owes, ...waits].map(({ correlation_id }) => correlation_id);
    const known = owes.filter(({ correlation_id }) => !queued.has(correlation_id));
    const isOwed = [known, waits, jobs, subscriptions].some(({ length }) => length > 0);
    return { sections, ask_ids, isOwed, isHolding: leases.length + files.length > 0 };
  }

  #toDebt(ask: Ask, now: number, queued: ReadonlySet<string>): BriefingEntry {
    const { correlation_id: id, from_peer_name: peer, voice, question } = ask;
    const comment = this.#deps.ports.reviewComment(id);
    const { state, checks } = ledger.findMessage(this.#ctx.db, id)?.proof ?? { checks: [] };
    const facts = [
      formatDuration(now - ask.created_at),
      ...(voice === "human" ? ["(a person)"] : voice === "unverified" ? ["(unverified)"] : []),
      ...(question ? ["(tool answer)"] : []),
      ...(comment === undefined ? [] : ["(review)"]),
      ...(state === "returned" ? ["(your answer came back)"] : []),
      ...(checks.length > 0 ? [`checks ${checks.join(" ")}`] : []),
      ...(queued.has(id) ? ["(still to come)"] : []),
    ];
    return { id, peer, facts, text: comment ?? ask.text };
  }
}

/** A test for the asks that wait only for the check of their answer. */
function isBeingChecked(owes: readonly Ask[]): (ask: Ask) => boolean {
  const owed = new Set(owes.map(({ correlation_id }) => correlation_id));
  return ({ correlation_id }) => !owed.has(correlation_id);
}

function toSection<T>(
  title: string,
  all: readonly T[],
  toEntry: (item: T) => BriefingEntry,
): BriefingSection {
  return { title, count: all.length, entries: all.slice(0, ENTRIES_MAX).map(toEntry) };
}

function toRequest(ask: Ask, peer: string, now: number): BriefingEntry {
  const { correlation_id: id, created_at, text } = ask;
  return { id, peer, facts: [formatDuration(now - created_at)], text };
}

function toAnswer(answer: rows.HadAnswer, now: number): BriefingEntry {
  const { correlation_id: id, name: peer, text, at } = answer;
  return { id, peer, facts: [formatDuration(now - at)], text };
}

function toFile({ path, other, told_at }: SharedFile, now: number): BriefingEntry {
  return { id: null, peer: other, facts: [formatDuration(now - told_at)], text: path };
}

function toTask(task: PeerTask): BriefingEntry {
  return { ...task, peer: null };
}

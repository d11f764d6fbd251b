/** Reports of a peer's turns, from hooks, sockets and observation (contract 3). */

import { setLatest } from "kit/core/bounded_map.ts";
import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Context } from "../../data/context.ts";
import type { AgentPeer, Observation, TurnEnd } from "../agents/adapter.ts";
import { INTERRUPTED } from "protocol/agents/contract.ts";
import type { PeerChanges, RegistryDeps } from "./changes.ts";
import type { AgentTurn, Chat, Turn } from "protocol/peers/contract.ts";
import { isLive, isOnline } from "./directory.ts";
import type { PeerEvent } from "protocol/peers/states.ts";
import type { Peers } from "./peers.ts";
import * as rows from "./store.ts";
import type { TurnEvidence } from "./turn_end.ts";
import { waitAfter } from "./waits.ts";

/** Maximum turns kept per agent, agents with kept turns, and characters of a turn's text. */
const TURNS_MAX = 20;
const AGENTS_MAX = 200;
const TURN_CHARS_MAX = 4000;
const TOOL_CALLS_CHARS_MAX = 4000;

/** Time after a report of a turn in which the agent's own records may still show the old state. */
const RECORDS_FOLLOW_MS = 1000;

/** The reporter of a turn state if only a subagent of the session is at a dialog. */
export const BY_SUBAGENT = "subagent";

export class PeerTurns {
  readonly #ctx: Context;
  readonly #changes: PeerChanges;
  readonly #deps: RegistryDeps & { readonly peers: Peers };
  /** The latest turns of each agent, newest last; the agent with the latest report is last. */
  readonly #recent = new Map<string, AgentTurn[]>();
  /** The end of each agent's last turn that was not completed. */
  readonly #ended: RollbackMap<string, TurnEnd>;
  /** The end of each agent's last completed turn. */
  readonly #completed: RollbackMap<string, TurnEnd>;
  /** The names of those who asked to interrupt agents' turns, until the turns have ended. */
  readonly #interrupters = new Map<string, string>();
  readonly #started_at: number;

  constructor(ctx: Context, deps: RegistryDeps & { readonly peers: Peers }) {
    this.#ctx = ctx;
    this.#changes = deps.changes;
    this.#deps = deps;
    this.#ended = new RollbackMap(ctx.db);
    this.#completed = new RollbackMap(ctx.db);
    this.#started_at = ctx.clock.now();
  }

  /** Applies a hook's report of a turn (contract 3). */
  reportTurn(peer_id: string, turn: ReportedTurn, by = "hook"): void {
    this.#changes.refuseRetired(peer_id);
    const { db, clock } = this.#ctx;
    const { turn_state, status, model, prompt, last_message, tool_calls, end } = turn;
    db.transact(() => {
      // Read before the report changes the turn state: an unseen end may precede this prompt.
      const found = end && this.#isNew(peer_id, end) ? [end] : [];
      if (prompt !== undefined) this.#weigh(peer_id, { ends: found, prompt });
      const busy = status ? status === "busy" : turn_state === "working";
      const event: PeerEvent = busy ? "turn_started" : "turn_ended";
      if (this.#changes.mustGet(peer_id).status === "offline") {
        this.#deps.peers.markSeen(peer_id, by);
      }
      // It is still offline if a restart replaces it.
      const isOnline = this.#changes.mustGet(peer_id).status !== "offline";
      if (isOnline && (status || turn_state || model)) {
        this.#changes.applyEvent(peer_id, status || turn_state ? event : "sighted", (_, peer) => ({
          ...peer,
          turn_state: turn_state ?? peer.turn_state,
          turn_at: turn_state ? clock.now() : peer.turn_at,
          turn_by: turn_state && !isRepeatedDialog(peer, turn_state) ? by : peer.turn_by,
          status_by: by,
          status_at: clock.now(),
          model: model ?? peer.model,
        }));
      }
      if (turn.error !== undefined) found.forEach((end) => this.#deps.waits.endSeen(peer_id, end));
      this.#noteWait(peer_id, turn, by);
      db.afterCommit(() => {
        if (prompt !== undefined) this.#keep(peer_id, "user", prompt, tool_calls);
        if (last_message) this.#keep(peer_id, "assistant", last_message, tool_calls);
      });
      if (prompt !== undefined) this.#deps.effects.promptSeen(peer_id, prompt);
      const reported = endsIn(turn, by, clock.now());
      // The report of a failure says less than the agent's own record of it.
      const isReportedTwice = turn.error !== undefined && found.some(({ how }) => how === "failed");
      const isOfBoth = prompt === undefined && !isReportedTwice;
      this.#weigh(peer_id, { ends: isOfBoth ? [...found, ...reported] : reported });
      this.#deps.directory.touch(peer_id);
      db.afterCommit(() => this.#deps.effects.availabilityChanged(peer_id));
    });
  }

  /** Notes what the reported turn shows of the peer's wait: its end, or a new one. */
  #noteWait(peer_id: string, turn: ReportedTurn, by: string): void {
    const { waits } = this.#deps;
    waits.turnReported(peer_id, turn);
    const wait = turn.waits_for ?? (turn.error === undefined ? undefined : waitAfter(turn.error));
    const facts = { error: turn.error, is_of_account: turn.is_of_agent };
    if (wait) waits.report(peer_id, wait, by, this.#ctx.clock.now(), facts);
  }

  #turnFailed(peer_id: string, error = "unknown"): void {
    this.#ctx.events.append("turn_failed", { peer_id, error });
    this.#deps.effects.turnFailed(peer_id, error);
  }

  /** True if an end in an agent's own records is new. The records show each end repeatedly. */
  #isNew(peer_id: string, { at }: TurnEnd): boolean {
    return at > (this.#ended.get(peer_id)?.at ?? -Infinity);
  }

  /** Passes on evidence of ended turns with the peer's state; publishes ends without a result. */
  #weigh(
    peer_id: string,
    { ends: found, prompt }: Pick<TurnEvidence, "ends" | "prompt">,
  ): void {
    const { clock } = this.#ctx;
    if (found.length === 0 && prompt === undefined) return;
    const by = this.#interrupters.get(peer_id);
    const ends = found.map((end) => end.how === "interrupted" ? { ...end, by } : end);
    for (const end of ends) {
      const { how, at, source, text } = end;
      setLatest(how === "completed" ? this.#completed : this.#ended, peer_id, end, AGENTS_MAX);
      // An end from before the daemon's start was published when it happened.
      if (how === "completed" || at < this.#started_at) continue;
      if (how === "interrupted") this.#ctx.events.append("turn_interrupted", { peer_id, source });
      if (how === "failed") this.#turnFailed(peer_id, text);
    }
    const idle = idleSince(this.#changes.mustGet(peer_id));
    this.#deps.effects.turnEvidence(peer_id, { now: clock.now(), ends, idle, prompt });
  }

  /** Reports of an interrupted turn name this person or peer, until the name is undefined. */
  setInterrupter(peer_id: string, name: string | undefined): void {
    if (name === undefined) this.#interrupters.delete(peer_id);
    else this.#interrupters.set(peer_id, name);
  }

  /** The newest reported end of a peer's turns since a time; one without a result comes first. */
  endSince(peer_id: string, since: number): TurnEnd | undefined {
    return [this.#ended.get(peer_id), this.#completed.get(peer_id)]
      .find((end) => end !== undefined && end.at >= since);
  }

  /**
   * A sign of life from a subagent. The session's terminal shows the subagent's dialog, so the
   * dialog is the session's. If the session was idle, the dialog ends with the subagent's next
   * report.
   */
  reportSubagent(
    peer_id: string,
    { at_dialog, waits_for }: { readonly at_dialog: boolean } & Pick<Turn, "waits_for">,
  ): void {
    this.#ctx.db.transact(() => {
      const { turn_state, turn_by } = this.#changes.mustGet(peer_id);
      if (at_dialog) {
        const by = turn_state === "idle" ? BY_SUBAGENT : undefined;
        this.reportTurn(peer_id, { turn_state: "awaiting_input", waits_for }, by);
      } else {
        const isOver = turn_state === "awaiting_input" && turn_by === BY_SUBAGENT;
        this.reportTurn(peer_id, isOver ? { turn_state: "idle" } : {});
      }
    });
  }

  /** The turn that was reported as ended continues: a hook answered with further work. */
  holdTurn(peer_id: string): void {
    this.#ctx.db.transact(() => {
      this.reportTurn(peer_id, { turn_state: "working" });
      this.#deps.effects.turnHeld(peer_id);
    });
  }

  /** Publishes a chat message without its text. Ids in a user's text prove messages seen. */
  reportChat(peer_id: string, { role, text, turn_id, tool_calls = [] }: Chat): void {
    const { db, events } = this.#ctx;
    db.transact(() => {
      const message = role === "user" ? { prompt: text } : { last_message: text };
      this.reportTurn(peer_id, { ...message, tool_calls });
      events.append("chat_turn", { peer_id, role, turn_id: turn_id ?? null });
    });
  }

  /** An agent's latest prompts and final messages, oldest first; in memory, for a few agents. */
  recentTurns(peer_id: string): AgentTurn[] {
    return [...this.#recent.get(peer_id) ?? []];
  }

  #keep(
    peer_id: string,
    role: AgentTurn["role"],
    text: string,
    tool_calls: readonly unknown[] = [],
  ): void {
    const isLong = text.length > TURN_CHARS_MAX;
    const hasLongCalls = JSON.stringify(tool_calls).length > TOOL_CALLS_CHARS_MAX;
    const turn = {
      role,
      text: isLong ? copyOf(text.slice(0, TURN_CHARS_MAX)) : text,
      truncated: isLong || hasLongCalls,
      tool_calls: hasLongCalls ? [] : [...tool_calls],
      at: this.#ctx.clock.now(),
    };
    const turns = [...this.#recent.get(peer_id) ?? [], turn].slice(-TURNS_MAX);
    setLatest(this.#recent, peer_id, turns, AGENTS_MAX);
  }

  /** Applies an observation made without hooks, unless the peer's record has changed since. */
  applyObservation(seen: AgentPeer, observation: Observation): void {
    const { waits } = this.#deps;
    const { peer_id } = seen;
    this.#applyTurn(seen, observation);
    const { alive, turn_state, waits_for, source, end, end_at_limit } = observation;
    if (!alive) return;
    for (const seenEnd of [end, end_at_limit]) if (seenEnd) waits.endSeen(peer_id, seenEnd);
    if (waits_for && turn_state === "awaiting_input") {
      const facts = { is_of_account: true };
      waits.report(peer_id, waits_for, source, this.#ctx.clock.now(), facts);
    }
  }

  /**
   * True if a report is newer than what is observed may be: an agent's hooks run before its own
   * records follow. The next observation shows a lasting difference.
   */
  #hasJustReported({ turn_at, turn_by }: rows.StoredPeer, source: string): boolean {
    const age_ms = this.#ctx.clock.now() - (turn_at ?? 0);
    return turn_by !== source && age_ms >= 0 && age_ms < RECORDS_FOLLOW_MS;
  }

  #applyTurn(seen: AgentPeer, observation: Observation): void {
    const { db, clock } = this.#ctx;
    const { peer_id } = seen;
    const { alive, turn_state, model, source, at, end } = observation;
    const found = end && this.#isNew(peer_id, end) ? [end] : [];
    const isNews = turn_state !== null && turn_state !== seen.turn_state || found.length > 0;
    if (alive && model === undefined && !isNews) return;
    db.transact(() => {
      const now = rows.get(db, peer_id);
      if (!now || !isLive(now) || now.machine !== this.#deps.machine) return;
      if (now.agent_started !== seen.agent_started || now.pane_id !== seen.pane_id) return;
      if (!alive) {
        if (this.#deps.reachability.isConnected(peer_id)) return;
        const cause = { reason: "agent_exited", source, terminal: false };
        return this.#deps.peers.offline(peer_id, cause);
      }
      if (model !== undefined && model !== now.model) {
        this.#changes.applyEvent(peer_id, "sighted", (_, peer) => ({ ...peer, model }));
      }
      this.#weigh(peer_id, { ends: found });
      if (turn_state === null || turn_state === now.turn_state) return;
      if (found.length === 0 && this.#hasJustReported(now, source)) return;
      const event = turn_state === "working" ? "turn_started" : "turn_ended";
      const turn = { turn_state, turn_at: at ?? clock.now(), turn_by: source };
      this.#deps.waits.turnReported(peer_id, { turn_state });
      this.#changes.applyEvent(peer_id, event, (_, peer) => ({ ...peer, ...turn }));
      db.afterCommit(() => this.#deps.effects.availabilityChanged(peer_id));
    });
  }
}

/** A turn as it is reported, with an end that the agent's own records show. */
type ReportedTurn = Turn & Pick<Chat, "tool_calls"> & {
  readonly end?: TurnEnd | undefined;
  readonly interrupted?: boolean | undefined;
  /** True if the agent's own process is proved to report it. */
  readonly is_of_agent?: boolean;
};

/** The ends of turns that a report shows. */
function endsIn(
  { last_message: text, error, interrupted }: ReportedTurn,
  source: string,
  at: number,
): TurnEnd[] {
  if (interrupted || error === INTERRUPTED) return [{ how: "interrupted", at, source }];
  // The agent's text before an error is no result of its turn.
  if (error !== undefined) return [{ how: "failed", at, source, text: error }];
  return text === undefined ? [] : [{ how: "completed", at, source, text }];
}

/** Start of a peer's idle time, and its source; null if it is not idle, or if that is unknown. */
export function idleSince(
  peer: Pick<rows.StoredPeer, "status" | "turn_state" | "turn_at" | "turn_by">,
): TurnEvidence["idle"] {
  const { turn_state, turn_at, turn_by } = peer;
  if (!isOnline(peer) || turn_state !== "idle" || turn_at === null) return null;
  return { at: turn_at, source: turn_by ?? "unknown" };
}

/** True if this report, such as an agent's notification, repeats that of a subagent's dialog. */
function isRepeatedDialog(
  peer: Pick<rows.StoredPeer, "turn_state" | "turn_by">,
  turn_state: string,
): boolean {
  const isOpen = peer.turn_state === "awaiting_input" && peer.turn_by === BY_SUBAGENT;
  return isOpen && turn_state === "awaiting_input";
}

/** The same text without a reference to the longer text that it was cut from. */
function copyOf(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text));
}

/** Hook events: the reports of agents, and the answers of their hooks. */

import { Name } from "kit/core/schema.ts";
import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Approvals } from "../asks/questions/approvals.ts";
import { toOutgoing, withNote } from "../messages/framing.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Handover } from "../messages/handover.ts";
import { type Directory, takesHookMessages } from "../peers/directory.ts";
import type { IdentityLookup, NamedSession } from "../peers/identity/identity_lookup.ts";
import type { Peers } from "../peers/peers.ts";
import { loadTransliteration } from "../peers/identity/transliteration.ts";
import type { Registration } from "protocol/peers/record.ts";
import type { IdentityFacts } from "../peers/store.ts";
import type { Subagents } from "../peers/subagents.ts";
import type { PeerTurns } from "../peers/turns.ts";
import { Backend } from "protocol/agents/contract.ts";
import type {
  HookFacts,
  HookReader,
  HookReport,
  Hooks,
  SubagentReport,
  ToolContext,
} from "../agents/adapter.ts";
import { truncateFramed } from "../agents/pane_text.ts";
import type { Briefings } from "./briefings.ts";
import type { BudgetNotes } from "../budgets/notes.ts";
import type { StopReminders } from "./stop_reminders.ts";
import type { UnprovedMessages } from "./unproved_messages.ts";

/** Maximum messages in one answer, and maximum bytes of all of them. */
const LIMITS = { messages: 5, bytes: 8_192 };

/** Effects of a hook's report on higher features. */
export interface HookEffects {
  /**
   * Joins a session without a pane with the peer in whose pane its prompt was typed. Returns the
   * peer that has the session.
   */
  peerOfPrompt(peer_id: string, prompt: string): string;
  /** The agent is about to send its model a request. */
  requestBegins(peer_id: string): void;
  /** The agent will not go on by itself after the reset of a limit. */
  staysAtLimit(peer_id: string): void;
  /** A tool call of a peer's turn has run. */
  callRan(peer_id: string, call: NonNullable<HookReport["ran"]>): void;
}

interface HookEventsDeps {
  readonly hooks: Hooks;
  readonly peers: Peers;
  readonly turns: PeerTurns;
  readonly directory: Directory;
  readonly identityLookup: IdentityLookup;
  readonly subagents: Subagents;
  readonly effects: HookEffects;
  readonly handover: Handover;
  /** Tools that run only with the human's permission. */
  readonly approvals: Approvals;
  readonly briefings: Briefings;
  readonly reminders: StopReminders;
  readonly unprovedMessages: UnprovedMessages;
  readonly budgetNotes: BudgetNotes;
}

/** The hook's answer, computed after the commit; `signal` aborts when the caller hangs up. */
type AnswerHook = (
  signal: AbortSignal,
) => Record<string, unknown> | Promise<Record<string, unknown>>;

interface HookAnswer {
  readonly answer: AnswerHook;
  /** Called if the caller hung up before the answer was sent. */
  onHangUp(): void;
  /** True if the answer hands over nothing: the agent gets what it gets without a daemon. */
  readonly isEmpty: boolean;
  /** True if the answer waits for a person's decision. */
  readonly waits: boolean;
}

export class HookEvents {
  readonly #ctx: Context;
  readonly #deps: HookEventsDeps;

  constructor(ctx: Context, deps: HookEventsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Records one hook event of an agent, and answers it in the agent's own format. */
  async handle(agent: string, payload: unknown, facts: HookFacts): Promise<HookAnswer> {
    const backend = Backend.safeParse(agent).data;
    const reader = backend && this.#deps.hooks[backend];
    if (!reader) throw new Problem("unknown_agent", { agent });
    const parsed = reader.read(payload);
    const last_message = await reader.lastMessage?.(parsed, payload);
    const report = last_message === undefined ? parsed : { ...parsed, last_message };
    await loadTransliteration(report.cwd ?? "");
    const isOfTurn = report.prompt !== undefined || report.last_message !== undefined ||
      report.turn_error !== undefined;
    const end = isOfTurn && !report.subagent ? reader.lastEnd?.(report.session_id) : undefined;
    const { briefings, unprovedMessages } = this.#deps;
    let briefed: string | undefined;
    let handsOver = false;
    const named = { session: report.session_id, backend };
    const answer = this.#ctx.db.transact(() => {
      const { identityLookup } = this.#deps;
      const located = identityLookup.current(reader.locate?.(facts) ?? facts);
      const known = identityLookup.peerOfHook(named, located);
      if (!known && !this.#mayRegister(named, report, located)) {
        return () => reader.answer(report, null, payload);
      }
      if (report.subagent) {
        const peer_id = this.#inSubagent(report, { known, subagent: report.subagent });
        this.#deps.approvals.noteEvent(report, located.agent_pid);
        return this.#permission(reader, peer_id, { report, facts: located }) ??
          (() => reader.answer(report, null, payload));
      }
      const found = this.#peerOf(known, { backend, report, facts: located });
      const peer_id = report.prompt === undefined
        ? found
        : this.#deps.effects.peerOfPrompt(found, report.prompt);
      this.#deps.approvals.noteEvent(report, located.agent_pid);
      briefings.note(peer_id, report);
      if (report.end_reason !== undefined) return this.#end(peer_id, report, facts);
      unprovedMessages.prove(report);
      briefings.prove(peer_id, report);
      if (report.ran) this.#deps.effects.callRan(peer_id, report.ran);
      if (report.prompt !== undefined) this.#deps.reminders.release(report.session_id);
      const is_of_agent = located.agent_pid !== undefined || located.by_server === true;
      this.#deps.turns.reportTurn(peer_id, { ...turnOf(report), end, is_of_agent });
      this.#noteSigns(peer_id, report);
      const briefing = this.#briefing(peer_id, reader, report);
      if (briefing !== null) briefed = peer_id;
      const texts = [briefing, this.#textFor(peer_id, backend, { reader, report })];
      const context = texts.filter((text) => text !== null).join("\n") || null;
      handsOver = context !== null;
      return this.#permission(reader, peer_id, { report, facts: located }) ??
        (() => reader.answer(report, context, payload));
    });
    const onHangUp = () => {
      if (handsOver) unprovedMessages.forget(report.session_id);
      if (briefed !== undefined) briefings.takeBack(briefed);
    };
    const waits = this.#isGated(report);
    return { answer, onHangUp, isEmpty: !handsOver && !waits, waits };
  }

  /** Records the end of a session. */
  #end(peer_id: string, { session_id, end_reason }: HookReport, facts: HookFacts): AnswerHook {
    const { peers, reminders, unprovedMessages } = this.#deps;
    const { pane_id, agent_pid } = facts;
    peers.offline(peer_id, {
      reason: "session_end",
      source: "hook",
      detail: end_reason,
      terminal: false,
      pane_id,
      agent_pid,
    });
    this.#ctx.db.afterCommit(() => unprovedMessages.forget(session_id));
    reminders.release(session_id);
    return () => ({});
  }

  /** The briefing in the answer to this event, if the model reads it with its next request. */
  #briefing(peer_id: string, reader: HookReader, report: HookReport): string | null {
    const isRead = report.event === reader.context_event || report.event === reader.start_event;
    return isRead ? this.#deps.briefings.give(peer_id, report) : null;
  }

  /** Notes what an event shows besides the turn. */
  #noteSigns(peer_id: string, report: HookReport): void {
    const { effects, subagents } = this.#deps;
    if (report.before_request) effects.requestBegins(peer_id);
    if (report.stays_at_limit) effects.staysAtLimit(peer_id);
    if (report.no_subagents) subagents.noneRunning(peer_id);
  }

  /** The text for the agent in the answer to this event; null for none. */
  #textFor(
    peer_id: string,
    backend: Backend,
    { reader, report }: { reader: HookReader; report: HookReport },
  ): string | null {
    const { event, session_id } = report;
    if (reader.context_event === event) return this.#context(peer_id, session_id);
    const tool = reader.tool_context;
    if (tool?.event !== event) return this.#reminder(peer_id, report);
    if (!takesHookMessages(this.#deps.directory, peer_id)) return null;
    return this.#urgent(peer_id, report, { agent: backend, tool });
  }

  /** The urgent messages that wait, for an agent between two tool calls. */
  #urgent(
    peer_id: string,
    report: HookReport,
    hook: { agent: Backend; tool: ToolContext },
  ): string | null {
    const messages = this.#deps.handover.handToHook(peer_id, { ...LIMITS, only_urgent: true });
    const note = this.#deps.budgetNotes.noteFor(peer_id);
    if (messages.length === 0) return note;
    this.#deps.unprovedMessages.rememberToolCall(report, messages, hook);
    return withNote(messages.map(toText).join("\n"), note);
  }

  /**
   * Records an event that happened in a subagent of a registered session. The event is a sign of
   * life of the session, but no turn: the session's model has not seen it. Returns the session's
   * peer.
   */
  #inSubagent(
    { session_id, turn_state, waits_for }: HookReport,
    { known, subagent }: { known: IdentityFacts | undefined; subagent: SubagentReport },
  ): string {
    const { subagents, turns } = this.#deps;
    if (!known) throw new Problem("unknown_peer", { peer: session_id });
    const { peer_id } = known;
    turns.reportSubagent(peer_id, { at_dialog: turn_state === "awaiting_input", waits_for });
    subagents.report(peer_id, subagent);
    return peer_id;
  }

  /** Returns a reminder that keeps the turn going, if this event would end it. */
  #reminder(peer_id: string, { session_id, may_hold_turn }: HookReport): string | null {
    const { reminders, turns } = this.#deps;
    const reminder = may_hold_turn ? reminders.atStop(session_id, peer_id) : null;
    if (reminder !== null) turns.holdTurn(peer_id);
    return reminder;
  }

  #isGated({ permission }: HookReport): boolean {
    return permission !== undefined && this.#deps.approvals.isGated(permission.tool);
  }

  /** The answer for a gated tool; undefined if no decision is needed. */
  #permission(
    reader: HookReader,
    peer_id: string,
    { report: { permission, session_id, subagent, cwd }, facts: { agent_pid } }: {
      report: HookReport;
      facts: HookFacts;
    },
  ): AnswerHook | undefined {
    const { approvals } = this.#deps;
    if (!permission || !approvals.isGated(permission.tool)) return undefined;
    return async (signal) => {
      const decision = await approvals.requestDecision(
        { peer_id, session_id, agent_pid, agent_id: subagent?.agent_id, cwd, ...permission },
        signal,
      );
      return decision && reader.formatDecision ? reader.formatDecision(decision) : {};
    };
  }

  /** True if the event of an unknown session may register it. */
  #mayRegister(named: NamedSession, report: HookReport, facts: HookFacts): boolean {
    return isOfKnownSession(report)
      ? this.#isContinuedTurn(named, report, facts)
      : this.#deps.identityLookup.mayRegister(named, facts);
  }

  /** True if the event belongs to a turn in the session of a peer whose process has ended. */
  #isContinuedTurn(named: NamedSession, report: HookReport, facts: HookFacts): boolean {
    return report.is_within_turn === true && this.#deps.identityLookup.isContinued(named, facts);
  }

  /** The peer of the event. Registers its session if it is unknown, or if the event begins it. */
  #peerOf(
    known: IdentityFacts | undefined,
    { backend, report, facts }: { backend: Backend; report: HookReport; facts: HookFacts },
  ): string {
    const { pane_id, pane_pid, tmux_socket, tmux_session, agent_pid, circle } = facts;
    // A hook without a process is no evidence against the record. A shared server also reports
    // sessions whose terminal was closed.
    const hasEnded = known && this.#deps.identityLookup.hasEnded(known);
    const isReplaced = hasEnded && agent_pid !== undefined;
    const begins = report.source !== undefined && !(hasEnded && facts.is_late);
    if (known && !isReplaced && !begins) return known.peer_id;
    const registration: Registration = {
      ...(known && { peer_id: known.peer_id }),
      path: report.cwd ?? "/",
      backend,
      role: "agent",
      runtime_session_id: report.session_id,
      ...(report.model && { model: report.model }),
      ...(pane_id && { pane_id }),
      ...(tmux_socket && { tmux_socket }),
      ...(tmux_session && { tmux_session }),
      ...(agent_pid && { agent_pid }),
      provenance: { source: "hook", initiator: "user" },
    };
    // The route has dropped an agent process that is not proved to be the hook's, so this process
    // is proved.
    const evidence = {
      by_hook: true,
      provesSession: true,
      proven_peer_id: known?.peer_id,
      pane_circle: circle,
      pane_pid,
      isProcess: (pid: number) => pid === agent_pid,
    };
    return this.#deps.peers.register(registration, evidence).peer_id;
  }

  /**
   * The context of a prompt: waiting messages, cut if they are too long, and a note for each
   * message whose arrival is unproved.
   */
  #context(peer_id: string, session_id: string): string | null {
    const contextMessages = takesHookMessages(this.#deps.directory, peer_id)
      ? this.#deps.handover.handToHook(peer_id, LIMITS)
      : [];
    const unproved = this.#deps.handover.nameUnproved(peer_id, LIMITS.messages);
    const lines = contextMessages.map(toText);
    for (const { delivery_id, correlation_id, from_peer_name } of unproved) {
      const id = correlation_id ?? delivery_id;
      // The daemon is the author of this note, so names that are not plain are omitted.
      const from = Name.safeParse(from_peer_name).success ? ` from @${from_peer_name}` : "";
      lines.push(`[mesh] A message${from} may not have reached you: mesh show ${id}`);
    }
    this.#deps.unprovedMessages.rememberPrompt(session_id, contextMessages);
    const note = this.#deps.budgetNotes.noteFor(peer_id);
    if (note !== null) lines.push(note);
    return lines.length > 0 ? lines.join("\n") : null;
  }
}

/** The turn that a hook reports. */
function turnOf(report: HookReport) {
  const { turn_state, model, prompt, last_message, interrupted, waits_for } = report;
  return {
    turn_state,
    model,
    prompt,
    last_message,
    interrupted,
    waits_for,
    error: report.turn_error,
  };
}

/** A message as an agent reads it, cut if it is too long. */
function toText(message: StoredMessage): string {
  const { framed, proof_id } = toOutgoing(message);
  return truncateFramed(framed, proof_id, { bytes_max: LIMITS.bytes, newlines: "kept" });
}

/**
 * True if an event cannot register its session: it is the end of the session, comes from a
 * subagent, or belongs to a turn whose begin was not reported.
 */
function isOfKnownSession({ end_reason, subagent, is_within_turn }: HookReport): boolean {
  return end_reason !== undefined || subagent !== undefined || is_within_turn === true;
}

/** The questions desk: typed answers, and questions whose asker waits on the line. */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Attachments } from "../../messages/attachments/contract.ts";
import type { Address, AuthorKind } from "../../peers/contract.ts";
import { alreadyClosed, replyOf, toAnswer, TOOL_PERMISSION } from "../answers.ts";
import type { AskContext, Asks } from "../asks.ts";
import { type Ask } from "../contract.ts";
import { Question } from "../../messages/question.ts";
import type { HumanInbox, MessageSender } from "../ask_closer.ts";

import type { AnswerAsk, AskBlocking, Query, QueryResult, Verdict } from "./contract.ts";
import { BlockingWaits } from "./blocking_waits.ts";
import { publishQuestion } from "./question_event.ts";

interface Sender {
  readonly peer_id: string | null;
  readonly name: string;
  readonly circle: string | null;
  readonly role: Address["role"] | null;
  readonly mesh_session_id: string | null;
}

interface Directory {
  sender(argument: string, scope?: { circle?: string | undefined }): Sender;
  target(argument: string, scope: { circle?: string | undefined; caller: Sender }): Address;
  human(): Address | undefined;
  /** Whose word a message counts as (contract 2). */
  authorKindOf(from: Sender, proven_human?: boolean): AuthorKind;
}

export interface QuestionsDeps {
  readonly asks: Asks;
  readonly directory: Directory;
  readonly delivery: MessageSender;
  readonly human: HumanInbox;
  /** The files of these ids; refuses with `unknown_attachment`. */
  attach(ids: readonly string[]): Attachments;
  /** A peer's address by its exact id, however it fares. */
  address(peer_id: string): Address | undefined;
  /** The longest that a blocking question may be held. */
  readonly wait_ms_max: number;
  readonly shutdownSignal: AbortSignal;
}

/** How a blocking request came in. */
export interface BlockingRequest extends AskContext {
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
}

/** The human while there is none: the inbox keeps what is asked of it, for whoever comes. */
const PLACEHOLDER_HUMAN: Address = {
  peer_id: "human",
  name: "human",
  circle: "default",
  backend: null,
  role: "human",
  status: "offline",
  addressable: 1,
  parent_runtime_id: null,
  mesh_session_id: null,
  closed: 0,
  dropped_at: null,
};

export class Questions {
  readonly #ctx: Context;
  readonly #deps: QuestionsDeps;
  readonly #blockingWaits: BlockingWaits;

  constructor(ctx: Context, deps: QuestionsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    const { asks, shutdownSignal } = deps;
    this.#blockingWaits = new BlockingWaits(ctx, {
      closer: asks.closer,
      mustGet: (correlation_id) => asks.mustGet(correlation_id),
      shutdownSignal,
    });
  }

  /** Records a typed answer: the first valid one, from whatever surface, closes the question. */
  answer(
    { correlation_id, from_peer, attachments: ids = [], ...said }: AnswerAsk,
    requestContext: AskContext,
  ) {
    const { db } = this.#ctx;
    const { asks, attach } = this.#deps;
    return db.transact(() => {
      const ask = asks.mustGet(correlation_id);
      const { responder, elsewhere } = this.#responder(ask, from_peer);
      if (!ask.question) throw new Problem("not_a_question", { correlation_id });
      if (ask.state === "closed") throw alreadyClosed(ask);
      const answer = toAnswer(ask.question, said);
      const reply = replyOf(answer);
      const close_reason = asks.closer.close(ask, "answered", {
        responder,
        elsewhere,
        reply,
        answer,
        attachments: attach(ids),
        ...requestContext,
      });
      return { close_reason, outcome: answer.outcome };
    });
  }

  /**
   * Whether a tool may run is a person's to say: what an agent has started is not heard. That is
   * looked up for such a question alone, as it costs more than all the rest.
   */
  refuseAgents(correlation_id: string, isAgent: () => boolean): void {
    const ask = this.#deps.asks.get(correlation_id);
    if (ask?.state !== "open" || ask.question?.scope !== TOOL_PERMISSION) return;
    if (isAgent()) throw new Problem("human_not_proven", {});
  }

  /**
   * Asks the human, and waits on the line. A permission that is not given in time is denied; what
   * the same asker asked under the same id before is waited for again.
   */
  async askBlocking(body: AskBlocking, request: BlockingRequest): Promise<Verdict> {
    const { db } = this.#ctx;
    const ask = db.transact(() => this.#findExisting(body) ?? this.#open(body, request));
    if (ask.state === "closed") return toVerdict(ask, this.#explainNoAnswer(ask));
    const wait_ms = (ask.question?.timeout_seconds ?? 0) * 1000;
    const until = ask.created_at + wait_ms;
    const closedAsk = await this.#blockingWaits.wait(ask.correlation_id, until, request.signal);
    return toVerdict(closedAsk, this.#explainNoAnswer(closedAsk));
  }

  /**
   * Asks a peer for a text, and waits on the line. A peer that is offline is not asked at all; one
   * that has gone in the meantime is said to be offline once the time is up, as it may come back.
   */
  async query(query: Query, request: BlockingRequest): Promise<QueryResult> {
    const { db, clock } = this.#ctx;
    const { from_peer, to_peer, text, timeout_seconds, circle } = query;
    const until = clock.now() + timeout_seconds * 1000;
    const opened = db.transact(() => {
      this.#mustBeRunning();
      if (to_peer === null) throw new Problem("unknown_peer", { peer: "null" });
      const caller = this.#deps.directory.sender(from_peer, { circle });
      const to = this.#deps.directory.target(to_peer, { circle, caller });
      if (isOffline(to)) return { to, id: undefined };
      const { ticket } = this.#deps.asks.open({
        from_peer,
        to_peer: to.peer_id,
        text,
        circle,
        question: Question.parse({ kind: "text", prompt: text, scope: "query", timeout_seconds }),
        reply_delivery: "pull",
      }, request);
      const id = ticket?.message.correlation_id ?? "";
      this.#blockingWaits.add(id);
      return { to, id };
    });
    if (opened.id === undefined) return offlineResult(opened.to);
    const closedAsk = await this.#blockingWaits.wait(opened.id, until, request.signal);
    const to = this.#deps.address(closedAsk.to_peer_id);
    if (to && isOffline(to) && closedAsk.outcome === "timed_out") return offlineResult(to);
    return toResult(closedAsk, this.#explainNoAnswer(closedAsk));
  }

  /** After a start nobody holds a line any more. */
  start(): void {
    this.#blockingWaits.closeAll();
  }

  /** The daemon goes: whoever is on the line has to be told while there is a line. */
  shutDown(): void {
    this.#blockingWaits.closeAll();
  }

  /** The question that this is a second request for; undefined when it is the first. */
  #findExisting(
    { correlation_id, from_peer, prompt, scope, options }: AskBlocking,
  ): Ask | undefined {
    if (correlation_id === undefined) return undefined;
    const ask = this.#deps.asks.get(correlation_id);
    if (!ask) return undefined;
    this.#deps.asks.mustBeAsker(ask, from_peer);
    const { question, text } = ask;
    const isSame = question?.blocking && text === prompt && question.scope === scope &&
      JSON.stringify(question.options) === JSON.stringify(options);
    // What was allowed of one question must not pass for another's.
    if (!isSame) throw new Problem("correlation_taken", { correlation_id });
    return ask;
  }

  #open(body: AskBlocking, { traceparent, proven_human }: BlockingRequest): Ask {
    const { directory, delivery, human, asks } = this.#deps;
    this.#mustBeRunning();
    const from = directory.sender(body.from_peer);
    const to = directory.human() ?? PLACEHOLDER_HUMAN;
    if (from.peer_id === to.peer_id) throw new Problem("to_self", { peer_id: to.peer_id });
    const { correlation_id = null, origin = null, prompt } = body;
    const question = this.#toQuestion(body);
    const { message } = delivery.send({
      kind: "ask",
      from,
      to,
      text: prompt,
      correlation_id,
      question,
      traceparent,
      voice: directory.authorKindOf(from, proven_human),
      circle: from.circle ?? to.circle,
      opening: { reply_delivery: "pull", origin, parent_id: null, routing: null },
    });
    const id = message.correlation_id ?? "";
    this.#ctx.events.append("ask", {
      correlation_id: id,
      from_peer_id: from.peer_id,
      from: from.name,
      to_peer_id: to.peer_id,
      to: to.name,
      reply_delivery: "pull",
    });
    publishQuestion(this.#ctx.events, message, question);
    human.add(message);
    this.#blockingWaits.add(id);
    return asks.mustGet(id);
  }

  /** Without options to choose from, a text is what answers it. */
  #toQuestion({ prompt, options, scope, timeout_seconds, metadata }: AskBlocking): Question {
    return {
      kind: options.length > 0 ? "choice" : "text",
      prompt,
      options,
      scope,
      timeout_seconds: Math.min(timeout_seconds, this.#deps.wait_ms_max / 1000),
      blocking: true,
      metadata: metadata ?? null,
    };
  }

  /** Whoever names itself has to be the recipient, or the human. */
  #responder(ask: Ask, from_peer: string | undefined) {
    if (from_peer === undefined) return { responder: ask.to_peer_name, elsewhere: false };
    const { peer_id, name, role } = this.#deps.directory.sender(from_peer);
    const elsewhere = peer_id !== ask.to_peer_id;
    if (!elsewhere || role === "human") return { responder: name, elsewhere };
    throw new Problem("not_the_recipient", { correlation_id: ask.correlation_id });
  }

  /** Why a question that was held has no answer. */
  #explainNoAnswer({ close_reason }: Ask): string | null {
    if (close_reason === "cancelled") return "The question was taken back";
    if (close_reason !== "evicted") return null;
    const { aborted } = this.#deps.shutdownSignal;
    return aborted ? "The daemon stopped before an answer came" : "Nobody answered in time";
  }

  #mustBeRunning(): void {
    if (this.#deps.shutdownSignal.aborted) throw new Problem("shutting_down", {});
  }
}

function toVerdict(
  { correlation_id, outcome, answer, reply }: Ask,
  explanation: string | null,
): Verdict {
  const answerText = answer
    ? answer.message ?? (answer.option_id === null ? answer.text : null)
    : reply;
  const message = answerText ?? explanation;
  return {
    correlation_id,
    outcome: outcome ?? "failed",
    option_id: answer?.option_id ?? null,
    message,
  };
}

/** The human is never offline: its inbox takes what comes. */
function isOffline({ status, role }: Address): boolean {
  return role !== "human" && (status === "offline" || status === "retired");
}

function offlineResult({ name }: Address): QueryResult {
  return { text: null, error: `${name} is offline`, status: "offline" };
}

function toResult(ask: Ask, explanation: string | null): QueryResult {
  const { outcome, reply, answer, close_reason, to_peer_name } = ask;
  const withoutText = (status: QueryResult["status"], error: string | null): QueryResult => {
    return { text: null, error, status };
  };
  if (close_reason === "peer_retired") return withoutText("offline", `${to_peer_name} has gone`);
  if (outcome === "answered") {
    return { text: answer?.text ?? reply, error: null, status: "answered" };
  }
  if (outcome === "acknowledged") return withoutText("acked", null);
  if (outcome === "timed_out") return withoutText("timed_out", explanation);
  if (close_reason === "declined" || close_reason === "answered") {
    return withoutText("declined", reply);
  }
  return withoutText("closed", `The ask was closed: ${close_reason}`);
}

/** Structured questions: typed answers, and questions whose asker waits on the connection. */

import type { Context } from "../../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Address, Wake } from "protocol/peers/record.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";
import type { PeerWaits } from "../../peers/waits.ts";
import type { EndedThere } from "../../agents/question_evidence.ts";
import { alreadyClosed, isForPerson, replyOf, TERMINAL, toAnswer } from "../answers.ts";
import { TOOL_PERMISSION } from "protocol/messages/question.ts";
import { type AskContext, type Asks, type AsksDeps, mustBeAsker } from "../asks.ts";
import type { Ask } from "protocol/asks/contract.ts";
import { actOf } from "protocol/derived/acts/act.ts";
import { tryJson } from "kit/core/text.ts";
import type { Act } from "protocol/messages/act.ts";
import type { Attachment } from "protocol/messages/attachments.ts";
import { Question } from "protocol/messages/question.ts";
import type {
  AnswerAsk,
  AskBlocking,
  Query,
  QueryResult,
  Verdict,
} from "protocol/asks/questions.ts";
import { BlockingWaits } from "./blocking_waits.ts";

/** Questions of asks to higher features. */
export interface QuestionPorts {
  /** The sleep of a peer by its id; null for one that is no agent, and for one that runs. */
  sleepOf(peer_id: string): Wake | null;
}

interface QuestionsDeps extends Pick<AsksDeps, "attachments" | "directory" | "shutdownSignal"> {
  readonly asks: Asks;
  readonly ports: QuestionPorts;
  readonly waits: Pick<PeerWaits, "review">;
  /** The maximum time that a blocking question may stay open. */
  readonly wait_ms_max: number;
}

/** The request context of a blocking request. */
interface BlockingRequest extends AskContext {
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** The act of a tool permission, and the files that show what is cut in it. */
interface ShownAct {
  readonly act: Act;
  readonly attachments: readonly Attachment[];
}

/** Stands for the human while no human is registered. The inbox keeps the question. */
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
  queue_max: null,
  pair_per_minute: null,
  hook_messages: 1,
  daemon_id: null,
};

export class Questions {
  readonly #ctx: Context;
  readonly #deps: QuestionsDeps;
  readonly #blockingWaits: BlockingWaits;

  constructor(ctx: Context, deps: QuestionsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#blockingWaits = new BlockingWaits(ctx, deps);
  }

  /** Records a typed answer. The first valid answer, from any surface, closes the question. */
  answer(
    { correlation_id, from_peer, attachments: ids = [], ...input }: AnswerAsk,
    requestContext: AskContext,
  ) {
    const { asks, attachments } = this.#deps;
    return this.#ctx.db.transact(() => {
      const ask = asks.mustGet(correlation_id);
      const { responder, elsewhere } = this.#responder(ask, from_peer);
      if (!ask.question) throw new Problem("not_a_question", { correlation_id });
      if (ask.state === "closed") throw alreadyClosed(ask);
      const answer = toAnswer(ask.question, input);
      const reply = replyOf(answer);
      const close_reason = asks.closer.close(ask, "answered", {
        responder,
        elsewhere,
        reply,
        answer,
        attachments: attachments.attach(ids),
        ...requestContext,
      });
      return { close_reason, outcome: answer.outcome };
    });
  }

  /**
   * Throws `human_not_proven` for an answer by a peer to a question that only a person may answer.
   * `isHuman` is expensive, so it is called for such questions only.
   */
  mustBeHuman(correlation_id: string, isHuman: () => boolean): void {
    const ask = this.#deps.asks.get(correlation_id);
    if (ask?.state !== "open" || !isForPerson(ask.question)) return;
    if (!isHuman()) throw new Problem("human_not_proven", {});
  }

  /**
   * Asks the human and waits for the answer. A tool permission without an answer in time is denied.
   * A repeated request with the same id and asker waits for the same question.
   */
  async askBlocking(body: AskBlocking, request: BlockingRequest): Promise<Verdict> {
    const ask = this.#ctx.db.transact(() => this.#findExisting(body) ?? this.#open(body, request));
    return await this.waitForVerdict(ask, request.signal);
  }

  /** Opens a question that the agent's own dialog asks as well; `waitForVerdict` waits for it. */
  openAtTerminal(body: AskBlocking, request: AskContext, shown: ShownAct): Ask {
    return this.#ctx.db.transact(() => this.#open(body, request, shown));
  }

  async waitForVerdict(ask: Ask, signal: AbortSignal): Promise<Verdict> {
    if (ask.state === "closed") return this.#toVerdict(ask);
    const wait_ms = (ask.question?.timeout_seconds ?? 0) * 1000;
    return this.#toVerdict(await this.#blockingWaits.wait(ask.correlation_id, wait_ms, signal));
  }

  /** Closes a question that was decided in the agent's own terminal. */
  endThere(correlation_id: string, outcome: EndedThere): void {
    const { asks } = this.#deps;
    this.#ctx.db.transact(() => {
      const ask = asks.mustGet(correlation_id);
      if (ask.state === "closed") return;
      const closing = { responder: TERMINAL, outcome, elsewhere: true };
      asks.closer.close(ask, "cancelled", closing);
    });
  }

  /**
   * Asks a peer for a text and waits for it. An offline peer is not asked. A peer that goes offline
   * during the wait may come back, so it is reported as offline only after the timeout.
   */
  async query(query: Query, request: BlockingRequest): Promise<QueryResult> {
    const { db } = this.#ctx;
    const { from_peer, to_peer, text, timeout_seconds, circle } = query;
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
    if (opened.id === undefined) return this.#offlineResult(opened.to);
    const closedAsk = await this.#blockingWaits.wait(
      opened.id,
      timeout_seconds * 1000,
      request.signal,
    );
    const to = this.#deps.directory.address(closedAsk.to_peer_id);
    if (to && isOffline(to) && closedAsk.outcome === "timed_out") return this.#offlineResult(to);
    return toResult(closedAsk, this.#explainNoAnswer(closedAsk));
  }

  /** Says whether the peer sleeps, or cannot be woken. */
  #offlineResult({ peer_id, name }: Address): QueryResult {
    const sleep = wakeSentence(name, this.#deps.ports.sleepOf(peer_id));
    return { text: null, error: sleep ?? `${name} is offline`, status: "offline" };
  }

  /** Closes waiting questions: at the shutdown, and at a start, when their callers are gone. */
  closeWaiting(): void {
    this.#blockingWaits.closeAll();
  }

  /** The question that this request repeats; undefined if the request is new. */
  #findExisting(
    { correlation_id, from_peer, prompt, scope, options }: AskBlocking,
  ): Ask | undefined {
    if (correlation_id === undefined) return undefined;
    const ask = this.#deps.asks.get(correlation_id);
    if (!ask) return undefined;
    mustBeAsker(this.#deps.directory, ask, from_peer);
    const { question, text } = ask;
    const isSame = question?.blocking && text === prompt && question.scope === scope &&
      JSON.stringify(question.options) === JSON.stringify(options);
    // An answer to one question must not be taken for an answer to another.
    if (!isSame) throw new Problem("correlation_taken", { correlation_id });
    return ask;
  }

  /** `at_terminal`: the act of a question that the agent's own dialog asks as well. */
  #open(body: AskBlocking, request: AskContext, at_terminal?: ShownAct): Ask {
    const { directory, asks } = this.#deps;
    const act = at_terminal?.act ?? toAct(body);
    this.#mustBeRunning();
    const from = directory.sender(body.from_peer);
    const here = directory.human() ?? PLACEHOLDER_HUMAN;
    if (from.peer_id === here.peer_id) throw new Problem("to_self", { peer_id: here.peer_id });
    const to = directory.homeHuman() ?? here;
    const { correlation_id = null, origin = null, prompt } = body;
    const { ticket: { message } } = asks.send({
      from,
      to,
      text: prompt,
      correlation_id,
      question: { ...this.#toQuestion(body), ...(act && { act }) },
      attachments: [...at_terminal?.attachments ?? []],
      traceparent: request.traceparent,
      proofs: request,
      voice: directory.authorKindOf(from, request),
      circle: from.circle ?? to.circle,
      opening: { reply_delivery: "pull", origin, parent_id: null, routing: null },
    });
    const id = message.correlation_id ?? "";
    this.#blockingWaits.add(id, at_terminal !== undefined);
    if (from.peer_id !== null) this.#deps.waits.review(from.peer_id);
    return asks.mustGet(id);
  }

  /** Makes the structured question. A question without options is answered with a text. */
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

  /** The peer that responds. Throws `not_the_recipient` unless it is the recipient or the human. */
  #responder(ask: Ask, from_peer: string | undefined) {
    if (from_peer === undefined) return { responder: ask.to_peer_name, elsewhere: false };
    const { peer_id, name, role } = this.#deps.directory.sender(from_peer);
    const elsewhere = peer_id !== ask.to_peer_id;
    if (!elsewhere || role === "human") return { responder: name, elsewhere };
    throw new Problem("not_the_recipient", { correlation_id: ask.correlation_id });
  }

  #toVerdict(ask: Ask): Verdict {
    const { correlation_id, outcome, answer, reply } = ask;
    const option_id = answer?.option_id ?? null;
    const answerText = answer ? answer.message ?? (option_id === null ? answer.text : null) : reply;
    const message = answerText ?? this.#explainNoAnswer(ask);
    return { correlation_id, outcome: outcome ?? "failed", option_id, message };
  }

  /** The reason why a blocking question has no answer; null if it was closed in another way. */
  #explainNoAnswer({ close_reason }: Ask): string | null {
    if (close_reason === "cancelled") return "The question was cancelled";
    if (close_reason !== "evicted") return null;
    const { aborted } = this.#deps.shutdownSignal;
    return aborted ? "The daemon stopped before an answer came" : "Nobody answered in time";
  }

  #mustBeRunning(): void {
    if (this.#deps.shutdownSignal.aborted) throw new Problem("shutting_down", {});
  }
}

/**
 * The act of a tool permission that a program asks for, if its metadata have the tool and its whole
 * input. No file is read, because the program may name any.
 */
function toAct({ scope, metadata }: AskBlocking): Act | undefined {
  const { tool, tool_kind, tool_input: given, tool_input_is_cut, takes_reason } = metadata ?? {};
  const hasInput = given !== undefined && tool_input_is_cut !== true;
  if (scope !== TOOL_PERMISSION || typeof tool !== "string" || !hasInput) return undefined;
  const input = typeof given === "string" ? tryJson(given) : given;
  const kind = typeof tool_kind === "string" ? tool_kind : undefined;
  const unread = () => ({ unread: "the file is not read for this program" });
  const act = actOf({ tool, kind, input, folder: null }, unread);
  return { ...act, takes_reason: takes_reason !== false };
}

/** True if a peer is offline. The human never is, because the inbox takes every message. */
function isOffline({ status, role }: Address): boolean {
  return role !== "human" && (status === "offline" || status === "retired");
}

function toResult(ask: Ask, explanation: string | null): QueryResult {
  const { outcome, reply, answer, close_reason, to_peer_name } = ask;
  const withoutText = (status: QueryResult["status"], error: string | null): QueryResult => {
    return { text: null, error, status };
  };
  if (close_reason === "peer_retired") return withoutText("offline", `${to_peer_name} is retired`);
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

/** Validates answers to structured questions, and makes the responses to waits for asks. */

import { invalidField } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import type { Ask, Outcome, Resolution, TypedAnswer } from "protocol/asks/contract.ts";
import { type Option, type Question, TOOL_PERMISSION } from "protocol/messages/question.ts";
import { WAKE_SCOPE } from "protocol/wakes.ts";
import { ALLOW, DENY, findOption } from "protocol/derived/waiting.ts";
import type { AnswerAsk } from "protocol/asks/questions.ts";
import type { CloseReason } from "protocol/asks/states.ts";

/** The scope of questions about spent budgets, which only the daemon asks. */
export const BUDGET_QUESTION = "budget";

const FOR_PERSONS: readonly (string | null)[] = [TOOL_PERMISSION, BUDGET_QUESTION, WAKE_SCOPE];

/** True if only a person may answer a question. */
export function isForPerson(question: Pick<Question, "scope"> | null): boolean {
  return FOR_PERSONS.includes(question?.scope ?? null);
}

/** The responder of a question that was decided in the agent's own terminal (contract 11). */
export const TERMINAL = "terminal";
const THERE: readonly (Outcome | null)[] = ["allowed_there", "denied_there", "ended_there"];

/** True if an ask was decided in the agent's own terminal. */
export function isDecidedThere(outcome: Outcome | null): boolean {
  return THERE.includes(outcome);
}

/** Outcomes that need neither an option nor a text. */
const REFUSING_OUTCOMES: readonly (Outcome | undefined)[] = ["denied", "declined", "cancelled"];

/** The error for a second answer to an ask. */
export function alreadyClosed(ask: Pick<Ask, "correlation_id" | "close_reason" | "outcome">) {
  const { correlation_id, close_reason, outcome } = ask;
  return new Problem("already_closed", {
    correlation_id,
    close_reason: close_reason ?? "",
    outcome: outcome ?? "",
  });
}

/**
 * True if a question asks for a decision. A late text reply to such a question was meant as the
 * decision. It becomes a new ask only if the person confirms it (contract 11).
 */
export function asksForDecision(question: Pick<Question, "kind" | "scope"> | null): boolean {
  return question?.kind === "choice" || question?.scope === TOOL_PERMISSION;
}

/** A denial in words, such as `deny: use the trash`. No text but an option's own allows. */
const DENIAL = /^\s*deny[\s:,.;–—-]+(\S[^]*)$/i;

/** The answer with the option that a text names. To a permission, a denial may give a reason. */
function chooseByText(question: Question, text: string, remark: string | null): TypedAnswer {
  const reason = question.scope === TOOL_PERMISSION ? DENIAL.exec(text)?.[1]?.trim() : undefined;
  const denial = question.options.find(({ id }) => id === DENY);
  if (reason !== undefined && denial && !findOption(question.options, text)) {
    return toChosen(denial, [reason, remark]);
  }
  return toChosen(chooseOption(question, text), [remark]);
}

function chooseOption(question: Question, text: string): Option {
  const option = findOption(question.options, text);
  if (!option) throw unknownOption(question, text);
  return option;
}

/** An answer with an option: its text names the option, and all else that was said is a remark. */
function toChosen({ id, title }: Option, remarks: readonly (string | null | undefined)[]) {
  const text = title || id;
  const said = remarks.filter((remark) => remark && remark !== text && remark !== id);
  const message = said.join("\n") || null;
  return { outcome: "answered", option_id: id, text, message } satisfies TypedAnswer;
}

/** An answer as the caller gives it. */
type AnswerInput = Pick<AnswerAsk, "option_id" | "text" | "message" | "outcome">;

/**
 * Validates an answer. A `choice` needs an option: `option_id`, or a text that is an option's id or
 * title. A `text` needs a text. An `acknowledge`, and any refusal, needs neither.
 */
export function toAnswer(question: Question, input: AnswerInput): TypedAnswer {
  const { kind } = question;
  const { text = null, message = null } = input;
  const outcome = input.outcome ?? (kind === "acknowledge" ? "acknowledged" : "answered");
  const isRefusal = REFUSING_OUTCOMES.includes(outcome);
  if (outcome === "acknowledged" && kind !== "acknowledge") {
    throw invalidField("outcome", `A question of kind ${kind} must be answered, not acknowledged`);
  }
  if (kind !== "choice") {
    if (input.option_id !== undefined) throw unknownOption(question, input.option_id);
    if (kind === "text" && !isRefusal && !text?.trim()) {
      throw invalidField("text", "The question needs a text");
    }
    return { outcome, option_id: null, text, message };
  }
  const chosen = chosenOptionOf(question, input, isRefusal);
  if (isRefusal && question.scope === TOOL_PERMISSION && chosen?.option_id === ALLOW) {
    throw invalidField("outcome", `The outcome "${outcome}" contradicts the option "${ALLOW}"`);
  }
  return { text, message, option_id: null, ...chosen, outcome };
}

function chosenOptionOf(
  question: Question,
  { option_id, text, message }: AnswerInput,
  isRefusal: boolean,
): TypedAnswer | undefined {
  if (option_id !== undefined) {
    const option = question.options.find(({ id }) => id === option_id);
    if (!option) throw unknownOption(question, option_id);
    return toChosen(option, [text, message]);
  }
  if (isRefusal) return undefined;
  if (text === undefined) throw invalidField("option_id", "The question needs an option");
  return chooseByText(question, text, message ?? null);
}

/** The answer with which an ack closes an ask. To a choice, a message must name an option. */
export function toAckClosing(
  { question }: Ask,
  { message, option_id }: { message: string; option_id: string | undefined },
  hasAttachments: boolean,
): { close_reason: CloseReason; reply?: string | null; answer?: TypedAnswer } {
  if (question && option_id) {
    const answer = toAnswer(question, { option_id, text: message || undefined });
    return { close_reason: "answered", reply: replyOf(answer), answer };
  }
  if (message === "") return { close_reason: hasAttachments ? "ack_with_msg" : "ack" };
  if (question?.kind !== "choice") return { close_reason: "ack_with_msg", reply: message };
  const answer = chooseByText(question, message, null);
  return { close_reason: "answered", reply: answer.text, answer };
}

/** The reply text of an answer; null if it has neither a text nor a message. */
export function replyOf({ text, message }: TypedAnswer): string | null {
  return [text, message].filter((part) => part !== null).join("\n") || null;
}

/** The response to a wait for an ask that is closed. */
export function toResolution(ask: Ask): Resolution {
  const { correlation_id, outcome, reply, close_reason, reply_attachments, responder } = ask;
  return {
    correlation_id,
    status: "resolved",
    outcome: outcome ?? "failed",
    reply,
    close_reason: close_reason ?? "ack",
    option_id: ask.answer?.option_id ?? null,
    reply_attachments,
    responder,
    closed_at: ask.closed_at ?? ask.created_at,
  };
}

function unknownOption({ options }: Question, option: string): Problem {
  const known = options.map(({ id }) => id).join(", ");
  return new Problem("unknown_option", { option, options: known });
}

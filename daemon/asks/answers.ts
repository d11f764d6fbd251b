/** What an end of an ask is called: the option that was meant, the resolution, the refusal. */

import { Problem } from "kit/problem.ts";
import type { Ask, Question, Resolution, TypedAnswer } from "./contract.ts";

/** The refusal of whoever comes after the end. */
export function closed({ correlation_id, close_reason }: Ask): Problem {
  return new Problem("already_closed", { correlation_id, close_reason: close_reason ?? "" });
}

/** The option that a text names, by its id or its title. */
export function choose({ options }: Question, text: string): TypedAnswer {
  const said = text.trim().toLowerCase();
  const option = options.find(({ id, title }) =>
    [id, title].some((it) => it.toLowerCase() === said)
  );
  if (!option) {
    const known = options.map(({ id }) => id).join(", ");
    throw new Problem("unknown_option", { option: text, options: known });
  }
  return { outcome: "answered", option_id: option.id, text: option.title, message: null };
}

/** What a wait answers once there is an end. */
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

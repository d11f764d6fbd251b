/** The question about a gated tool, and its end on every surface. */

import assert from "node:assert/strict";
import { ApiError, type Call } from "kit/http/client.ts";
import { getAsk } from "protocol/asks/contract.ts";
import { listInbox, replyInboxItem } from "protocol/inbox.ts";
import { until } from "../waiting.ts";

/** The time within which a question must have ended everywhere. */
const END_MS_MAX = 2_000;

/** The question in the human's inbox. */
export function waitForQuestion(call: Call) {
  return until("the question", async () => {
    const { items } = await call(listInbox, { query: { unread: "1" } });
    return items.find(({ question }) => question?.scope === "tool_permission");
  });
}

type Question = Awaited<ReturnType<typeof waitForQuestion>>;

/**
 * Waits for the end of a question after `end`. It must come within two seconds with this outcome;
 * the question then waits nowhere, and a late answer is refused with the outcome.
 */
export async function mustEndThere(
  call: Call,
  { item_id, correlation_id }: Question,
  outcome: "allowed_there" | "denied_there" | "ended_there",
  end: () => void | Promise<void>,
): Promise<void> {
  await end();
  const ended_at = Date.now();
  const ask = await until("the end of the question", async () => {
    const ask = await call(getAsk, { params: { id: correlation_id ?? "" } });
    return ask.state === "closed" && ask;
  });
  assert.ok(Date.now() - ended_at < END_MS_MAX, `${Date.now() - ended_at} ms`);
  assert.deepEqual([ask.outcome, ask.responder], [outcome, "terminal"]);
  assert.deepEqual((await call(listInbox, { query: { unread: "1" } })).items, []);
  const reply = { params: { id: item_id }, body: { option_id: "allow" } };
  const late = await call(replyInboxItem, reply).catch((error) => error);
  assert.ok(late instanceof ApiError);
  const { error, outcome: said } = late.problem;
  assert.deepEqual([late.status, error, said], [410, "already_closed", outcome]);
}

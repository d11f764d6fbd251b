/** The requests in opencode's database: each complete answer of a session and its subagents. */

import type { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import type { ModelRequest, RequestCursor } from "../sessions/requests.ts";
import type { NewRecords } from "../sessions/session_files.ts";

/** New requests, and the cursor behind them. */
type RequestPart = Pick<NewRecords, "requests" | "cursor">;

/** Answers of one part. */
const ANSWERS_AT_ONCE = 500;

const Count = z.number().int().nonnegative();
const Answer = z.object({
  role: z.literal("assistant"),
  modelID: z.string(),
  time: z.object({ completed: z.number() }),
  tokens: z.object({
    input: Count,
    output: Count,
    reasoning: Count,
    cache: z.object({ read: Count, write: Count }),
  }),
});
const Row = z.object({ id: z.string(), time_updated: z.number(), data: z.string() });

/** The answers of the session and of its subagents, whose sessions name it as their parent. */
const ANSWERS = `with recursive own (id) as (
    select id from session where id = ?
    union select session.id from session join own on session.parent_id = own.id)
  select m.id, m.time_updated, m.data from message m join own on own.id = m.session_id
  where m.time_updated >= ? and iif(json_valid(m.data), m.data ->> 'role', null) = 'assistant'
  order by m.time_updated, m.id limit ? offset ?`;

/**
 * The answers that changed since the last reading. The cursor is the time of the last change: its
 * answers are read again, and counted once because of their ids. opencode counts cached input and
 * reasoning apart from other input and output.
 */
export function opencodeRequests(
  db: DatabaseSync,
  session_id: string,
  cursor: RequestCursor | undefined,
): RequestPart[] {
  const parts: RequestPart[] = [];
  let since = cursor?.at ?? 0;
  for (let offset = 0;; offset += ANSWERS_AT_ONCE) {
    const found = db.prepare(ANSWERS).all(session_id, cursor?.at ?? 0, ANSWERS_AT_ONCE, offset);
    const rows = z.array(Row).parse(found);
    since = Math.max(since, ...rows.map(({ time_updated }) => time_updated));
    const next = { at: since, before: 0, state: "null" };
    if (rows.length > 0) parts.push({ requests: rows.flatMap(requestOf), cursor: next });
    if (rows.length < ANSWERS_AT_ONCE) return parts;
  }
}

function requestOf({ id: key, data }: z.output<typeof Row>): ModelRequest[] {
  const { data: answer } = Answer.safeParse(tryJson(data));
  if (!answer) return [];
  const { modelID: model, time, tokens: { input, output, reasoning, cache } } = answer;
  const tokens = {
    input_tokens: input + cache.read + cache.write,
    cached_input_read_tokens: cache.read,
    cached_input_write_tokens: cache.write,
    output_tokens: output + reasoning,
    reasoning_tokens: reasoning,
  };
  return [{ key, at: time.completed, model, tokens }];
}

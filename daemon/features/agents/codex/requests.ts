/** The requests in Codex's rollouts, with those of subagents, which have rollouts of their own. */

import { dirname } from "kit/core/path.ts";
import * as z from "zod";
import { setLatest } from "kit/core/bounded_map.ts";
import { readHead } from "../../../host/agent_files.ts";
import { Timestamp } from "../sessions/pages.ts";
import type { RequestFormat } from "../sessions/new_records.ts";
import type { ModelRequest, RequestTokens } from "../sessions/requests.ts";
import { rolloutFiles } from "./rollouts.ts";

/** Maximum rollouts that are searched for subagents, and whose sessions are remembered. */
const ROLLOUTS_MAX = 2_000;
/** The session of a rollout is at the beginning of its first line. */
const HEAD_BYTES = 1_024;

const Count = z.number().int().nonnegative();
const Tokens = z.object({
  input_tokens: Count,
  cached_input_tokens: Count.nullish(),
  cache_write_input_tokens: Count.nullish(),
  output_tokens: Count,
  reasoning_output_tokens: Count.nullish(),
});
type Tokens = z.output<typeof Tokens>;

const at = { timestamp: Timestamp.nullable().catch(null) };
const Line = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("session_meta"),
    payload: z.object({ id: z.string(), forked_from_id: z.string().nullish() }),
  }),
  z.object({ type: z.literal("turn_context"), payload: z.object({ model: z.string() }) }),
  /** A request, as of 0.169. */
  z.object({
    ...at,
    type: z.literal("token_usage_record"),
    payload: z.object({ response_id: z.string(), usage: Tokens }),
  }),
  /** The sums of the session, written after each request and with each report of limits. */
  z.object({
    ...at,
    type: z.literal("event_msg"),
    payload: z.object({
      type: z.literal("token_count"),
      info: z.object({ total_token_usage: Tokens, last_token_usage: Tokens }),
    }),
  }),
]);

interface RolloutState {
  readonly thread: string;
  readonly model: string | null;
  /** True if the rollout has a record of each request, so that its sums are not counted. */
  readonly hasRecords: boolean;
  /** The last sums. */
  readonly total: string;
}

/**
 * Releases without records of requests have only sums: a request is counted where they change. A
 * fork begins with the sums of its session, which therefore identify its earlier requests.
 */
export const codexRequests: RequestFormat<RolloutState> = {
  marks: ['"token_usage_record"', '"token_count"', '"turn_context"', '"session_meta"'],
  initial: { thread: "", model: null, hasRecords: false, total: "" },
  read(json, state) {
    const { data: line } = Line.safeParse(json);
    if (!line) return {};
    if (line.type === "session_meta") {
      const { id, forked_from_id } = line.payload;
      // Only the first one is the rollout's own.
      return state.thread === "" ? { state: { ...state, thread: forked_from_id ?? id } } : {};
    }
    if (line.type === "turn_context") return { state: { ...state, model: line.payload.model } };
    const { model } = state;
    const requestOf = (key: string, used: Tokens): ModelRequest => ({
      key,
      at: line.timestamp,
      model,
      tokens: tokensOf(used),
    });
    if (line.type === "token_usage_record") {
      const { response_id, usage } = line.payload;
      return {
        requests: [requestOf(response_id, usage)],
        state: { ...state, hasRecords: true },
      };
    }
    const { total_token_usage, last_token_usage } = line.payload.info;
    const total = JSON.stringify(total_token_usage);
    if (state.hasRecords || total === state.total) return {};
    const identity = `${state.thread} ${total}`;
    // A copy of these lines has new times.
    const request = { ...requestOf(identity, last_token_usage), identity };
    return { requests: [request], state: { ...state, total } };
  },
};

function tokensOf(used: Tokens): RequestTokens {
  return {
    input_tokens: used.input_tokens,
    cached_input_read_tokens: used.cached_input_tokens ?? null,
    cached_input_write_tokens: used.cache_write_input_tokens ?? null,
    output_tokens: used.output_tokens,
    reasoning_tokens: used.reasoning_output_tokens ?? null,
  };
}

/** The sessions of rollouts by their files, which never change. */
const sessions = new Map<string, string>();

/** A session's rollout, and those of its subagents, which begin on its day or later. */
export function filesWithRequests(rollout: string, session_id: string): string[] {
  const day = dirname(rollout);
  const newest = rolloutFiles(dirname(dirname(dirname(day)))).take(ROLLOUTS_MAX);
  const subagents: string[] = [];
  for (const file of newest) {
    if (dirname(file) < day) break;
    if (file !== rollout && sessionOf(file) === session_id) subagents.push(file);
  }
  return [rollout, ...subagents];
}

/** The session that a rollout belongs to: for a subagent, that of its parent. */
function sessionOf(file: string): string {
  const known = sessions.get(file);
  if (known !== undefined) return known;
  const head = readHead(file, HEAD_BYTES) ?? "";
  const session = /"session_id":"([0-9a-f-]{36})"/.exec(head)?.[1] ?? "";
  if (head.length >= HEAD_BYTES || session !== "") setLatest(sessions, file, session, ROLLOUTS_MAX);
  return session;
}

/** Codex's rollouts as session files: their conversation and their tokens. */

import { basename, join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { readHead } from "../../../host/agent_files.ts";
import { foundIn, type SessionFile, titleOf } from "../sessions/found.ts";
import { lineReader, remembered, sessionsInFiles } from "../sessions/one_file.ts";
import { type ParsedEntry, Timestamp } from "../sessions/pages.ts";
import type {
  CallOutcome,
  FoundSession,
  SessionFiles,
  SessionUsage,
} from "../sessions/session_files.ts";
import { rolloutFile, rolloutFiles } from "./rollouts.ts";
import { isThreadId } from "./threads.ts";
import { type BackwardLines, inBatches } from "../sessions/lines.ts";
import { codexRequests, filesWithRequests } from "./requests.ts";

/** The first line holds the model's instructions, about 20 kB; the first prompt follows them. */
const HEAD_BYTES = 131_072;
/** Maximum rollouts found by their names. Those that changed last are read. */
const ROLLOUTS_MAX = 5_000;
/** Matches text that Codex itself writes as the user, in releases that do not mark it. */
const NOT_A_PROMPT =
  /^\s*(# AGENTS\.md|<(environment_context|user_instructions|INSTRUCTIONS|permissions|skills))/;

/** The number of a line within its file. A line that is copied gets another one. */
const ORDINAL = /"ordinal":\d+,/;

const Time = Timestamp.nullable().catch(null);
const Texts = z.array(z.looseObject({ text: z.string().optional() }));

const Message = z.object({
  type: z.literal("message"),
  role: z.enum(["user", "assistant"]),
  content: Texts,
  internal_chat_message_metadata_passthrough: z.object({
    /** `user.text` for the user's text, as of 0.169. */
    content_item_kinds: z.array(z.string()).optional(),
  }).optional().catch(undefined),
});
const Call = z.object({
  type: z.enum(["function_call", "custom_tool_call", "local_shell_call"]),
  name: z.string().optional(),
  /** `mcp__` and the name of the server, for a tool of an MCP server. */
  namespace: z.string().optional(),
  call_id: z.string().optional(),
  /** JSON as a text. */
  arguments: z.string().optional(),
  input: z.string().optional(),
  action: z.unknown().optional(),
});
const Output = z.object({
  type: z.enum(["function_call_output", "custom_tool_call_output"]),
  call_id: z.string().optional(),
  output: z.union([z.string(), Texts, z.looseObject({ content: z.string() })]),
});

/** A line that belongs to the conversation, as of 0.169.0. */
const Item = z.object({
  timestamp: Time,
  type: z.literal("response_item"),
  payload: z.discriminatedUnion("type", [Message, Call, Output]),
});
const Meta = z.object({
  type: z.literal("session_meta"),
  payload: z.looseObject({ cwd: z.string(), source: z.unknown().optional() }),
});

export function codexSessionFiles(codex_home: string): SessionFiles {
  const locate = remembered((id) => rolloutFile(codex_home, id));
  const list: SessionFiles["list"] = (query) => foundIn(rolloutsOf(codex_home), query, describe);
  return sessionsInFiles(
    { locate, list },
    lineReader({ entriesIn, usageIn, keyOf: (line) => line.replace(ORDINAL, "") }),
    { format: codexRequests, filesOf: filesWithRequests },
  );
}

function rolloutsOf(codex_home: string): SessionFile[] {
  const files = rolloutFiles(join(codex_home, "sessions")).take(ROLLOUTS_MAX);
  return Array.from(files, (file) => ({ session_id: idOf(file), file }))
    .filter(({ session_id }) => isThreadId(session_id));
}

/** A file is named `rollout-<time>-<id>.jsonl`. */
function idOf(file: string): string {
  return basename(file).slice(0, -".jsonl".length).slice(-36);
}

function describe({ file }: SessionFile): Pick<FoundSession, "title" | "folder"> | undefined {
  const lines = (readHead(file, HEAD_BYTES) ?? "").split("\n");
  const { data: meta } = Meta.safeParse(tryJson(lines[0] ?? ""));
  // The source of a subagent is an object that names it.
  if (!meta || typeof meta.payload.source === "object") return undefined;
  const prompt = lines.slice(1).flatMap(entriesOf).find(({ kind }) => kind === "prompt");
  return { title: prompt ? titleOf(prompt.text) : null, folder: meta.payload.cwd };
}

export function entriesOf(line: string): ParsedEntry[] {
  return entriesIn(tryJson(line));
}

function entriesIn(json: unknown): ParsedEntry[] {
  const { data } = Item.safeParse(json);
  if (!data) return [];
  const { timestamp: at, payload } = data;
  if (payload.type === "message") {
    const text = textOf(payload.content);
    if (payload.role === "assistant") return [{ at, kind: "text", text }];
    const kinds = payload.internal_chat_message_metadata_passthrough?.content_item_kinds;
    const isPrompt = kinds ? kinds.includes("user.text") : !NOT_A_PROMPT.test(text);
    return isPrompt ? [{ at, kind: "prompt", text }] : [];
  }
  if ("output" in payload) {
    const { output } = payload;
    const text = typeof output === "string"
      ? output
      : Array.isArray(output)
      ? textOf(output)
      : output.content;
    return [{ at, kind: "tool_result", text, call: payload.call_id, outcome: outcomeOf(text) }];
  }
  const text = payload.arguments ?? payload.input ?? JSON.stringify(payload.action ?? {});
  const { name = "shell", namespace, call_id: call } = payload;
  const tool = namespace === undefined ? name : `${namespace}__${name}`;
  return [{ at, kind: "tool_call", text, tool, call }];
}

/** Characters of an output in which Codex itself says how the call ended. */
const OUTCOME_CHARS = 400;
/** Matches an exit code other than 0: in words, or as earlier releases have it in JSON. */
const FAILED =
  /^Process exited with code [^0]|^Exit code: [^0]|"exit_code":[^0]|^failed in sandbox/m;

/** Codex records no outcome beside the text. */
function outcomeOf(text: string): CallOutcome {
  const head = text.slice(0, OUTCOME_CHARS);
  if (/^aborted(?: by user)?\b/.test(head)) return "interrupted";
  if (/^(?:exec command |patch )?rejected\b/i.test(head)) return "denied";
  return FAILED.test(head.split("\nOutput:\n", 1)[0] ?? "") ? "failed" : "ok";
}

function textOf(parts: z.output<typeof Texts>): string {
  return parts.map(({ text = "" }) => text).filter(Boolean).join("\n");
}

const Count = z.number().nonnegative();
/** All input, with the cached part. */
const Tokens = z.object({ input_tokens: Count, cached_input_tokens: Count, output_tokens: Count });

/** Written after each request, with the sums of the session, as of 0.169.0. */
const TokenCount = z.object({
  type: z.literal("event_msg"),
  payload: z.object({
    type: z.literal("token_count"),
    info: z.object({
      total_token_usage: Tokens,
      last_token_usage: Tokens,
      model_context_window: Count.nullish(),
    }),
  }),
});
const TurnContext = z.object({
  type: z.literal("turn_context"),
  payload: z.object({ model: z.string() }),
});

async function usageIn(lines: BackwardLines): Promise<SessionUsage | null> {
  let info: z.infer<typeof TokenCount>["payload"]["info"] | undefined;
  let model: string | undefined;
  for await (const { text } of inBatches(lines)) {
    if (!text.includes('"token_count"') && !text.includes('"turn_context"')) continue;
    const json = tryJson(text);
    info ??= TokenCount.safeParse(json).data?.payload.info;
    model ??= TurnContext.safeParse(json).data?.payload.model;
    if (info && model !== undefined) break;
  }
  if (!info) return null;
  const { total_token_usage: total, last_token_usage: last } = info;
  return {
    input_tokens: total.input_tokens,
    output_tokens: total.output_tokens,
    cached_tokens: total.cached_input_tokens,
    context_tokens: last.input_tokens,
    context_limit: info.model_context_window ?? null,
    model: model ?? null,
  };
}

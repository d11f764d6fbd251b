/** Copilot CLI's session records as session files: their conversation and their tokens. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { changedAt, namesIn, readHead } from "../../../host/agent_files.ts";
import { foundIn, type SessionFile, titleOf } from "../sessions/found.ts";
import { lineReader, sessionsInFiles } from "../sessions/one_file.ts";
import { type ParsedEntry, Timestamp } from "../sessions/pages.ts";
import { uuidKey } from "../sessions/repeats.ts";
import {
  type CallOutcome,
  type FoundSession,
  HEAD_BYTES,
  type SessionFiles,
  type SessionUsage,
} from "../sessions/session_files.ts";
import { folderOf, recordsFileOf } from "./sessions.ts";
import { type BackwardLines, inBatches } from "../sessions/lines.ts";
import { copilotRequests } from "./requests.ts";

/** The largest description of a session that is read. */
const WORKSPACE_BYTES_MAX = 16_384;

/** A record that belongs to the conversation, as of 1.0.102. */
const Record = z.object({
  type: z.enum(["user.message", "assistant.message", "tool.execution_complete"]),
  timestamp: Timestamp.nullable().catch(null),
  /** Set for the records of a subagent. */
  agentId: z.string().optional(),
  data: z.object({
    content: z.string().optional(),
    toolRequests: z.array(z.object({
      toolCallId: z.string().optional(),
      name: z.string(),
      arguments: z.unknown().optional(),
    })).optional(),
    /** The call that ended. */
    toolCallId: z.string().optional(),
    success: z.boolean().optional(),
    result: z.object({ content: z.string() }).optional().catch(undefined),
    error: z.object({ message: z.string(), code: z.string().optional() })
      .optional().catch(undefined),
  }),
});
const Started = z.object({
  type: z.literal("session.start"),
  data: z.object({ context: z.object({ cwd: z.string().optional() }).optional() }),
});

export function copilotSessionFiles(config_dir: string): SessionFiles {
  const locate = (id: string) => {
    const file = recordsFileOf(config_dir, id);
    return file !== undefined && changedAt(file) !== undefined ? file : undefined;
  };
  const list: SessionFiles["list"] = (query) => {
    const files = namesIn(join(config_dir, "session-state")).flatMap((session_id) => {
      const file = recordsFileOf(config_dir, session_id);
      return file === undefined ? [] : [{ session_id, file }];
    });
    return foundIn(files, query, (found) => describe(found, config_dir));
  };
  return sessionsInFiles(
    { locate, list },
    lineReader({ entriesIn, usageIn, keyOf: uuidKey("id") }),
    { format: copilotRequests, filesOf: (file) => [file] },
  );
}

function describe(
  { session_id, file }: SessionFile,
  config_dir: string,
): Pick<FoundSession, "title" | "folder"> | undefined {
  const lines = (readHead(file, HEAD_BYTES) ?? "").split("\n");
  const started = lines.map((line) => Started.safeParse(tryJson(line)).data).find(Boolean);
  if (!started) return undefined;
  const prompt = lines.flatMap(entriesOf).find(({ kind }) => kind === "prompt");
  const workspace = join(folderOf(config_dir, session_id), "workspace.yaml");
  const named = nameIn(readHead(workspace, WORKSPACE_BYTES_MAX) ?? "");
  return { title: titleOf(named ?? prompt?.text ?? ""), folder: started.data.context?.cwd ?? null };
}

/** The session's name in its description: on one line, or on the lines below a `|`. */
function nameIn(yaml: string): string | undefined {
  return /^name: (?:[|>][+-]?\n[ ]+)?(.+)$/m.exec(yaml)?.[1];
}

export function entriesOf(line: string): ParsedEntry[] {
  return entriesIn(tryJson(line));
}

function entriesIn(json: unknown): ParsedEntry[] {
  const { data: record } = Record.safeParse(json);
  if (!record || record.agentId !== undefined) return [];
  const { type, timestamp: at, data } = record;
  if (type === "user.message") return [{ at, kind: "prompt", text: data.content ?? "" }];
  if (type === "tool.execution_complete") {
    const { error, result, success = true, toolCallId: call } = data;
    const text = result?.content ?? error?.message ?? "";
    const outcome = success ? "ok" : outcomeOfError(`${error?.code ?? ""} ${text}`);
    return [{ at, kind: "tool_result", text, call, outcome }];
  }
  const calls = data.toolRequests ?? [];
  return [
    { at, kind: "text", text: data.content ?? "" },
    ...calls.map(({ name, arguments: input, toolCallId: call }): ParsedEntry => ({
      at,
      kind: "tool_call",
      text: typeof input === "string" ? input : JSON.stringify(input ?? {}),
      tool: name,
      call,
    })),
  ];
}

function outcomeOfError(error: string): CallOutcome {
  if (/denied|rejected/i.test(error)) return "denied";
  return /abort|cancel|interrupt/i.test(error) ? "interrupted" : "failed";
}

const Count = z.number().nonnegative();
const Tokens = z.object({ inputTokens: Count, outputTokens: Count, cacheReadTokens: Count });
type Tokens = z.output<typeof Tokens>;

/** Written after each request, as of 1.0.102. */
const Request = z.object({
  type: z.literal("session.usage_record"),
  /** Set for the requests of a subagent. */
  agentId: z.string().optional(),
  data: z.object({ usage: Tokens.extend({ model: z.string(), maxPromptTokens: Count.nullish() }) }),
});
/** The sums of the whole session so far, written when its program ends. */
const Sums = z.object({
  type: z.literal("session.shutdown"),
  data: z.object({ modelMetrics: z.record(z.string(), z.object({ usage: Tokens })) }),
});

/** The last sums, with the requests since then. Without sums, all requests, if all are read. */
async function usageIn(lines: BackwardLines): Promise<SessionUsage | null> {
  const requests: Tokens[] = [];
  let last: z.output<typeof Request>["data"]["usage"] | undefined;
  let sums: readonly Tokens[] | undefined;
  for await (const { text } of inBatches(lines)) {
    if (!text.includes("usage_record") && !text.includes("session.shutdown")) continue;
    const json = tryJson(text);
    const { data: ended } = Sums.safeParse(json);
    if (ended) sums ??= Object.values(ended.data.modelMetrics).map(({ usage }) => usage);
    const { data: request } = Request.safeParse(json);
    if (request && request.agentId === undefined) last ??= request.data.usage;
    if (request && !sums) requests.push(request.data.usage);
    if (sums && last) break;
  }
  if (!last && !sums) return null;
  const all = [...(sums ?? []), ...requests];
  const isKnown = sums !== undefined || lines.unread === 0;
  const sum = (count: (tokens: Tokens) => number) =>
    isKnown ? all.reduce((total, tokens) => total + count(tokens), 0) : null;
  return {
    input_tokens: sum(({ inputTokens }) => inputTokens),
    output_tokens: sum(({ outputTokens }) => outputTokens),
    cached_tokens: sum(({ cacheReadTokens }) => cacheReadTokens),
    context_tokens: last?.inputTokens ?? null,
    context_limit: last?.maxPromptTokens ?? null,
    model: last?.model ?? null,
  };
}

/** Claude Code's transcripts as session files: their conversation and their tokens. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { namesIn, readHead, readTail } from "../../../host/agent_files.ts";
import { foundIn, type SessionFile, titleOf } from "../sessions/found.ts";
import { lineReader, remembered, sessionsInFiles } from "../sessions/one_file.ts";
import { type ParsedEntry, Timestamp } from "../sessions/pages.ts";
import { uuidKey } from "../sessions/repeats.ts";
import {
  type CallOutcome,
  type FoundSession,
  HEAD_BYTES,
  type SessionFiles,
  type SessionUsage,
  TAIL_BYTES,
} from "../sessions/session_files.ts";
import { folderNamedIn, projectFolders, SESSION_ID, transcriptOf } from "./transcripts.ts";
import { type BackwardLines, inBatches } from "../sessions/lines.ts";
import { Answer, claudeRequests, filesWithRequests } from "./requests.ts";

/** The content of a message: text, or the blocks of Anthropic's Messages API. */
const Content = z.union([z.string(), z.array(z.unknown())]);

/** The blocks that are shown. Others, such as thoughts and images, do not match. */
const Block = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({
    type: z.literal("tool_use"),
    id: z.string().optional(),
    name: z.string(),
    input: z.unknown().optional(),
  }),
  z.object({
    type: z.literal("tool_result"),
    tool_use_id: z.string().optional(),
    content: Content.optional(),
    is_error: z.boolean().optional(),
  }),
]);

const Part = z.object({ type: z.string(), text: z.string().optional() });

/** A line of a transcript that belongs to the conversation, as of 2.1.329. */
const Record = z.object({
  type: z.enum(["user", "assistant", "attachment"]),
  timestamp: Timestamp.nullable().catch(null),
  /** True for the records of a subagent. */
  isSidechain: z.boolean().optional(),
  /** True for text that Claude Code itself adds. */
  isMeta: z.boolean().optional(),
  /** True for the summary that replaces an earlier part of the conversation. */
  isCompactSummary: z.boolean().optional(),
  message: z.object({ content: Content }).optional(),
  /** In the result of a call that was refused, such as `user-rejected`, or that was broken off. */
  toolDenialKind: z.string().optional().catch(undefined),
  toolUseResult: z.unknown().optional(),
  /** A prompt that came while the agent worked. */
  attachment: z.object({ type: z.literal("queued_command"), prompt: Content })
    .optional().catch(undefined),
});

const Title = z.union([
  z.object({ type: z.literal("custom-title"), customTitle: z.string() })
    .transform(({ customTitle }) => customTitle),
  z.object({ type: z.literal("ai-title"), aiTitle: z.string() })
    .transform(({ aiTitle }) => aiTitle),
]);

/** The sessions under these configuration folders, the first folder first. */
export function claudeSessionFiles(config_dirs: readonly string[]): SessionFiles {
  const locate = remembered((id) => claudeTranscript(config_dirs, id));
  const list: SessionFiles["list"] = (query) =>
    foundIn(config_dirs.flatMap(filesUnder), query, describe);
  return sessionsInFiles(
    { locate, list },
    lineReader({ entriesIn, usageIn, keyOf: uuidKey("uuid") }),
    { format: claudeRequests, filesOf: filesWithRequests },
  );
}

/** The transcript of a session; undefined if no file has it. */
export function claudeTranscript(config_dirs: readonly string[], id: string): string | undefined {
  if (!SESSION_ID.test(id)) return undefined;
  return config_dirs.map((dir) => transcriptOf(dir, id)).find((file) => file !== undefined);
}

function filesUnder(config_dir: string): SessionFile[] {
  return projectFolders(config_dir).flatMap((folder) =>
    namesIn(folder).filter((name) => name.endsWith(".jsonl"))
      .map((name) => ({ session_id: name.slice(0, -".jsonl".length), file: join(folder, name) }))
  );
}

function describe({ file }: SessionFile): Pick<FoundSession, "title" | "folder"> | undefined {
  const head = readHead(file, HEAD_BYTES) ?? "";
  const first = head.split("\n").flatMap(entriesOf).find(({ kind }) => kind === "prompt");
  const title = titleIn(readTail(file, TAIL_BYTES) ?? "") ?? titleIn(head);
  // A file of a subagent, or of a session without a prompt, can neither be resumed nor read.
  if (title === undefined && first === undefined) return undefined;
  return { title: title ?? titleOf(first?.text ?? ""), folder: folderNamedIn(head) ?? null };
}

/** The last title in a text. Claude Code writes the user's title again after an agent's title. */
function titleIn(text: string): string | undefined {
  const titled = text.split("\n").filter((line) => line.includes("-title"));
  return titled.map((line) => Title.safeParse(tryJson(line)).data).findLast(Boolean);
}

/** The entries of one line, without thoughts and without the text that Claude Code adds. */
export function entriesOf(line: string): ParsedEntry[] {
  return entriesIn(tryJson(line));
}

function entriesIn(json: unknown): ParsedEntry[] {
  const { data } = Record.safeParse(json);
  if (!data || data.isSidechain === true || data.isMeta === true) return [];
  const { type, timestamp: at, message, attachment } = data;
  const content = type === "attachment" ? attachment?.prompt : message?.content;
  if (content === undefined) return [];
  const isPrompt = type !== "assistant" && data.isCompactSummary !== true;
  const kind = isPrompt ? "prompt" : "text";
  if (typeof content === "string") return [{ at, kind, text: content }];
  return content.flatMap((part): ParsedEntry[] => {
    const block = Block.safeParse(part).data;
    if (!block) return [];
    if (block.type === "text") return [{ at, kind, text: block.text }];
    if (block.type === "tool_result") {
      const { tool_use_id: call, is_error } = block;
      const text = toolResultText(block.content);
      const outcome = is_error === true ? outcomeOfError(data) : "ok";
      return [{ at, kind: "tool_result", text, call, outcome }];
    }
    const { name: tool, id: call, input = {} } = block;
    return [{ at, kind: "tool_call", text: JSON.stringify(input), tool, call }];
  });
}

/** The result that Claude Code writes for a call that its user refused. */
export const REFUSED = "User rejected tool use";
/**
 * The kind of a result that proves nothing about a dialog: a second process that resumes the
 * session writes it for each call without a result, even if the call's dialog is still open.
 */
export const INTERRUPTED = "interrupted";

/** The end of a call without a result. */
function outcomeOfError(
  { toolDenialKind: kind, toolUseResult: result }: z.infer<typeof Record>,
): CallOutcome {
  if (kind === INTERRUPTED) return "interrupted";
  if (kind !== undefined || result === REFUSED) return "denied";
  return "failed";
}

/** The output of a tool as text. A block of another kind is named by its type. */
function toolResultText(content: z.infer<typeof Content> | undefined): string {
  if (content === undefined) return "";
  if (typeof content === "string") return content;
  return content.map((part) => {
    const { data } = Part.safeParse(part);
    return data?.text ?? `[${data?.type ?? "unknown"}]`;
  }).join("\n");
}

const Count = z.number().nonnegative();

/** The sums of the whole session so far, written when its program ends, as of 2.1.329. */
const Sums = z.object({
  type: z.literal("cost-state"),
  modelUsage: z.record(
    z.string(),
    z.object({
      inputTokens: Count,
      outputTokens: Count,
      cacheReadInputTokens: Count,
      cacheCreationInputTokens: Count,
    }),
  ),
});

interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
}

/**
 * The tokens of a session. The sums are the last ones that Claude Code wrote, with the requests
 * since then. Without sums, they are those of all requests, if the read reaches the first one.
 */
async function usageIn(lines: BackwardLines): Promise<SessionUsage | null> {
  const requests = new Map<string, Tokens>();
  let last: { readonly model: string; readonly context: number } | undefined;
  let sums: readonly Tokens[] | undefined;
  for await (const { text } of inBatches(lines)) {
    const written = text.includes('"cost-state"') ? Sums.safeParse(tryJson(text)).data : undefined;
    if (written) {
      sums = Object.values(written.modelUsage).map(tokensOfModel);
      if (last) break;
    }
    const json = text.includes('"assistant"') && text.includes('"usage"') ? tryJson(text) : null;
    const answer = json === null ? undefined : Answer.safeParse(json).data;
    if (!answer) continue;
    const { id, model } = answer.message;
    const tokens = tokensOf(answer.message.usage);
    if (answer.isSidechain !== true) last ??= { model, context: tokens.input };
    if (sums && last) break;
    if (!sums && !requests.has(id)) requests.set(id, tokens);
  }
  if (!last && !sums) return null;
  const isKnown = sums !== undefined || lines.unread === 0;
  const all = [...(sums ?? []), ...requests.values()];
  const sum = (count: (tokens: Tokens) => number) =>
    isKnown ? all.reduce((total, tokens) => total + count(tokens), 0) : null;
  return {
    input_tokens: sum(({ input }) => input),
    output_tokens: sum(({ output }) => output),
    cached_tokens: sum(({ cached }) => cached),
    context_tokens: last?.context ?? null,
    // Not in the transcript.
    context_limit: null,
    model: last?.model ?? null,
  };
}

function tokensOf(usage: z.infer<typeof Answer>["message"]["usage"]): Tokens {
  const cached = usage.cache_read_input_tokens ?? 0;
  const input = usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0);
  return { input, output: usage.output_tokens, cached };
}

function tokensOfModel(usage: z.infer<typeof Sums>["modelUsage"][string]): Tokens {
  const cached = usage.cacheReadInputTokens;
  const input = usage.inputTokens + cached + usage.cacheCreationInputTokens;
  return { input, output: usage.outputTokens, cached };
}

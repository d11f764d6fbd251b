/** Claude Code's transcripts as session files: their conversation and their tokens. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { namesIn, readHead, readTail } from "../../../host/agent_files.ts";
import { foundIn, type SessionFile, titleOf } from "../sessions/found.ts";
import { lineReader, sessionsInFiles } from "../sessions/one_file.ts";
import { type ParsedEntry, Timestamp } from "../sessions/pages.ts";
import { uuidKey } from "../sessions/repeats.ts";
import {
  type FoundSession,
  HEAD_BYTES,
  type SessionFiles,
  TAIL_BYTES,
} from "../sessions/session_files.ts";
import { Block, Content, toolResultText } from "./content.ts";
import { folderNamedIn, projectFolders, SESSION_ID, transcriptOf } from "./transcripts.ts";
import { usageIn } from "./usage.ts";

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
  const locate = (id: string) => claudeTranscript(config_dirs, id);
  const list: SessionFiles["list"] = (query) =>
    foundIn(config_dirs.flatMap(filesUnder), query, describe);
  return sessionsInFiles(
    { locate, list },
    lineReader({ entriesOf, usageIn, keyOf: uuidKey("uuid") }),
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
  const { data } = Record.safeParse(tryJson(line));
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
      return [{ at, kind: "tool_result", text: toolResultText(block.content) }];
    }
    return [{ at, kind: "tool_call", text: JSON.stringify(block.input ?? {}), tool: block.name }];
  });
}

/** Copilot CLI's session records as session files: their conversation and their tokens. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { changedAt, namesIn, readHead } from "../../../host/agent_files.ts";
import { foundIn, type SessionFile, titleOf } from "../sessions/found.ts";
import { lineReader, sessionsInFiles } from "../sessions/one_file.ts";
import { type ParsedEntry, Timestamp } from "../sessions/pages.ts";
import { uuidKey } from "../sessions/repeats.ts";
import { type FoundSession, HEAD_BYTES, type SessionFiles } from "../sessions/session_files.ts";
import { folderOf, recordsFileOf, SESSION_ID } from "./sessions.ts";
import { usageIn } from "./usage.ts";

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
    toolRequests: z.array(z.object({ name: z.string(), arguments: z.unknown().optional() }))
      .optional(),
    result: z.object({ content: z.string() }).optional().catch(undefined),
    error: z.object({ message: z.string() }).optional().catch(undefined),
  }),
});
const Started = z.object({
  type: z.literal("session.start"),
  data: z.object({ context: z.object({ cwd: z.string().optional() }).optional() }),
});

export function copilotSessionFiles(config_dir: string): SessionFiles {
  const recordsOf = (id: string) => join(folderOf(config_dir, id), "events.jsonl");
  const locate = (id: string) => {
    const file = recordsFileOf(config_dir, id);
    return file !== undefined && changedAt(file) !== undefined ? file : undefined;
  };
  const list: SessionFiles["list"] = (query) => {
    const files = namesIn(join(config_dir, "session-state"))
      .filter((id) => SESSION_ID.test(id))
      .map((session_id) => ({ session_id, file: recordsOf(session_id) }));
    return foundIn(files, query, (found) => describe(found, config_dir));
  };
  return sessionsInFiles(
    { locate, list },
    lineReader({ entriesOf, usageIn, keyOf: uuidKey("id") }),
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
  return {
    title: titleOf(named ?? prompt?.text ?? ""),
    folder: started.data.context?.cwd ?? null,
  };
}

/** The session's name in its description: on one line, or on the lines below a `|`. */
function nameIn(yaml: string): string | undefined {
  return /^name: (?:[|>][+-]?\n[ ]+)?(.+)$/m.exec(yaml)?.[1];
}

export function entriesOf(line: string): ParsedEntry[] {
  const { data: record } = Record.safeParse(tryJson(line));
  if (!record || record.agentId !== undefined) return [];
  const { type, timestamp: at, data } = record;
  if (type === "user.message") return [{ at, kind: "prompt", text: data.content ?? "" }];
  if (type === "tool.execution_complete") {
    return [{ at, kind: "tool_result", text: data.result?.content ?? data.error?.message ?? "" }];
  }
  const calls = data.toolRequests ?? [];
  return [
    { at, kind: "text", text: data.content ?? "" },
    ...calls.map(({ name, arguments: input }): ParsedEntry => ({
      at,
      kind: "tool_call",
      text: typeof input === "string" ? input : JSON.stringify(input ?? {}),
      tool: name,
    })),
  ];
}

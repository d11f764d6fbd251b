/** Gemini CLI's session records: checks if a session can be resumed, and finds its last message. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { namesIn, readWhole } from "../../../host/agent_files.ts";
import type { ResumableSession, ResumeResult } from "../adapter.ts";

/** Matches prompts that are not conversation, such as commands and added context. */
export const NOT_CONVERSATION = /^\s*($|[/?]|<session_context>|<hook_context>)/;

/** The largest file of records that is read. */
const RECORDS_BYTES_MAX = 67_108_864;
const PROJECTS_BYTES_MAX = 4_194_304;

export const SESSION_ID = /^[0-9a-f-]{8,64}$/i;

const Projects = z.object({ projects: z.record(z.string(), z.string()) });
export const SessionHead = z.object({ sessionId: z.string(), kind: z.string().optional() });
export const Content = z.union([
  z.string(),
  z.array(z.looseObject({ text: z.string().optional() })),
]);
const ChatRecord = z.object({ type: z.enum(["user", "gemini"]), content: Content });

/** `--resume` finds only sessions of its working folder that are not empty. */
export function resumeOf(
  config_dir: string,
  { runtime_session_id: id, path }: ResumableSession,
): ResumeResult {
  const refuse = (reason: string): ResumeResult => ({ ok: false, reason });
  if (!SESSION_ID.test(id)) return refuse("The id is not a session id of Gemini CLI");
  const folder = chatsFolder(config_dir, path);
  if (folder === undefined) return refuse(`Gemini CLI knows no project at ${path}`);
  for (const file of sessionFiles(folder, id)) {
    const lines = recordsIn(readWhole(file, RECORDS_BYTES_MAX) ?? "");
    const head = SessionHead.safeParse(lines[0]).data;
    if (head?.sessionId !== id || head.kind === "subagent") continue;
    return lines.some(isConversation)
      ? { ok: true, args: ["--resume", id] }
      : refuse(`Session ${id} has no conversation yet`);
  }
  return refuse(`No session ${id} in ${folder}`);
}

/** The last message of a session; undefined if its records have none. */
export function lastModelText(
  config_dir: string,
  { runtime_session_id: id, path }: ResumableSession,
): string | undefined {
  const folder = SESSION_ID.test(id) ? chatsFolder(config_dir, path) : undefined;
  if (folder === undefined) return undefined;
  for (const file of sessionFiles(folder, id).toReversed()) {
    const lines = recordsIn(readWhole(file, RECORDS_BYTES_MAX) ?? "");
    if (SessionHead.safeParse(lines[0]).data?.sessionId !== id) continue;
    const chat = lines.flatMap((line) => ChatRecord.safeParse(line).data ?? []);
    const last = chat.findLast(({ type, content }) => type === "gemini" && textOf(content) !== "");
    return last && textOf(last.content);
  }
  return undefined;
}

/**
 * The files that may hold a session. A file's name ends in the first part of the session's id,
 * which is not unique. The file itself holds the whole id.
 */
export function sessionFiles(folder: string, id: string): string[] {
  const isOfSession = (name: string) =>
    name.startsWith("session-") && /\.jsonl?$/.test(name) &&
    name.slice(0, name.lastIndexOf(".")).endsWith(`-${id.slice(0, 8)}`);
  return namesIn(folder).filter(isOfSession).map((name) => join(folder, name));
}

function chatsFolder(config_dir: string, path: string): string | undefined {
  const slug = projectSlugs(config_dir)[path];
  if (slug === undefined || !/^[\w.-]+$/.test(slug) || /^\.+$/.test(slug)) return undefined;
  return join(config_dir, "tmp", slug, "chats");
}

/** The name that Gemini CLI gives to each project folder in its own folder `tmp`. */
export function projectSlugs(config_dir: string): Readonly<Record<string, string>> {
  const text = readWhole(join(config_dir, "projects.json"), PROJECTS_BYTES_MAX) ?? "";
  return Projects.safeParse(tryJson(text)).data?.projects ?? {};
}

/** The records of a file: one per line. An older file is one object with a list of messages. */
function recordsIn(text: string): unknown[] {
  const whole = z.object({ messages: z.array(z.unknown()) }).safeParse(tryJson(text)).data;
  if (whole) return [tryJson(text), ...whole.messages];
  return text.split("\n").map(tryJson);
}

function isConversation(record: unknown): boolean {
  const chat = ChatRecord.safeParse(record).data;
  if (!chat) return false;
  return chat.type === "gemini" || !NOT_CONVERSATION.test(textOf(chat.content));
}

export function textOf(content: z.output<typeof Content>): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}

/** Gemini CLI's records of its sessions: whether one can be taken up again, what it said last. */

import { join } from "node:path";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { readWhole } from "../../../host/agent_files.ts";
import type { Resume } from "../adapter.ts";

/** What stands in front of a session's first words: not something that was said. */
const IGNORED = /^\s*($|[/?]|<session_context>|<hook_context>)/;

/** Longer records are not read. */
const RECORDS_BYTES_MAX = 67_108_864;
const PROJECTS_BYTES_MAX = 4_194_304;

const SESSION_ID = /^[0-9a-f-]{8,64}$/i;

const Projects = z.object({ projects: z.record(z.string(), z.string()) });
const Head = z.object({ sessionId: z.string(), kind: z.string().optional() });
const Said = z.object({
  type: z.enum(["user", "gemini"]),
  content: z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]),
});

/** `--resume` finds sessions of the folder that it is started in only, and no empty ones. */
export function resumeOf(
  config_dir: string,
  { runtime_session_id: id, path }: { runtime_session_id: string; path: string },
): Resume {
  const refuse = (reason: string): Resume => ({ ok: false, reason });
  if (!SESSION_ID.test(id)) return refuse("The session's id is none of Gemini CLI's");
  const chats = chatsOf(config_dir, path);
  if (chats === undefined) return refuse(`Gemini CLI knows no project at ${path}`);
  for (const file of filesOf(chats, id)) {
    const lines = linesOf(readWhole(file, RECORDS_BYTES_MAX) ?? "");
    const head = Head.safeParse(lines[0]).data;
    if (head?.sessionId !== id || head.kind === "subagent") continue;
    return lines.some(isSaid)
      ? { ok: true, args: ["--resume", id] }
      : refuse(`Nothing was said in session ${id} yet`);
  }
  return refuse(`No session ${id} in ${chats}`);
}

/** What a session has said last; undefined where its records do not tell. */
export function lastSaidOf(
  config_dir: string,
  { runtime_session_id: id, path }: { runtime_session_id: string; path: string },
): string | undefined {
  const chats = SESSION_ID.test(id) ? chatsOf(config_dir, path) : undefined;
  if (chats === undefined) return undefined;
  for (const file of filesOf(chats, id).toReversed()) {
    const lines = linesOf(readWhole(file, RECORDS_BYTES_MAX) ?? "");
    if (Head.safeParse(lines[0]).data?.sessionId !== id) continue;
    const said = lines.flatMap((line) => Said.safeParse(line).data ?? []);
    const last = said.findLast(({ type, content }) => type === "gemini" && textOf(content) !== "");
    return last && textOf(last.content);
  }
  return undefined;
}

/** A name ends in the id's first part, which is not unique; the file itself says the whole. */
function filesOf(chats: string, id: string): string[] {
  const ends = [`-${id.slice(0, 8)}.jsonl`, `-${id.slice(0, 8)}.json`];
  return namesIn(chats)
    .filter((name) => name.startsWith("session-") && ends.some((end) => name.endsWith(end)))
    .map((name) => join(chats, name));
}

function chatsOf(config_dir: string, path: string): string | undefined {
  const text = readWhole(join(config_dir, "projects.json"), PROJECTS_BYTES_MAX) ?? "";
  const slug = Projects.safeParse(tryJson(text)).data?.projects[path];
  if (slug === undefined || !/^[\w.-]+$/.test(slug) || /^\.+$/.test(slug)) return undefined;
  return join(config_dir, "tmp", slug, "chats");
}

/** A record a line; an older file is one object, whose messages are its records. */
function linesOf(text: string): unknown[] {
  const whole = z.object({ messages: z.array(z.unknown()) }).safeParse(tryJson(text)).data;
  if (whole) return [tryJson(text), ...whole.messages];
  return text.split("\n").map(tryJson);
}

function isSaid(record: unknown): boolean {
  const said = Said.safeParse(record).data;
  if (!said) return false;
  return said.type === "gemini" || !IGNORED.test(textOf(said.content));
}

function textOf(content: z.infer<typeof Said>["content"]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}

function namesIn(dir: string): string[] {
  try {
    return Array.from(Deno.readDirSync(dir), ({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

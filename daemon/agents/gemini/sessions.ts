/** Gemini CLI's records of its sessions: whether one can be taken up again. */

import { join } from "node:path";
import * as z from "zod";
import { tryJson } from "kit/text.ts";
import { type Env, readTextOrNothing } from "../../places.ts";
import type { Resume } from "../contract.ts";

/** What stands in front of a session's first words: not something that was said. */
const IGNORED = /^\s*($|[/?]|<session_context>|<hook_context>)/;

const Projects = z.object({ projects: z.record(z.string(), z.string()) });
const Head = z.object({ sessionId: z.string(), kind: z.string().optional() });
const Said = z.object({
  type: z.enum(["user", "gemini"]),
  content: z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]),
});

/** Where a Gemini CLI with this environment keeps its settings and its sessions. */
export function configDir(env: Env): string {
  return join(env["GEMINI_CLI_HOME"] || (env["HOME"] ?? "/"), ".gemini");
}

/** `--resume` finds sessions of the folder that it is started in only, and no empty ones. */
export function resumeOf(
  config_dir: string,
  { runtime_session_id: id, path }: { runtime_session_id: string; path: string },
): Resume {
  const refuse = (reason: string): Resume => ({ ok: false, reason });
  if (!/^[0-9a-f-]{8,64}$/i.test(id)) return refuse("The session's id is none of Gemini CLI's");
  const chats = chatsOf(config_dir, path);
  if (chats === undefined) return refuse(`Gemini CLI knows no project at ${path}`);
  // The name ends in the id's first part, which is not unique; the file itself says the whole.
  const ends = [`-${id.slice(0, 8)}.jsonl`, `-${id.slice(0, 8)}.json`];
  for (const name of namesIn(chats)) {
    if (!name.startsWith("session-") || !ends.some((end) => name.endsWith(end))) continue;
    const lines = linesOf(readTextOrNothing(join(chats, name)) ?? "");
    const head = Head.safeParse(lines[0]).data;
    if (head?.sessionId !== id || head.kind === "subagent") continue;
    return lines.some(isSaid)
      ? { ok: true, args: ["--resume", id] }
      : refuse(`Nothing was said in session ${id} yet`);
  }
  return refuse(`No session ${id} in ${chats}`);
}

function chatsOf(config_dir: string, path: string): string | undefined {
  const text = readTextOrNothing(join(config_dir, "projects.json")) ?? "";
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
  const { content } = said;
  const text = typeof content === "string" ? content : content.map(({ text }) => text).join("");
  return said.type === "gemini" || !IGNORED.test(text);
}

function namesIn(dir: string): string[] {
  try {
    return Array.from(Deno.readDirSync(dir), ({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

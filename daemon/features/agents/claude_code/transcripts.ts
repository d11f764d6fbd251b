/** Claude Code's transcripts: whether a session can be resumed, judged by its file. */

import { join } from "node:path";
import * as z from "zod";
import { readHead } from "../../../host/agent_files.ts";
import type { ResumeResult } from "../adapter.ts";

/**
 * How much of a transcript is read. One of its first lines names the folder, and a line may hold a
 * long pasted text.
 */
const HEAD_BYTES = 65_536;

/**
 * Errors that count as a missing transcript, because Claude Code could not read such a file either.
 */
const MISSING_ERRORS = [
  Deno.errors.NotFound,
  Deno.errors.NotADirectory,
  Deno.errors.PermissionDenied,
];

const TranscriptLine = z.object({ cwd: z.string() });

/** `claude --resume <id>`, if the session's transcript exists and belongs to this folder. */
export async function resumeClaude(
  config_dirs: readonly string[],
  { runtime_session_id, path }: { runtime_session_id: string; path: string },
): Promise<ResumeResult> {
  if (!/^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/.test(runtime_session_id)) {
    return notResumable("bad_session_id");
  }
  for (const config_dir of config_dirs) {
    const file = await transcriptOf(config_dir, runtime_session_id);
    if (file === undefined) continue;
    const head = readHead(file, HEAD_BYTES) ?? "";
    if (head === "") return notResumable("session_file_empty");
    const cwd = folderNamedIn(head);
    // Claude Code finds a session only from the session's own folder.
    if (cwd !== undefined && !await isSameFolder(cwd, path)) {
      return notResumable("session_of_another_folder");
    }
    return { ok: true, args: ["--resume", runtime_session_id] };
  }
  return notResumable("session_file_missing");
}

/**
 * The path of a transcript: `<config dir>/projects/<folder>/<id>.jsonl`. It is searched for,
 * because the form of `<folder>` has changed.
 */
async function transcriptOf(config_dir: string, session_id: string): Promise<string | undefined> {
  const projects = join(config_dir, "projects");
  for (const name of await namesIn(projects)) {
    const file = join(projects, name, `${session_id}.jsonl`);
    if (await isFile(file)) return file;
  }
  return undefined;
}

/** The folder that the transcript names; undefined if no complete line names a folder. */
function folderNamedIn(head: string): string | undefined {
  for (const line of head.split("\n").slice(0, -1)) {
    try {
      const { success, data } = TranscriptLine.safeParse(JSON.parse(line));
      if (success) return data.cwd;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  return one === other || await resolveLinks(one) === await resolveLinks(other);
}

async function resolveLinks(path: string): Promise<string> {
  return await unlessMissing(() => Deno.realPath(path)) ?? path;
}

async function isFile(path: string): Promise<boolean> {
  return (await unlessMissing(() => Deno.stat(path)))?.isFile ?? false;
}

async function namesIn(dir: string): Promise<string[]> {
  const read = async () => {
    const names: string[] = [];
    for await (const { name } of Deno.readDir(dir)) names.push(name);
    return names;
  };
  return await unlessMissing(read) ?? [];
}

async function unlessMissing<T>(operation: () => Promise<T>): Promise<T | undefined> {
  try {
    return await operation();
  } catch (error) {
    if (MISSING_ERRORS.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

function notResumable(reason: string): ResumeResult {
  return { ok: false, reason };
}

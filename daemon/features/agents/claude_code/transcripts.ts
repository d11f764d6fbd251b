/** Claude Code's transcripts: checks by its file if a session can be resumed. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { readHead } from "../../../host/agent_files.ts";
import type { ResumableSession, ResumeResult } from "../adapter.ts";
import { unlessError } from "kit/host/file_errors.ts";

/**
 * Bytes of a transcript that are read. One of its first lines names the folder, and a line may hold
 * a long pasted text.
 */
const HEAD_BYTES = 65_536;

/** Errors that count as a missing transcript: Claude Code could not read such a file either. */
const { NotADirectory, NotFound, PermissionDenied } = Deno.errors;
const MISSING_ERRORS = [NotADirectory, NotFound, PermissionDenied];

export const SESSION_ID = /^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/;

const TranscriptLine = z.object({ cwd: z.string() });

/** `claude --resume <id>`, if the session's transcript exists and belongs to this folder. */
export function resumeClaude(
  config_dirs: readonly string[],
  { runtime_session_id, path }: ResumableSession,
): ResumeResult {
  if (!SESSION_ID.test(runtime_session_id)) return notResumable("bad_session_id");
  for (const config_dir of config_dirs) {
    const file = transcriptOf(config_dir, runtime_session_id);
    if (file === undefined) continue;
    const head = readHead(file, HEAD_BYTES) ?? "";
    if (head === "") return notResumable("session_file_empty");
    const cwd = folderNamedIn(head);
    // Claude Code finds a session only from the session's own folder.
    if (cwd !== undefined && cwd !== path && resolveLinks(cwd) !== resolveLinks(path)) {
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
export function transcriptOf(config_dir: string, session_id: string): string | undefined {
  return projectFolders(config_dir).map((folder) => join(folder, `${session_id}.jsonl`))
    .find((file) => unlessAbsent(() => Deno.statSync(file))?.isFile);
}

/** The folders of transcripts, one for each folder that Claude Code was started in. */
export function projectFolders(config_dir: string): string[] {
  const projects = join(config_dir, "projects");
  const folders = unlessAbsent(() => [...Deno.readDirSync(projects)]) ?? [];
  return folders.map(({ name }) => join(projects, name));
}

/** The folder that the transcript names; undefined if no complete line names a folder. */
export function folderNamedIn(head: string): string | undefined {
  for (const line of head.split("\n").slice(0, -1)) {
    const { success, data } = TranscriptLine.safeParse(tryJson(line));
    if (success) return data.cwd;
  }
  return undefined;
}

function resolveLinks(path: string): string {
  return unlessAbsent(() => Deno.realPathSync(path)) ?? path;
}

function unlessAbsent<T>(operation: () => T): T | undefined {
  return unlessError((error) => MISSING_ERRORS.some((kind) => error instanceof kind), operation);
}

function notResumable(reason: string): ResumeResult {
  return { ok: false, reason };
}

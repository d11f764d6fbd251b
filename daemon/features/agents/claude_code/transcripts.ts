/** Claude Code's transcripts: whether a session can be taken up again, by what is on the disk. */

import { join } from "node:path";
import * as z from "zod";
import { readHead } from "../../../host/agent_files.ts";
import type { Resume } from "../adapter.ts";

/** The folder stands in one of the first lines; a line may hold a pasted text. */
const HEAD_BYTES = 65_536;

/** What we cannot read, Claude Code could not either. */
const MISSING = [Deno.errors.NotFound, Deno.errors.NotADirectory, Deno.errors.PermissionDenied];

const Line = z.object({ cwd: z.string() });

/** `claude --resume <id>`, if the session's transcript is there and belongs to this folder. */
export async function resumeClaude(
  config_dirs: readonly string[],
  { runtime_session_id, path }: { runtime_session_id: string; path: string },
): Promise<Resume> {
  if (!/^[0-9A-Za-z][0-9A-Za-z-]{0,127}$/.test(runtime_session_id)) return no("bad_session_id");
  for (const config_dir of config_dirs) {
    const file = await transcriptOf(config_dir, runtime_session_id);
    if (file === undefined) continue;
    const head = readHead(file, HEAD_BYTES) ?? "";
    if (head === "") return no("session_file_empty");
    const cwd = folderIn(head);
    // A session is found from its own folder alone.
    if (cwd !== undefined && !await isSame(cwd, path)) return no("session_of_another_folder");
    return { ok: true, args: ["--resume", runtime_session_id] };
  }
  return no("session_file_missing");
}

/** `<config dir>/projects/<folder>/<id>.jsonl`: how the folder is written has changed before. */
async function transcriptOf(config_dir: string, session_id: string): Promise<string | undefined> {
  const projects = join(config_dir, "projects");
  for (const name of await namesIn(projects)) {
    const file = join(projects, name, `${session_id}.jsonl`);
    if (await isFile(file)) return file;
  }
  return undefined;
}

/** The folder that the transcript itself names; undefined where no whole line does. */
function folderIn(head: string): string | undefined {
  for (const line of head.split("\n").slice(0, -1)) {
    try {
      const { success, data } = Line.safeParse(JSON.parse(line));
      if (success) return data.cwd;
    } catch (fault) {
      if (!(fault instanceof SyntaxError)) throw fault;
    }
  }
  return undefined;
}

async function isSame(one: string, other: string): Promise<boolean> {
  return one === other || await real(one) === await real(other);
}

async function real(path: string): Promise<string> {
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

async function unlessMissing<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (fault) {
    if (MISSING.some((error) => fault instanceof error)) return undefined;
    throw fault;
  }
}

function no(reason: string): Resume {
  return { ok: false, reason };
}

/** The files that a peer has touched: those its tools edited, and those that git sees changed. */

import type { ProgramRunner } from "../../host/programs.ts";
import { cleanLine } from "kit/core/text.ts";
import type { LeftOut, Turn } from "./turns.ts";

/** How many files a hand-over names. */
const FILES_MAX = 200;
const GIT_MS_MAX = 5_000;
/** Nothing of the repository's own configuration is run, and nothing is written. */
const GIT_STATUS = [
  "git",
  "--no-optional-locks",
  "-c",
  "core.fsmonitor=false",
  "status",
  "--porcelain=v1",
  "-z",
];

export interface TouchedFile {
  readonly path: string;
  /** How it is known: `edited`, git's two letters, or `named`. */
  readonly by: string;
}

interface Sources {
  readonly turns: readonly Turn[];
  /** The files that the sender names. */
  readonly named: readonly string[];
  readonly folder: string | null;
}

/** Only names of files are handed over, and no content. */
export async function touchedFiles(
  { turns, named, folder }: Sources,
  { programs, signal }: { readonly programs: ProgramRunner; readonly signal: AbortSignal },
): Promise<{ files: readonly TouchedFile[]; left_out: readonly LeftOut[] }> {
  const { changed, left_out } = await gitStatus(folder, { programs, signal });
  const found = new Map<string, string>();
  for (const path of named) add(found, path, "named");
  for (const path of turns.flat().flatMap(editedIn)) add(found, relative(path, folder), "edited");
  for (const { path, by } of changed) add(found, path, `git ${by}`);
  const files = Array.from(found, ([path, by]) => ({ path, by }));
  const more = files.length - FILES_MAX;
  const why = `a hand-over names at most ${FILES_MAX}`;
  return {
    files: files.slice(0, FILES_MAX),
    left_out: more > 0 ? [...left_out, { what: `${more} files`, why }] : left_out,
  };
}

function add(found: Map<string, string>, path: string, by: string): void {
  const name = cleanLine(path);
  const known = found.get(name);
  found.set(name, known === undefined || known === by ? by : `${known}, ${by}`);
}

function relative(path: string, folder: string | null): string {
  return folder !== null && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

/** The names of tools that change files, in the words of all agents. */
const EDITING_TOOL = /write|edit|patch|replace|create|update/i;
/** The fields of a tool's input that name a file. The input may be cut off. */
const PATH_FIELD =
  /"(?:file_path|filePath|notebook_path|absolute_path|path)"\s*:\s*("(?:[^"\\]|\\.)*")/g;
/** The files of a patch, as Codex writes it. */
const PATCHED_FILE = /\*\*\* (?:Add|Update|Delete) File: ([^\n\\"]+)/g;

function editedIn({ kind, tool, text }: Turn[number]): string[] {
  if (kind !== "tool_call") return [];
  const fields = EDITING_TOOL.test(tool ?? "") ? text.matchAll(PATH_FIELD) : [];
  const paths = Array.from(fields, ([, quoted = '""']) => unquote(quoted));
  const patched = Array.from(text.matchAll(PATCHED_FILE), ([, path = ""]) => path.trim());
  return [...paths, ...patched].filter((path) => path !== "");
}

function unquote(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch (error) {
    if (error instanceof SyntaxError) return "";
    throw error;
  }
}

/** One line of `git status`: two letters, a space, and a path. */
const STATUS_LINE = /^([ MTADRCU?!]{2}) (.+)$/s;
/** How much of a program's output is kept: of a longer one, the beginning is missing. */
const OUTPUT_CHARS_NEARLY_FULL = 16_000;

async function gitStatus(
  folder: string | null,
  { programs, signal }: { readonly programs: ProgramRunner; readonly signal: AbortSignal },
): Promise<{ changed: readonly TouchedFile[]; left_out: readonly LeftOut[] }> {
  const what = "the files that git sees changed";
  const none = (why: string) => ({ changed: [], left_out: [{ what, why }] });
  if (folder === null) return none("its folder is not known");
  const options = { cwd: folder, timeout_ms: GIT_MS_MAX, signal };
  const { exit, output } = await programs.run(GIT_STATUS, options);
  if (exit !== 0) return none("`git status` failed in its folder, or it is no repository");
  const changed: TouchedFile[] = [];
  const parts = output.split("\0");
  for (let at = 0; at < parts.length; at++) {
    const [, by = "", path = ""] = STATUS_LINE.exec(parts[at] ?? "") ?? [];
    if (path === "") continue;
    changed.push({ path, by: by.trim() });
    // After a file that was renamed, its former name follows.
    if (/[RC]/.test(by)) at++;
  }
  const isCut = output.length >= OUTPUT_CHARS_NEARLY_FULL;
  const why = "the output of `git status` is too long";
  return { changed, left_out: isCut ? [{ what: `some of ${what}`, why }] : [] };
}

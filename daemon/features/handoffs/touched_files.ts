/** The files that a peer has touched: those its tools edited, and those that git sees changed. */

import type { ProgramRunner } from "../../host/programs.ts";
import { cleanLine, tryJson } from "kit/core/text.ts";
import type { LeftOut, Turn } from "./turns.ts";

/** Maximum files that a hand-over names. */
const FILES_MAX = 200;

export interface TouchedFile {
  readonly path: string;
  /** The source: `edited`, git's two letters, or `named`. */
  readonly by: string;
}

interface Sources {
  readonly turns: readonly Turn[];
  /** The files that the sender names. */
  readonly named: readonly string[];
  readonly folder: string | null;
}

/** Hands over the names of files without their content. */
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
  const paths = Array.from(fields, ([, quoted = ""]) => String(tryJson(quoted) ?? ""));
  const patched = Array.from(text.matchAll(PATCHED_FILE), ([, path = ""]) => path.trim());
  return [...paths, ...patched].filter((path) => path !== "");
}

const GIT_MS_MAX = 5_000;
/** Options with which git writes nothing, and starts no file monitor. */
const GIT = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false"];
/** These commands print paths, and read no file of the working tree. */
const WHERE = [
  ...[...GIT, "rev-parse", "--path-format=absolute", "--show-toplevel"],
  ...["--git-path", "index", "--git-path", "objects", "HEAD"],
];
/** Submodules have configurations of their own. */
const STATUS = [...GIT, "status", "--porcelain=v1", "-z", "--ignore-submodules=all", "--", "."];
/** Every other setting has its default: no filters, no hooks, no remotes to fetch from. */
const EMPTY_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
/** One line of `git status`: two letters, a space, and a path. */
const STATUS_LINE = /^([ MTADRCU?!]{2}) (.+)$/s;
/** Characters of a program's output that are kept. The beginning of a longer output is missing. */
const OUTPUT_CHARS_NEARLY_FULL = 16_000;

interface ChangedFiles {
  /** Each path from the root of the repository, and git's letters. */
  readonly changed: readonly { readonly path: string; readonly by: string }[];
  readonly left_out: readonly LeftOut[];
}

interface Runner {
  readonly programs: ProgramRunner;
  readonly signal: AbortSignal;
}

/**
 * The files that git reports as changed in a folder. An agent in a sandbox may have written the
 * repository, and the configuration of a repository names programs. Therefore git runs with its
 * own, empty configuration.
 */
export async function gitStatus(
  folder: string | null,
  { programs, signal }: Runner,
): Promise<ChangedFiles> {
  const what = "the files that git sees changed";
  const none = (why: string) => ({ changed: [], left_out: [{ what, why }] });
  if (folder === null) return none("its folder is not known");
  const options = { cwd: folder, timeout_ms: GIT_MS_MAX, signal };
  const where = await programs.run(WHERE, options);
  const repository = where.exit === 0 ? repositoryIn(where.output, folder) : undefined;
  if (!repository) return none("its folder is in no repository with a commit, or git failed");
  const own = await ownConfiguration(repository.head);
  try {
    const argv = ["env", ...environmentOf(repository, own), ...STATUS];
    const { exit, output } = await programs.run(argv, options);
    if (exit !== 0) return none("`git status` failed in its folder");
    const isCut = output.length >= OUTPUT_CHARS_NEARLY_FULL;
    const why = "the output of `git status` is too long";
    const left_out = isCut ? [{ what: `some of ${what}`, why }] : [];
    return { changed: changedIn(output), left_out };
  } finally {
    await Deno.remove(own, { recursive: true });
  }
}

interface Repository {
  readonly root: string;
  readonly index: string;
  readonly objects: string;
  readonly head: string;
}

/** Parses `git rev-parse`'s output. Refuses a root that is no ancestor of the folder. */
function repositoryIn(output: string, folder: string): Repository | undefined {
  const [root = "", index = "", objects = "", head = ""] = output.split("\n");
  const isWithin = root !== "" && (folder === root || folder.startsWith(`${root}/`));
  if (!isWithin || !/^[0-9a-f]{40}$/.test(head)) return undefined;
  return { root, index, objects, head };
}

/** Makes a substitute for the `.git` folder, with its commit and an empty configuration. */
async function ownConfiguration(head: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "mesh-handoff-" });
  for (const name of ["objects", "refs"]) await Deno.mkdir(`${folder}/${name}`);
  await Deno.writeTextFile(`${folder}/HEAD`, `${head}\n`);
  await Deno.writeTextFile(`${folder}/config`, EMPTY_CONFIG);
  return folder;
}

/** Excludes the person's configuration, because it may name filters, too. */
function environmentOf({ root, index, objects }: Repository, own: string): string[] {
  return [
    `GIT_DIR=${own}`,
    `GIT_WORK_TREE=${root}`,
    `GIT_INDEX_FILE=${index}`,
    `GIT_OBJECT_DIRECTORY=${objects}`,
    "GIT_CONFIG_GLOBAL=/dev/null",
    "GIT_CONFIG_NOSYSTEM=1",
  ];
}

function changedIn(output: string): ChangedFiles["changed"] {
  const changed: { path: string; by: string }[] = [];
  const parts = output.split("\0");
  for (let at = 0; at < parts.length; at++) {
    const [, by = "", path = ""] = STATUS_LINE.exec(parts[at] ?? "") ?? [];
    if (path === "") continue;
    changed.push({ path, by: by.trim() });
    // The former name of a renamed file follows it.
    if (/[RC]/.test(by)) at++;
  }
  return changed;
}

/**
 * Reads where lines of a file came from with `git blame`, and the notes on their commits. git runs
 * as for changes: with a `.git` folder and a configuration of our own, within limits.
 */

import { join } from "kit/core/path.ts";
import { showHiddenOnLine } from "kit/core/hidden.ts";
import { readWhole } from "../../host/agent_files.ts";
import { Git, type GitHost } from "../changes/git/git.ts";
import { type Repository, statOf } from "../changes/git/repository.ts";

/** A larger file is not read. */
const FILE_BYTES_MAX = 4_194_304;
const BLAME_BYTES_MAX = 1_048_576;
const COMMIT_BYTES_MAX = 65_536;
const NOTE_BYTES_MAX = 262_144;
/** Maximum refs of notes that are read, and maximum trailers and characters of each text. */
const NOTE_REFS_MAX = 10;
const TRAILERS_MAX = 20;
const TEXT_CHARS_MAX = 300;
/** Maximum commits whose messages and notes are read. */
const COMMITS_MAX = 20;

/** The keys of trailers that tools of agents write. */
const TRAILER_KEY =
  /^(?:co-authored-by|assisted-by|generated-by|generated-with)$|^entire-|^ai-|session|checkpoint/i;
/** A trailer: a key, a colon and a value. */
const TRAILER = /^([\w-]{1,64}): ?(?=.)/;

/** Consecutive lines of the same commit; null for lines that are not committed. */
export interface LineSpan {
  readonly first: number;
  readonly last: number;
  readonly commit: string | null;
}

/** A commit, with the texts about it. All of them may be forged. */
export interface BlamedCommit {
  readonly id: string;
  readonly author: string;
  readonly authored_at: number;
  readonly subject: string;
  readonly trailers: readonly string[];
  readonly notes: readonly { readonly ref: string; readonly text: string }[];
}

export interface FileLines {
  readonly spans: readonly LineSpan[];
  readonly commits: ReadonlyMap<string, BlamedCommit>;
}

/** The lines of a file; or why it has none to read. */
export async function readLines(
  repository: Repository,
  { file, first, last }: { readonly file: string; readonly first: number; readonly last: number },
  { host, signal }: { readonly host: GitHost; readonly signal: AbortSignal },
): Promise<FileLines | "no_file" | "no_line"> {
  const { root } = repository;
  const path = join(root, file);
  const text = statOf(path)?.isFile ? readWhole(path, FILE_BYTES_MAX, { inside: root }) : undefined;
  if (text === undefined || text.includes("\0")) return "no_file";
  const count = text.split("\n").length - (text.endsWith("\n") || text === "" ? 1 : 0);
  if (first > count) return "no_line";
  const end = Math.min(last, count);
  await using git = await Git.open(repository, host, signal);
  const isTracked = await git.run(["cat-file", "-e", `HEAD:${file}`], {
    bytes_max: 100,
    allowed: [0, 1, 128],
  }).then(() =>
    git.run(["ls-tree", "-z", "--name-only", "HEAD", "--", file], {
      bytes_max: NOTE_BYTES_MAX,
      allowed: [0, 128],
    })
  );
  if (isTracked.text === "") {
    return { spans: [{ first, last: end, commit: null }], commits: new Map() };
  }
  const args = ["blame", "--porcelain", "--contents", "-", "-L", `${first},${end}`, "--", file];
  const blamed = await git.run(args, { bytes_max: BLAME_BYTES_MAX, input: text });
  const spans = spansIn(blamed.text);
  const ids = [...new Set(spans.flatMap(({ commit }) => commit ?? []))].slice(0, COMMITS_MAX);
  const commits = new Map<string, BlamedCommit>();
  const refs = await noteRefs(git, repository);
  for (const id of ids) commits.set(id, await readCommit(git, id, { refs, file, line: first }));
  return { spans, commits };
}

/** The spans in the porcelain form of `git blame`. Id 0 stands for lines that are not committed. */
export function spansIn(porcelain: string): LineSpan[] {
  const spans: LineSpan[] = [];
  for (const text of porcelain.split("\n")) {
    const [, id = "", line] = /^([0-9a-f]{40}|[0-9a-f]{64}) \d+ (\d+)/.exec(text) ?? [];
    if (line === undefined) continue;
    const number = Number(line), commit = /^0+$/.test(id) ? null : id;
    const before = spans.at(-1);
    const isNext = before?.commit === commit && before.last === number - 1;
    if (before && isNext) spans[spans.length - 1] = { ...before, last: number };
    else spans.push({ first: number, last: number, commit });
  }
  return spans;
}

async function readCommit(
  git: Git,
  id: string,
  { refs, file, line }: {
    readonly refs: readonly string[];
    readonly file: string;
    readonly line: number;
  },
): Promise<BlamedCommit> {
  const { text } = await git.run(["cat-file", "commit", id], { bytes_max: COMMIT_BYTES_MAX });
  const [head = "", ...paragraphs] = text.split("\n\n");
  const [, author = "", seconds = "0"] =
    /^author ([^<\n]{0,500}) <[^>\n]{0,500}> (\d{1,12}) /m.exec(head) ?? [];
  const message = paragraphs.join("\n\n");
  const trailers = message.split("\n").flatMap((row) => isAgentTrailer(row) ? shown(row) : []);
  const notes: { ref: string; text: string }[] = [];
  for (const ref of refs) {
    const note = await readNote(git, ref, id);
    if (note !== "") notes.push({ ref: shown(ref), text: noteSummary(note, file, line) });
  }
  return {
    id,
    author: shown(author),
    authored_at: Number(seconds) * 1000,
    subject: shown(message.split("\n")[0] ?? ""),
    trailers: trailers.slice(0, TRAILERS_MAX),
    notes,
  };
}

/** The refs of notes. Their names are read here, because only known forms are given to git. */
async function noteRefs(git: Git, { common_dir }: Repository): Promise<string[]> {
  if (!statOf(join(common_dir, "refs", "notes")) && !statOf(join(common_dir, "packed-refs"))) {
    return [];
  }
  const args = ["for-each-ref", "--format=%(refname)", `--count=${NOTE_REFS_MAX}`, "refs/notes"];
  const { text } = await git.run(args, { bytes_max: COMMIT_BYTES_MAX, allowed: [0, 1, 128] });
  return text.split("\n").filter((ref) => /^refs\/notes\/[\w./-]{1,100}$/.test(ref));
}

/** The text of a note; empty without one. */
async function readNote(git: Git, ref: string, commit: string): Promise<string> {
  const options = { bytes_max: NOTE_BYTES_MAX, allowed: [0, 1, 128] };
  const { text: blob } = await git.run(["notes", `--ref=${ref}`, "list", commit], options);
  const id = blob.trim();
  if (!/^[0-9a-f]{40,64}$/.test(id)) return "";
  return (await git.run(["cat-file", "blob", id], options)).text;
}

/**
 * One line on a note. The authorship logs of git-ai list, below each file, sessions with the lines
 * that they wrote, and after `---` a JSON object with the tools; other notes begin with their text.
 */
export function noteSummary(note: string, file: string, line: number): string {
  const [attested = "", json = ""] = note.split(/^---$/m);
  const rows = attested.split("\n");
  const from = rows.indexOf(file);
  const own = from < 0 ? [] : rows.slice(from + 1).slice(0, nextFile(rows.slice(from + 1)));
  const session = own.map((row) => /^ {2}(\S+) ([\d,-]+)$/.exec(row))
    .find((match) => match && isIn(line, match[2] ?? ""))?.[1];
  if (session === undefined) return shown(note.replace(/\s+/g, " ").trim());
  const tool = /"tool" ?: ?"([^"\\]{1,60})"/.exec(json)?.[1];
  const model = /"model" ?: ?"([^"\\]{1,60})"/.exec(json)?.[1];
  return shown(`session ${session}${tool ? ` of ${tool}` : ""}${model ? `, ${model}` : ""}`);
}

function nextFile(rows: readonly string[]): number {
  const at = rows.findIndex((row) => !row.startsWith("  "));
  return at < 0 ? rows.length : at;
}

function isIn(line: number, ranges: string): boolean {
  return ranges.split(",").some((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return line >= from && line <= to;
  });
}

function shown(text: string): string {
  return showHiddenOnLine(text.slice(0, TEXT_CHARS_MAX));
}

function isAgentTrailer(row: string): boolean {
  const key = TRAILER.exec(row)?.[1];
  return key !== undefined && TRAILER_KEY.test(key);
}

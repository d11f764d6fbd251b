/** The files that a peer has touched: those its tools edited, and those that git sees changed. */

import { changedNames, type Reading } from "../changes/git/reader.ts";
import { cleanLine } from "kit/core/text.ts";
import { filesIn } from "../agents/sessions/touched.ts";
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
  reading: Reading,
): Promise<{ files: readonly TouchedFile[]; left_out: readonly LeftOut[] }> {
  const { changed, left_out } = await gitStatus(folder, reading);
  const found = new Map<string, string>();
  for (const path of named) add(found, path, "named");
  const edited = turns.flat().flatMap(filesIn).filter(({ wrote }) => wrote);
  for (const { path } of edited) add(found, relative(path, folder), "edited");
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

const WHAT = "the files that git sees changed";

/** The files that git reports as changed in a folder, by git's letters. */
async function gitStatus(folder: string | null, reading: Reading) {
  const found = await changedNames(folder, reading);
  if (typeof found === "string") return { changed: [], left_out: [{ what: WHAT, why: found }] };
  const left_out = found.isCut ? [{ what: `some of ${WHAT}`, why: "git lists too many" }] : [];
  return { changed: found.names.map(([path, by]) => ({ path, by: by.trim() })), left_out };
}

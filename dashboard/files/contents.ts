/**
 * The page and its files, compressed when they are first sent. `deno task parts` replaces this
 * module by one whose files are compressed already (`packaging/page_files.ts`).
 */

import { ASSETS, MANIFEST, SCRIPT_TYPE, WORKER } from "./files.ts";
import { PAGE } from "./page.ts";
import { storedBytes, type StoredFile } from "./stored_file.ts";

const FILES: ReadonlyMap<string, StoredFile> = new Map([
  ["page", storedBytes("text/html; charset=utf-8", PAGE)],
  ["manifest.webmanifest", storedBytes("application/manifest+json", MANIFEST)],
  ["worker.js", storedBytes(SCRIPT_TYPE, WORKER)],
  ...ASSETS.map(({ name, type, content }) =>
    [`assets/${name}`, storedBytes(type, content)] as const
  ),
]);

/** The paths of all files: `page`, or relative to the folder of the page. */
export const PATHS = [...FILES.keys()];

export function storedFile(path: string): StoredFile | undefined {
  return FILES.get(path);
}

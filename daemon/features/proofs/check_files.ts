/** Finds out whether the files that define a check were changed since the ask. */

import { join } from "kit/core/path.ts";
import type { Checks } from "protocol/jobs/contract.ts";
import { readBytes } from "../../host/agent_files.ts";
import { eachFile } from "../../host/edited_files.ts";
import type { FileHashes } from "./store.ts";

/** Maximum files that define a check, and the maximum size of one and of all. */
const FILES_MAX = 2_000;
const FILE_BYTES_MAX = 4_194_304;
const TOTAL_BYTES_MAX = 67_108_864;
/** Maximum changed files that a result names. */
const NAMED_MAX = 20;

/** The files that define a check for which `files` names none: tests and their settings. */
const DEFAULT_FILES: readonly string[] = [
  ...["test/**", "tests/**", "spec/**", "**/__tests__/**", "**/testdata/**"],
  ...["**/*_test.*", "**/*.test.*", "**/*_spec.*", "**/*.spec.*", "**/test_*.*", "**/conftest.py"],
  ...["deno.json", "deno.jsonc", "package.json", "Makefile", "GNUmakefile", "justfile"],
  ...["pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "Cargo.toml", "go.mod"],
  ...["jest.config.*", "vitest.config.*", "vite.config.*", "playwright.config.*"],
];

/** The patterns of the files that define a check: the paths that its command names, and `files`. */
function patternsOf({ argv, files }: Checks[string]): string[] {
  const words = argv.map((word) => word.replace(/^-[^=]*=/, "").replace(/^\.\//, ""));
  const paths = words.filter((word) =>
    /^[^-/]/.test(word) && !/[*?\0]/.test(word) &&
    word.split("/").every((part) => part !== "" && part !== "." && part !== "..")
  );
  return [...paths.flatMap((path) => [path, `${path}/**`]), ...files ?? DEFAULT_FILES];
}

/** The hashes of the files that define a check; null if they are too many or too large. */
export async function hashesOf(folder: string, check: Checks[string]): Promise<FileHashes> {
  const paths = new Set<string>();
  const isComplete = await eachFile(folder, patternsOf(check), (path) => {
    if (paths.size <= FILES_MAX) paths.add(path.join("/"));
  });
  if (!isComplete || paths.size > FILES_MAX) return null;
  const hashes: Record<string, string> = {};
  let total = 0;
  for (const path of [...paths].sort()) {
    const bytes = readBytes(join(folder, path), FILE_BYTES_MAX, { inside: folder });
    total += bytes?.length ?? 0;
    if (!bytes || total > TOTAL_BYTES_MAX) return null;
    hashes[path] = await sha256Of(bytes);
  }
  return hashes;
}

/** The files that were changed, added or deleted; null if that is not known. */
export function changedFiles(before: FileHashes | undefined, now: FileHashes): string[] | null {
  if (!before || !now) return null;
  const paths = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...paths].filter((path) => before[path] !== now[path]).sort().slice(0, NAMED_MAX);
}

export async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

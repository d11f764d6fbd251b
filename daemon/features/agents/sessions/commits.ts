/** The commits that a tool call of an agent makes, by its command and git's lines in its result. */

/** Characters of a result in which git's lines about commits are searched for. */
const RESULT_CHARS_MAX = 20_000;
const COMMITS_MAX = 20;

/** git's line about a new commit: `[main 0d1f2e3] Subject`, `[main (root-commit) 0d1f2e3] …`. */
const NEW_COMMIT = /\[[^\][\n"\\]{1,200} ([0-9a-f]{7,64})\] /g;

/** True if a command may make a commit. Most calls do not. */
export function mayCommit(command: string): boolean {
  return /\bgit\b/.test(command) && /\bcommit\b/.test(command);
}

/** The beginnings of the ids of the commits that a result names. */
export function commitsIn(result: string): string[] {
  const found = result.slice(0, RESULT_CHARS_MAX).matchAll(NEW_COMMIT);
  return [...new Set(Array.from(found, ([, prefix = ""]) => prefix))].slice(0, COMMITS_MAX);
}

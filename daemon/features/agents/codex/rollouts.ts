/** Codex's session files (rollouts): checks if a session can be resumed, and finds its folder. */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { namesIn, readHead } from "../../../host/agent_files.ts";
import type { ResumableSession, ResumeResult } from "../adapter.ts";
import { isThreadId } from "./threads.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** The longest first line that is read. The model's instructions in it have about 20 kB. */
const FIRST_LINE_BYTES_MAX = 1_048_576;

const FirstLine = z.looseObject({
  type: z.literal("session_meta"),
  payload: z.looseObject({ id: z.string(), cwd: z.string() }),
});

/**
 * `resume <id>` or `fork <id>`, if the session's rollout exists and names this session and this
 * folder. Reasons: `not_a_thread`, `no_rollout`, `rollout_damaged`, `rollout_of_another`,
 * `other_path`.
 */
export function rolloutOf(
  codex_home: string,
  { runtime_session_id: threadId, path }: ResumableSession,
  command: "resume" | "fork",
): ResumeResult {
  if (!isThreadId(threadId)) return { ok: false, reason: "not_a_thread" };
  const file = rolloutFile(codex_home, threadId);
  if (file === undefined) return { ok: false, reason: "no_rollout" };
  const { data } = FirstLine.safeParse(tryJson(firstLine(file)));
  if (!data) return { ok: false, reason: "rollout_damaged" };
  const { id, cwd } = data.payload;
  if (id !== threadId) return { ok: false, reason: "rollout_of_another" };
  if (realPath(cwd) !== realPath(path)) return { ok: false, reason: "other_path" };
  return { ok: true, args: [command, threadId] };
}

/** The rollout of a thread; undefined if no file has it. */
export function rolloutFile(codex_home: string, threadId: string): string | undefined {
  if (!isThreadId(threadId)) return undefined;
  return rolloutFiles(join(codex_home, "sessions"))
    .find((path) => path.endsWith(`-${threadId}.jsonl`));
}

/** The rollouts below the folder `sessions`, the last begun first: names begin with a date. */
export function* rolloutFiles(dir: string, levels_left = FOLDER_LEVELS): Generator<string> {
  for (const name of namesIn(dir).reverse()) {
    const path = join(dir, name);
    if (levels_left > 0) yield* rolloutFiles(path, levels_left - 1);
    else if (name.startsWith("rollout-") && name.endsWith(".jsonl")) yield path;
  }
}

/** The levels of folders in `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`. */
const FOLDER_LEVELS = 3;

/** The first line of a file; empty if the line has no end. */
function firstLine(path: string): string {
  const head = readHead(path, FIRST_LINE_BYTES_MAX) ?? "";
  return head.slice(0, Math.max(0, head.indexOf("\n")));
}

function realPath(path: string): string {
  return unlessMissing(() => Deno.realPathSync(path)) ?? path;
}

/** opencode's session database: checks if a session can be resumed. */

import { join } from "kit/core/path.ts";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { unlessMissing } from "../../../host/paths.ts";
import type { ResumableSession, ResumeResult } from "../adapter.ts";

/** Matches the ids of opencode's sessions. */
export const SESSION_ID = /^ses_[A-Za-z0-9]+$/;

/** One row per session in `opencode.db`, as of 1.18. */
const Row = z.object({ directory: z.string(), parent_id: z.string().nullable() });

/**
 * The arguments `-s <id>`, if the session exists, belongs to no subagent, and belongs to that
 * folder. For a session of another folder, opencode would silently start in the wrong folder.
 */
export function resume(
  data_dir: string,
  { runtime_session_id: id, path }: ResumableSession,
): ResumeResult {
  if (!SESSION_ID.test(id)) return { ok: false, reason: "not_a_session_id" };
  const row = rowOf(join(data_dir, "opencode.db"), id);
  if (typeof row === "string") return { ok: false, reason: row };
  if (row.parent_id !== null) return { ok: false, reason: "session_of_subagent" };
  if (row.directory !== path) return { ok: false, reason: "session_of_other_folder" };
  return { ok: true, args: ["-s", id] };
}

function rowOf(db_path: string, id: string): z.infer<typeof Row> | string {
  if (!unlessMissing(() => Deno.statSync(db_path))?.isFile) return "no_session_storage";
  try {
    using db = new DatabaseSync(db_path, { readOnly: true });
    const row = db.prepare("select directory, parent_id from session where id = ?").get(id);
    return row === undefined ? "no_such_session" : Row.parse(row);
  } catch {
    // The database was written by another version, is damaged, or is unreadable for this user.
    return "session_storage_unreadable";
  }
}

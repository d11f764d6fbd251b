/** opencode's own record of its sessions: whether one is there to be taken up again. */

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import type { ResumeResult } from "../adapter.ts";

/** As of 1.18: one row a session in `opencode.db`. */
const Row = z.object({ directory: z.string(), parent_id: z.string().nullable() });

/**
 * `-s <id>`, if the session is there, is no subagent's, and is of that folder: opencode would
 * start in the wrong one without a word.
 */
export function resume(
  data_dir: string,
  { runtime_session_id: id, path }: { runtime_session_id: string; path: string },
): ResumeResult {
  if (!/^ses_[A-Za-z0-9]+$/.test(id)) return { ok: false, reason: "not_a_session_id" };
  const row = rowOf(join(data_dir, "opencode.db"), id);
  if (typeof row === "string") return { ok: false, reason: row };
  if (row.parent_id !== null) return { ok: false, reason: "session_of_subagent" };
  if (row.directory !== path) return { ok: false, reason: "session_of_other_folder" };
  return { ok: true, args: ["-s", id] };
}

function rowOf(db_path: string, id: string): z.infer<typeof Row> | string {
  if (!isFile(db_path)) return "no_session_storage";
  try {
    using db = new DatabaseSync(db_path, { readOnly: true });
    const row = db.prepare("select directory, parent_id from session where id = ?").get(id);
    return row === undefined ? "no_such_session" : Row.parse(row);
  } catch {
    return "session_storage_unreadable"; // Another version's, damaged, or not for us to read.
  }
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

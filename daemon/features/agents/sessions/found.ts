/** Lists sessions that were found in files: the newest first, up to a number of files. */

import { firstLineOf } from "kit/core/text.ts";
import { changedAt } from "../../../host/agent_files.ts";
import { inBatches } from "./lines.ts";
import {
  type FoundSession,
  LISTED_FILES_MAX,
  type SessionList,
  type SessionQuery,
} from "./session_files.ts";

/** A file that may hold a session. */
export interface SessionFile {
  readonly session_id: string;
  readonly file: string;
}

/** Files read before other work of the daemon runs. */
const FILES_AT_ONCE = 20;
/** Maximum characters of a prompt in a title. */
const TITLE_CHARS_MAX = 80;

/** The matching sessions. `describe` reads a file; undefined if it has no session of the user. */
export async function foundIn(
  files: readonly SessionFile[],
  { id_prefix = "", title, folder, limit }: SessionQuery,
  describe: (found: SessionFile) => Pick<FoundSession, "title" | "folder"> | undefined,
): Promise<SessionList> {
  const dated = files.filter(({ session_id }) => session_id.startsWith(id_prefix))
    .flatMap((found) => {
      const updated_at = changedAt(found.file);
      return updated_at === undefined ? [] : [{ ...found, updated_at }];
    })
    .sort((a, b) => b.updated_at - a.updated_at);
  const sessions: FoundSession[] = [];
  for await (const found of inBatches(dated.slice(0, LISTED_FILES_MAX), FILES_AT_ONCE)) {
    if (sessions.length >= limit) return { sessions, complete: false };
    const described = describe(found);
    if (described && matches(described, { title, folder })) {
      sessions.push({ ...found, ...described });
    }
  }
  return { sessions, complete: dated.length <= LISTED_FILES_MAX };
}

export function matches(
  session: Pick<FoundSession, "title" | "folder">,
  { title, folder }: Pick<SessionQuery, "title" | "folder">,
): boolean {
  if (folder !== undefined && session.folder !== folder) return false;
  if (title === undefined) return true;
  return session.title?.toLowerCase().includes(title.toLowerCase()) === true;
}

/** A prompt as a title: its first line that is not empty, shortened. */
export function titleOf(prompt: string): string | null {
  return firstLineOf(prompt, TITLE_CHARS_MAX) || null;
}

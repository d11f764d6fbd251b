/** An agent's session files in memory. */

import type {
  FoundSession,
  SessionEntry,
  SessionFiles,
} from "../../../daemon/features/agents/sessions/session_files.ts";
import { matches } from "../../../daemon/features/agents/sessions/found.ts";

export type FakeSession = Omit<FoundSession, "file"> & {
  readonly entries?: readonly Pick<SessionEntry, "kind" | "text" | "tool">[];
};

/** Files with these sessions, of which each is in a file of its own. */
export function sessionFilesOf(sessions: readonly FakeSession[]): SessionFiles {
  const find = (id: string) => sessions.find(({ session_id }) => session_id === id);
  return {
    list: ({ id_prefix = "", title, folder, limit }) => {
      const found = sessions.filter((session) =>
        session.session_id.startsWith(id_prefix) && matches(session, { title, folder })
      );
      const shown = found.slice(0, limit).map(({ entries: _, ...session }) => ({
        ...session,
        file: "f",
      }));
      return Promise.resolve({ sessions: shown, complete: found.length <= limit });
    },
    locate: (id) => find(id) && "f",
    read: (id, { entries_max, before = Infinity, select = (entry) => entry }) => {
      const session = find(id);
      if (!session) return Promise.resolve(undefined);
      const entries = (session.entries ?? [])
        .map((entry, position) => {
          const chars = entry.text.length;
          return { ...entry, position, at: null, chars, call: null, outcome: null };
        })
        .filter(({ position }) => position < before)
        .flatMap((entry) => select(entry) ?? []);
      const page = entries.slice(-entries_max);
      const [first] = page;
      const isAll = page.length === entries.length || !first;
      return Promise.resolve({
        entries: page,
        before: isAll ? null : first.position,
        isCut: false,
      });
    },
    usage: () => Promise.resolve(null),
    async *readNew() {},
  };
}

/** Gemini CLI's session records as session files: their conversation and their tokens. */

import { dirname, join } from "kit/core/path.ts";
import { tryJson } from "kit/core/text.ts";
import { changedAt, namesIn, readHead } from "../../../host/agent_files.ts";
import { foundIn, type SessionFile, titleOf } from "../sessions/found.ts";
import { BackwardLines, inBatches } from "../sessions/lines.ts";
import { sessionsInFiles } from "../sessions/one_file.ts";
import { entriesAt, pageOf } from "../sessions/pages.ts";
import {
  type FoundSession,
  HEAD_BYTES,
  LISTED_FILES_MAX,
  type SessionFiles,
  type SessionUsage,
  USAGE_BYTES_MAX,
} from "../sessions/session_files.ts";
import { filesWithRequests, geminiRequests } from "./requests.ts";
import { entriesOf, MessageRecords, messagesIn, recordsIn } from "./messages.ts";
import { projectSlugs, SESSION_ID, sessionFiles, SessionHead } from "./sessions.ts";

/** A resumed session has more than one file. */
const FILES_MAX = 2 * LISTED_FILES_MAX;

export function geminiSessionFiles(config_dir: string): SessionFiles {
  const locate = (id: string) => geminiRecords(config_dir, id);
  const list: SessionFiles["list"] = (query) => {
    const folders = new Map(
      Object.entries(projectSlugs(config_dir))
        .map(([path, slug]) => [join(config_dir, "tmp", slug, "chats"), path]),
    );
    return foundIn(allFiles(config_dir), query, ({ file }) => describe(file, folders));
  };
  return sessionsInFiles({ locate, list }, {
    read: (file, options) => pageOf(new MessageRecords(linesOf(file)), entriesOf, options),
    usage: (file) => usageIn(new MessageRecords(linesOf(file))),
    entriesIn: (_file, _part, lines) => {
      const records = [...recordsIn(lines.toReversed())].reverse();
      const entries = records.flatMap((record) => entriesAt(record.end, entriesOf(record)));
      return Promise.resolve(entries);
    },
  }, {
    format: geminiRequests,
    filesOf: (_, id) => filesWithRequests(recordFilesOf(config_dir, id), id),
  });
}

/** From the end, because a later record may change or remove an earlier one. */
function linesOf(file: string): BackwardLines {
  return new BackwardLines(file, Infinity, USAGE_BYTES_MAX);
}

function chatFolders(config_dir: string): string[] {
  const tmp = join(config_dir, "tmp");
  return namesIn(tmp).map((slug) => join(tmp, slug, "chats"));
}

/**
 * The records of a session; undefined if there are none. A resumed session begins a second file,
 * but continues in the first. Therefore the file that changed last counts.
 */
export function geminiRecords(config_dir: string, id: string): string | undefined {
  return lastChangedFirst(recordFilesOf(config_dir, id))[0];
}

function recordFilesOf(config_dir: string, id: string): string[] {
  if (!SESSION_ID.test(id)) return [];
  const files = chatFolders(config_dir).flatMap((folder) => sessionFiles(folder, id));
  const ofSession = (file: string) => file.endsWith(".jsonl") && headOf(file)?.sessionId === id;
  return files.filter(ofSession);
}

function lastChangedFirst(files: readonly string[]): string[] {
  const dated = files.map((file) => ({ file, at: changedAt(file) ?? 0 }));
  return dated.sort((a, b) => b.at - a.at).map(({ file }) => file);
}

function headOf(file: string) {
  const [first = ""] = (readHead(file, HEAD_BYTES) ?? "").split("\n", 1);
  return SessionHead.safeParse(tryJson(first)).data;
}

/** The file of each session, among the files that changed last; the head names the whole id. */
function allFiles(config_dir: string): SessionFile[] {
  const files = chatFolders(config_dir).flatMap((folder) =>
    namesIn(folder).filter((name) => name.startsWith("session-") && name.endsWith(".jsonl"))
      .map((name) => join(folder, name))
  );
  const newest = new Map<string, string>();
  for (const file of lastChangedFirst(files).slice(0, FILES_MAX)) {
    const id = headOf(file)?.sessionId;
    if (id !== undefined && !newest.has(id)) newest.set(id, file);
  }
  return Array.from(newest, ([session_id, file]) => ({ session_id, file }));
}

function describe(
  file: string,
  folders: ReadonlyMap<string, string>,
): Pick<FoundSession, "title" | "folder"> | undefined {
  const [head, ...lines] = (readHead(file, HEAD_BYTES) ?? "").split("\n").map(tryJson);
  if (SessionHead.safeParse(head).data?.kind === "subagent") return undefined;
  const messages = lines.flatMap((line) => messagesIn(line));
  const first = entriesOf({ messages }).find(({ kind }) => kind === "prompt");
  if (first === undefined) return undefined;
  return { title: titleOf(first.text), folder: folders.get(dirname(file)) ?? null };
}

async function usageIn(records: MessageRecords): Promise<SessionUsage | null> {
  let last: { readonly context: number; readonly model: string | null } | undefined;
  let input = 0, output = 0, cached = 0;
  for await (const { messages } of inBatches(records)) {
    for (const { tokens, model = null } of messages.toReversed()) {
      if (!tokens) continue;
      last ??= { context: tokens.input, model };
      input += tokens.input;
      output += tokens.output + tokens.thoughts;
      cached += tokens.cached;
    }
  }
  if (!last) return null;
  const isWhole = records.unread === 0;
  return {
    input_tokens: isWhole ? input : null,
    output_tokens: isWhole ? output : null,
    cached_tokens: isWhole ? cached : null,
    context_tokens: last.context,
    // Not in the records.
    context_limit: null,
    model: last.model,
  };
}

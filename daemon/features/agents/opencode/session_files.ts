/** opencode's session database as session files: its conversations and their tokens. */

import { join } from "kit/core/path.ts";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { tryJson } from "kit/core/text.ts";
import { changedAt } from "../../../host/agent_files.ts";
import { endOf, pageOf, type ParsedEntry } from "../sessions/pages.ts";
import type { RecordSource } from "../sessions/lines.ts";
import {
  type CallOutcome,
  type FoundSession,
  type LastReading,
  LISTED_FILES_MAX,
  type NewRecords,
  READ_BYTES_MAX,
  type SessionEntry,
  type SessionFiles,
  type SessionUsage,
} from "../sessions/session_files.ts";
import { matches } from "../sessions/found.ts";
import { opencodeRequests } from "./requests.ts";
import type { ResumableSession, ResumeResult } from "../adapter.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

const Listed = z.object({
  id: z.string(),
  title: z.string(),
  directory: z.string(),
  time_updated: z.number(),
});

/** Reads `opencode.db` in the folder of opencode's data, as of 1.18.33. */
export function opencodeSessionFiles(data_dir: string): SessionFiles {
  const file = join(data_dir, "opencode.db");
  const locate = (id: string) => {
    const isKnown = SESSION_ID.test(id) && readDatabase(file, (db) => sessionIn(db, id));
    return isKnown ? file : undefined;
  };
  return {
    locate,
    list: ({ id_prefix = "", limit, ...wanted }) => {
      const rows = readDatabase(file, (db) =>
        db.prepare(
          "select id, title, directory, time_updated from session where parent_id is null " +
            "and substr(id, 1, ?) = ? order by time_updated desc limit ?",
        ).all(id_prefix.length, id_prefix, LISTED_FILES_MAX + 1)) ?? [];
      const sessions = rows.slice(0, LISTED_FILES_MAX).flatMap((row): FoundSession[] => {
        const { data } = Listed.safeParse(row);
        if (!data) return [];
        const { id: session_id, title, directory: folder, time_updated: updated_at } = data;
        return matches({ title, folder }, wanted)
          ? [{ session_id, title, folder, updated_at, file }]
          : [];
      });
      const complete = rows.length <= LISTED_FILES_MAX && sessions.length <= limit;
      return Promise.resolve({ sessions: sessions.slice(0, limit), complete });
    },
    async read(id, options) {
      if (locate(id) === undefined) return undefined;
      try {
        using db = open(file);
        return await pageOf(new Parts(db, id, endOf(options.before)), entriesOf, options);
      } catch {
        return undefined; // As in `readDatabase`.
      }
    },
    usage: (id) => {
      if (locate(id) === undefined) return Promise.resolve(undefined);
      return Promise.resolve(readDatabase(file, (db) => usageIn(db, id)) ?? null);
    },
    async *readNew(session_id, last) {
      if (locate(session_id) !== undefined) yield* newRecords(file, session_id, last);
    },
  };
}

/** Maximum new entries that are read at once: the last ones. */
const ENTRIES_MAX = 5_000;
const BEGINNING = { at: 0, before: 0, state: "null" };

function isOfTool({ kind }: SessionEntry): boolean {
  return kind === "tool_call" || kind === "tool_result";
}

async function* newRecords(
  file: string,
  session_id: string,
  { cursorOf, entries_after: after }: LastReading,
): AsyncGenerator<NewRecords> {
  const cursor = cursorOf(file);
  let found;
  try {
    using db = open(file);
    const source = new Parts(db, session_id, endOf(undefined));
    const { entries } = await pageOf(source, entriesOf, { after, entries_max: ENTRIES_MAX });
    found = { entries, parts: opencodeRequests(db, session_id, cursor) };
  } catch {
    return; // As in `readDatabase`.
  }
  const { entries, parts } = found;
  if (parts.length === 0 && entries.length === 0) return;
  const [first = { requests: [], cursor: cursor ?? BEGINNING }, ...more] = parts;
  // opencode changes the part of a call when it ends, which other parts may precede.
  const position = entries.findLast(isOfTool)?.position ?? after;
  const records = { file, position, isReplaced: false };
  yield { ...records, ...first, entries };
  for (const part of more) yield { ...records, ...part, entries: [] };
}

/** Runs a query; undefined if there is no database, or one that this program cannot read. */
function readDatabase<T>(file: string, query: (db: DatabaseSync) => T): T | undefined {
  if (changedAt(file) === undefined) return undefined;
  try {
    using db = open(file);
    return query(db);
  } catch {
    // The database is of another release, is damaged, or is locked.
    return undefined;
  }
}

function open(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: 200 });
}

function sessionIn(db: DatabaseSync, id: string) {
  return db.prepare("select 1 from session where id = ?").get(id);
}

const PartSize = z.object({ end: z.number(), size: z.number() });
type PartSize = z.output<typeof PartSize>;

const Part = z.object({ end: z.number(), at: z.number(), role: z.string(), data: z.string() });
type Part = z.output<typeof Part>;

/** Maximum sizes that one statement returns. */
const SIZES_AT_ONCE = 100;

/**
 * The parts of a session's messages that can be shown, last first. They are numbered in the order
 * of writing. Each part is loaded alone, up to the bytes of one read. A larger part is left out.
 */
class Parts implements RecordSource<Part> {
  readonly #db: DatabaseSync;
  readonly #session_id: string;
  #end: number;
  unread = 0;

  constructor(db: DatabaseSync, session_id: string, end: number) {
    this.#db = db;
    this.#session_id = session_id;
    this.#end = Math.min(end, Number.MAX_SAFE_INTEGER);
  }

  *[Symbol.iterator](): Iterator<Part> {
    let left = READ_BYTES_MAX;
    for (let sizes = this.#next(); sizes.length > 0; sizes = this.#next()) {
      for (const { end, size } of sizes) {
        left -= size;
        if (left < 0) {
          this.unread = end;
          return;
        }
        this.#end = end - 1;
        const part = this.#load(end);
        if (part) yield part;
      }
    }
  }

  #next(): PartSize[] {
    const rows = this.#db.prepare(
      "select rowid as end, octet_length(data) as size from part " +
        "where session_id = ? and rowid <= ? and octet_length(data) <= ? and " +
        "iif(json_valid(data), data ->> 'type', null) in ('text', 'tool') " +
        "order by rowid desc limit ?",
    ).all(this.#session_id, this.#end, READ_BYTES_MAX, SIZES_AT_ONCE);
    return z.array(PartSize).parse(rows);
  }

  /** Undefined if opencode has removed the part meanwhile, or its message. */
  #load(end: number): Part | undefined {
    const row = this.#db.prepare(
      "select p.rowid as end, p.time_created as at, m.data ->> 'role' as role, p.data as data " +
        "from part p join message m on m.id = p.message_id where p.rowid = ?",
    ).get(end);
    return row && Part.parse(row);
  }
}

const Content = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("text"),
    text: z.string(),
    /** True for text that opencode adds to a prompt. */
    synthetic: z.boolean().optional(),
    /** Without an end, the text is still being written. */
    time: z.object({ end: z.number().optional() }).optional(),
  }),
  z.object({
    type: z.literal("tool"),
    tool: z.string(),
    callID: z.string().optional(),
    state: z.object({
      input: z.unknown().optional(),
      output: z.string().optional(),
      error: z.string().optional(),
      time: z.object({ start: z.number().optional(), end: z.number().optional() }).optional(),
    }),
  }),
]);

function entriesOf({ at, role, data }: Part): ParsedEntry[] {
  const { data: part } = Content.safeParse(tryJson(data));
  if (!part) return [];
  if (part.type === "text") {
    if (part.synthetic === true) return [];
    const kind = role === "user" ? "prompt" : "text";
    const isWritten = kind === "prompt" || part.time?.end !== undefined;
    return isWritten ? [{ at, kind, text: part.text }] : [];
  }
  const { tool, callID: call, state: { input = {}, output, error, time } } = part;
  const began = time?.start ?? at;
  const made = { at: began, kind: "tool_call" as const, text: JSON.stringify(input), tool, call };
  const text = output ?? error;
  if (text === undefined) return [made];
  const outcome = output === undefined ? outcomeOfError(text) : "ok";
  return [made, { at: time?.end ?? at, kind: "tool_result", text, tool, call, outcome }];
}

function outcomeOfError(error: string): CallOutcome {
  if (/aborted/i.test(error)) return "interrupted";
  return /rejected permission|dismissed|prevents you from using/.test(error) ? "denied" : "failed";
}

const Count = z.number().nonnegative();
const Sums = z.object({
  tokens_input: Count,
  tokens_output: Count,
  tokens_reasoning: Count,
  tokens_cache_read: Count,
  tokens_cache_write: Count,
});
const Answer = z.object({
  modelID: z.string(),
  tokens: z.object({ input: Count, cache: z.object({ read: Count, write: Count }) }),
});

/** opencode counts cached input apart from other input. */
function usageIn(db: DatabaseSync, session_id: string): SessionUsage | null {
  const { data: sums } = Sums.safeParse(
    db.prepare(`select ${Object.keys(Sums.shape).join(", ")} from session where id = ?`)
      .get(session_id),
  );
  const last = db.prepare(
    "select data from message where session_id = ? and data ->> 'role' = 'assistant' " +
      "and data ->> '$.tokens.input' > 0 order by rowid desc limit 1",
  ).get(session_id);
  const { data: answer } = Answer.safeParse(tryJson(String(last?.["data"] ?? "")));
  if (!answer || !sums) return null;
  const { input, cache } = answer.tokens;
  return {
    input_tokens: sums.tokens_input + sums.tokens_cache_read + sums.tokens_cache_write,
    output_tokens: sums.tokens_output + sums.tokens_reasoning,
    cached_tokens: sums.tokens_cache_read,
    context_tokens: input + cache.read + cache.write,
    // Not in the database.
    context_limit: null,
    model: answer.modelID,
  };
}

/** Matches the ids of opencode's sessions. */
const SESSION_ID = /^ses_[A-Za-z0-9]+$/;

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

/** The interface of an agent's own session files: find a session, and read its entries. */

import type { ModelRequest, RequestCursor } from "./requests.ts";

/** Kinds of entries. Thoughts and the notes of the agent's program are none. */
type EntryKind = "prompt" | "text" | "tool_call" | "tool_result";

/**
 * The end of a tool call: with its result, with an error, refused by a person or a rule, or broken
 * off.
 */
export type CallOutcome = "ok" | "failed" | "denied" | "interrupted";

/** One entry of a conversation, as the agent recorded it: neither masked nor shortened for show. */
export interface SessionEntry {
  /** Grows within a session. The entries of one record follow each other. */
  readonly position: number;
  /** The time of its record, in milliseconds since 1970; null if the record has none. */
  readonly at: number | null;
  readonly kind: EntryKind;
  /** The text: the input of a tool as JSON, or the output of a tool. Up to `ENTRY_CHARS_MAX`. */
  readonly text: string;
  /** Length of the text before it was cut. */
  readonly chars: number;
  /** The name of the tool that was called; null for a prompt, a text, or if it is not recorded. */
  readonly tool: string | null;
  /** The id that a call and its result share; null if it is not recorded. */
  readonly call: string | null;
  /** For a result. */
  readonly outcome: CallOutcome | null;
}

/** Maximum characters of an entry's text kept in memory. */
export const ENTRY_CHARS_MAX = 65_536;

/** The entries to read: the last ones, or the last ones before or after a position. */
export interface ReadOptions {
  readonly before?: number | undefined;
  readonly after?: number | undefined;
  /** Maximum entries to return. */
  readonly entries_max: number;
  /** Changes an entry before it is returned; undefined to leave it out. */
  select?(entry: SessionEntry): SessionEntry | undefined;
}

export interface SessionPage {
  /** Oldest first. */
  readonly entries: readonly SessionEntry[];
  /**
   * The position before which to continue; null if there are no earlier entries. A read covers a
   * limited number of bytes, so a page may be empty although there are more entries.
   */
  readonly before: number | null;
  /** True if no read can reach an earlier part of the file; `before` is null then. */
  readonly isCut: boolean;
}

/** Maximum bytes of a session's file per read. A longer record is not shown. */
export const READ_BYTES_MAX = 8_388_608;
/** Maximum bytes of a file that are searched for tokens. Only lines that name tokens are parsed. */
export const USAGE_BYTES_MAX = 16_777_216;

/** Token counts recorded by the agent. Null if it records none, or no longer knows them. */
export interface SessionUsage {
  /** All input of the session so far, with what came from a cache. */
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  /** The part of the input that came from a cache. */
  readonly cached_tokens: number | null;
  /** Use of the context at the last request. */
  readonly context_tokens: number | null;
  readonly context_limit: number | null;
  readonly model: string | null;
}

/** Where the last reading of a session ended. */
export interface LastReading {
  /** Finds the cursor of a file; undefined for a file that was not read. */
  cursorOf(file: string): RequestCursor | undefined;
  /** The position up to which entries are known: -1 for none, Infinity if none are wanted. */
  readonly entries_after: number;
}

/** A part of what was recorded in a file since the last reading. */
export interface NewRecords {
  readonly file: string;
  readonly requests: readonly ModelRequest[];
  /** Entries of the session's own conversation, oldest first, perhaps with earlier ones. */
  readonly entries: readonly SessionEntry[];
  /** The cursor behind the part. */
  readonly cursor: RequestCursor;
  /** The position of the last entry before the cursor; undefined for another file. */
  readonly position: number | undefined;
  /** True if the part begins a file that has replaced the one that was read. */
  readonly isReplaced: boolean;
}

/** A session that was found in the agent's files. */
export interface FoundSession {
  readonly session_id: string;
  /** The title that the agent or its user gave it, or the beginning of its first prompt. */
  readonly title: string | null;
  /** The folder in which the session works; null if it is not recorded. */
  readonly folder: string | null;
  /** The time of the last change of the session's records, in milliseconds since 1970. */
  readonly updated_at: number;
  /** The file that holds the session; several sessions may share one. */
  readonly file: string;
}

export interface SessionQuery {
  /** The beginning of the id. */
  readonly id_prefix?: string | undefined;
  /** A part of the title, in any case. */
  readonly title?: string | undefined;
  readonly folder?: string | undefined;
  /** Maximum sessions to return. */
  readonly limit: number;
}

export interface SessionList {
  /** Last changed first. */
  readonly sessions: readonly FoundSession[];
  /** False if more files exist than one list reads: an older session may be missing. */
  readonly complete: boolean;
}

/** Maximum sessions that a list reads: those that changed last. */
export const LISTED_FILES_MAX = 300;
/** Bytes at a file's beginning that a list reads. */
export const HEAD_BYTES = 65_536;
/** Bytes at a file's end that a list reads. */
export const TAIL_BYTES = 16_384;

/**
 * An agent's session files on this machine; loaded by its definition (`definition.ts`). Each
 * function reads a bounded part of them, changes nothing, and finds nothing in files that are
 * missing, damaged, or of another release.
 */
export interface SessionFiles {
  /** The sessions that match; those of subagents are left out. */
  list(query: SessionQuery): Promise<SessionList>;
  /** The file that holds a session; undefined if no file does. */
  locate(session_id: string): string | undefined;
  /** Reads entries of a session; undefined if the session has no file. */
  read(session_id: string, options: ReadOptions): Promise<SessionPage | undefined>;
  /** The tokens of a session; null if none are recorded; undefined if the session has no file. */
  usage(session_id: string): Promise<SessionUsage | null | undefined>;
  /** Reads what a session and its subagents recorded since the last reading, in parts. */
  readNew(session_id: string, last: LastReading): AsyncIterable<NewRecords>;
}

/**
 * The files that each agent read and wrote, by the tool calls that agents record in their session
 * files. No hook waits for it.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { isAbsolute, resolve } from "kit/core/path.ts";
import { cleanLine } from "kit/core/text.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import type { NewRecords, SessionEntry } from "../agents/sessions/session_files.ts";
import { filesIn, type NamedFile } from "../agents/sessions/touched.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { ReadSession } from "../transcripts/session_reading.ts";
import type { Branches } from "./branches.ts";
import type { Overlaps, WrittenFile } from "./overlaps.ts";
import { FilePlaces } from "./places.ts";
import * as store from "./store.ts";

/** Days for which a use is kept. */
const KEPT_DAYS = 35;
/** Maximum sessions with calls that have no result yet, and maximum such calls of a session. */
const SESSIONS_MAX = 500;
const CALLS_MAX = 100;
const PATH_CHARS_MAX = 4_096;

interface FileUsesDeps {
  readonly overlaps: Overlaps;
  readonly branches: Branches;
}

type Calls = Map<string, readonly NamedFile[]>;

/** A use of a file, with its time. */
interface Use {
  readonly file: NamedFile;
  readonly at: number;
}

export class FileUses {
  readonly #ctx: Context;
  readonly #deps: FileUsesDeps;
  /** The calls without a result, by session. */
  readonly #calls = new Map<string, Calls>();
  #pruned_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: FileUsesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Called with each part of a session that was read. */
  recorded(
    tx: Tx,
    { peer, session_id }: ReadSession,
    { entries, position, isReplaced }: NewRecords,
  ): void {
    if (!peer.session_proved || position === undefined) return;
    const after = isReplaced ? -1 : store.knownUpTo(tx, peer, session_id);
    const uses = this.#usesIn(session_id, entries.filter((entry) => entry.position > after));
    this.#prune();
    const { peer_id } = peer;
    store.setPosition(tx, { peer_id, session_id, position });
    const places = new FilePlaces();
    const written = uses.flatMap((use) => this.#store(tx, peer, use, places));
    this.#deps.overlaps.wrote(tx, peer, written);
  }

  /** Called after the session of a turn that ended was read. */
  turnRead(peer: StoredPeer): Promise<void> {
    return this.#deps.branches.compare(peer);
  }

  /** The files of the calls that ended well. A call without an id counts at once. */
  #usesIn(session_id: string, entries: readonly SessionEntry[]): Use[] {
    const now = this.#ctx.clock.now();
    const calls: Calls = this.#calls.get(session_id) ?? new Map();
    setLatest(this.#calls, session_id, calls, SESSIONS_MAX);
    const uses: Use[] = [];
    for (const { kind, tool, text, call, outcome, at } of entries) {
      const time = Math.min(at ?? now, now);
      const named = filesIn({ kind, tool, text });
      if (kind === "tool_call" && call !== null) {
        if (named.length > 0) setLatest(calls, call, named, CALLS_MAX);
      } else if (kind === "tool_call") {
        uses.push(...named.map((file) => ({ file, at: time })));
      } else if (call !== null) {
        const ended = outcome === "ok" ? calls.get(call) ?? [] : [];
        uses.push(...ended.map((file) => ({ file, at: time })));
        calls.delete(call);
      }
    }
    return uses;
  }

  /** Stores a use, and returns the file if it was written. */
  #store(tx: Tx, peer: StoredPeer, { file, at }: Use, places: FilePlaces): WrittenFile[] {
    if (at < this.#ctx.clock.now() - KEPT_DAYS * DAY_MS) return [];
    const path = cleanLine(file.path).slice(0, PATH_CHARS_MAX);
    const folder = peer.path ?? "";
    if (!isAbsolute(path) && !isAbsolute(folder)) return [];
    const place = places.of(resolve(folder, path));
    const { peer_id } = peer;
    store.add(tx, { ...place, peer_id, wrote: file.wrote, at });
    return file.wrote ? [{ place, at }] : [];
  }

  #prune(): void {
    const now = this.#ctx.clock.monotonic();
    if (now - this.#pruned_at < DAY_MS) return;
    this.#pruned_at = now;
    const before = this.#ctx.clock.now() - KEPT_DAYS * DAY_MS;
    this.#ctx.db.transact((tx) => store.prune(tx, before));
  }
}

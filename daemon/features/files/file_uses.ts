/**
 * The files that each agent read and wrote, and the commits that it made, by the tool calls that
 * agents record in their session files. No hook waits for it.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { isAbsolute, resolve } from "kit/core/path.ts";
import { cleanLine } from "kit/core/text.ts";
import { RollbackMap } from "kit/data/rollback_map.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import { commitsIn, mayCommit } from "../agents/sessions/commits.ts";
import type { NewRecords, SessionEntry } from "../agents/sessions/session_files.ts";
import { filesIn, isShell, type NamedFile } from "../agents/sessions/touched.ts";
import { idsIn } from "../messages/framing.ts";
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

/** Effects on higher features. */
export interface FileEffects {
  /** A session has a call that made commits. Runs in the caller's transaction. */
  commitRecorded(tx: Tx, peer_id: string, commit: RecordedCommit): void;
}

/** The commits of a call, as the agent's session file has them. */
export interface RecordedCommit {
  readonly session_id: string;
  readonly prefixes: readonly string[];
  /** The message in the last prompt before it; undefined if that had none, or is not known. */
  readonly prompted_by: string | undefined;
  readonly at: number;
}

interface FileUsesDeps {
  readonly effects: FileEffects;
  readonly overlaps: Overlaps;
  readonly branches: Branches;
}

/** A call without a result. */
interface OpenCall {
  readonly files: readonly NamedFile[];
  readonly mayCommit: boolean;
}

/** The end of what was read of a session. */
interface SessionEnd {
  readonly calls: Map<string, OpenCall>;
  /** The message in the last prompt. */
  prompted_by: string | undefined;
}

/** A use of a file, with its time. */
interface Use {
  readonly file: NamedFile;
  readonly at: number;
}

export class FileUses {
  readonly #ctx: Context;
  readonly #deps: FileUsesDeps;
  readonly #ends: RollbackMap<string, SessionEnd>;
  #pruned_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: FileUsesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#ends = new RollbackMap(ctx.db);
  }

  /** Called with each part of a session that was read. */
  recorded(
    tx: Tx,
    { peer, session_id }: ReadSession,
    { entries, position, isReplaced }: NewRecords,
  ): void {
    if (!peer.session_proved || position === undefined) return;
    const after = isReplaced ? -1 : store.knownUpTo(tx, peer, session_id);
    const unknown = entries.filter((entry) => entry.position > after);
    const { uses, commits } = this.#foundIn(session_id, unknown);
    this.#prune();
    const { peer_id } = peer;
    store.setPosition(tx, { peer_id, session_id, position });
    const places = new FilePlaces();
    const written = uses.flatMap((use) => this.#store(tx, peer, use, places));
    this.#deps.overlaps.wrote(tx, peer, written);
    for (const commit of commits) this.#deps.effects.commitRecorded(tx, peer_id, commit);
  }

  /** Called after the session of a turn that ended was read. */
  turnRead(peer: StoredPeer): Promise<void> {
    return this.#deps.branches.compare(peer);
  }

  /** The files and commits of the calls that ended well. A call without an id counts at once. */
  #foundIn(session_id: string, entries: readonly SessionEntry[]) {
    const now = this.#ctx.clock.now();
    const known = this.#ends.get(session_id);
    const end: SessionEnd = { calls: new Map(known?.calls), prompted_by: known?.prompted_by };
    setLatest(this.#ends, session_id, end, SESSIONS_MAX);
    const uses: Use[] = [], commits: RecordedCommit[] = [];
    for (const { kind, tool, text, call, outcome, at: recorded_at } of entries) {
      const at = Math.min(recorded_at ?? now, now);
      if (kind === "prompt") end.prompted_by = idsIn(text).at(-1);
      if (kind === "tool_call") {
        const files = filesIn({ kind, tool, text });
        const open = { files, mayCommit: isShell(tool) && mayCommit(text) };
        if (call === null) uses.push(...files.map((file) => ({ file, at })));
        else if (files.length > 0 || open.mayCommit) setLatest(end.calls, call, open, CALLS_MAX);
      }
      if (kind !== "tool_result" || call === null) continue;
      const ended = outcome === "ok" ? end.calls.get(call) : undefined;
      end.calls.delete(call);
      if (!ended) continue;
      uses.push(...ended.files.map((file) => ({ file, at })));
      const prefixes = ended.mayCommit ? commitsIn(text) : [];
      if (prefixes.length === 0) continue;
      commits.push({ session_id, prefixes, prompted_by: end.prompted_by, at });
    }
    return { uses, commits };
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

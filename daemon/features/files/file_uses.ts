/**
 * The files that each agent read and wrote, and the commits that it made. Agents record their tool
 * calls in their session files; these are read after a turn, now and then during one, and when
 * somebody asks. No hook waits.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Monotonic } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { isAbsolute, resolve } from "kit/core/path.ts";
import { cleanLine } from "kit/core/text.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import { commitsIn, mayCommit } from "../agents/sessions/commits.ts";
import type { SessionEntry, SessionFiles } from "../agents/sessions/session_files.ts";
import { filesIn, isShell, type NamedFile } from "../agents/sessions/touched.ts";
import { idsIn } from "../messages/framing.ts";
import type { PeerState } from "../peers/changes.ts";
import { UnreadTurns } from "../peers/unread_turns.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import { isSubagent } from "../peers/subagents.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";
import type { Branches } from "./branches.ts";
import type { Overlaps, WrittenFile } from "./overlaps.ts";
import { FilePlaces } from "./places.ts";
import * as store from "./store.ts";

/** The interval at which sessions at work are read. */
const AT_WORK_MS = 15_000;
/** Entries of a session that are read at once, and maximum number of such parts. */
const ENTRIES_MAX = 500;
const PARTS_MAX = 10;
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
  readonly prefixes: readonly string[];
  /** The message in the last prompt before it; undefined if that had none, or is not known. */
  readonly prompted_by: string | undefined;
  readonly at: number;
}

interface FileUsesDeps {
  readonly effects: FileEffects;
  readonly transcripts: Pick<Transcripts, "sessionOf" | "isHere">;
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
  readonly #unreadTurns: UnreadTurns;
  readonly #ends = new Map<string, SessionEnd>();
  #running: Promise<void> = Promise.resolve();
  #read_at = Number.NEGATIVE_INFINITY;
  #pruned_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: FileUsesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#unreadTurns = new UnreadTurns(ctx.clock);
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged(peer: PeerState): void {
    this.#unreadTurns.peerChanged(peer);
  }

  tick(now: Monotonic): void {
    const isDue = now - this.#read_at >= AT_WORK_MS;
    if (isDue) this.#read_at = now;
    const { db, background } = this.#ctx;
    const working = isDue
      ? peers.livePeers(db).filter(({ turn_state }) => turn_state === "working")
      : [];
    const ended = this.#unreadTurns.takeDue().flatMap((peer_id) => peers.get(db, peer_id) ?? []);
    if (ended.length + working.length === 0) return;
    const reading = this.#read([...ended, ...working]);
    background.run("The files of agents could not be read", reading);
    background.run("The branches of agents could not be compared", this.#compare(reading, ended));
  }

  async #compare(before: Promise<void>, ended: readonly StoredPeer[]): Promise<void> {
    await before.catch(() => undefined);
    for (const peer of ended) await this.#deps.branches.compare(peer);
  }

  /** Reads what the agents of this machine have recorded so far. */
  async refresh(): Promise<void> {
    const { db } = this.#ctx;
    const ended = this.#unreadTurns.peer_ids.flatMap((peer_id) => peers.get(db, peer_id) ?? []);
    await this.#read([...peers.livePeers(db), ...ended]);
  }

  /** Reads after what is being read: two readings of a session would begin at the same position. */
  #read(found: readonly StoredPeer[]): Promise<void> {
    const before = this.#running;
    const reading = (async () => {
      await before.catch(() => undefined);
      const places = new FilePlaces();
      const unique = new Map(found.map((peer) => [peer.peer_id, peer]));
      for (const peer of unique.values()) await this.#readPeer(peer, places);
    })();
    this.#running = reading;
    return reading;
  }

  async #readPeer(peer: StoredPeer, places: FilePlaces): Promise<void> {
    const { db } = this.#ctx;
    const { transcripts } = this.#deps;
    // Any caller may name any session; the agent's own report proves it.
    if (isSubagent(peer) || !transcripts.isHere(peer) || !peer.session_proved) return;
    const session = await transcripts.sessionOf(peer);
    if (typeof session === "string") return;
    const { files, session_id } = session;
    const reading = { peer_id: peer.peer_id, session_id };
    const after = store.positionOf(db, reading) ?? -1;
    const entries = await newEntries(files, session_id, after);
    const position = entries.at(-1)?.position;
    if (position === undefined) return;
    const { uses, commits } = this.#foundIn(session_id, entries);
    db.transact((tx) => {
      this.#prune();
      store.setPosition(tx, { ...reading, position });
      const written = uses.flatMap((use) => this.#store(tx, peer, use, places));
      this.#deps.overlaps.wrote(tx, peer, written);
      for (const commit of commits) this.#deps.effects.commitRecorded(tx, peer.peer_id, commit);
    });
  }

  /** The files and commits of the calls that ended well. A call without an id counts at once. */
  #foundIn(session_id: string, entries: readonly SessionEntry[]) {
    const now = this.#ctx.clock.now();
    const end: SessionEnd = this.#ends.get(session_id) ??
      { calls: new Map(), prompted_by: undefined };
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
      if (prefixes.length > 0) commits.push({ prefixes, prompted_by: end.prompted_by, at });
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

/** Prompts, tool calls and results after a position, oldest first, as far as the limits reach. */
async function newEntries(
  files: SessionFiles,
  session_id: string,
  after: number,
): Promise<SessionEntry[]> {
  let entries: readonly SessionEntry[] = [];
  let before: number | undefined;
  for (let part = 0; part < PARTS_MAX; part++) {
    const page = await files.read(session_id, {
      before,
      after,
      entries_max: ENTRIES_MAX,
      select: (entry) => entry.kind === "text" ? undefined : entry,
    });
    entries = [...page?.entries ?? [], ...entries];
    if (!page || page.before === null) break;
    before = page.before;
  }
  return [...entries];
}

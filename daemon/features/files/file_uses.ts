/**
 * The files that each agent read and wrote. Agents record their tool calls in their session files;
 * these are read after a turn, now and then during one, and when somebody asks. No hook waits.
 */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Monotonic } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import { isAbsolute, resolve } from "kit/core/path.ts";
import { cleanLine } from "kit/core/text.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import type { SessionEntry, SessionFiles } from "../agents/sessions/session_files.ts";
import { filesIn, type NamedFile } from "../agents/sessions/touched.ts";
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

interface FileUsesDeps {
  readonly transcripts: Pick<Transcripts, "sessionOf" | "isHere">;
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
  readonly #unreadTurns: UnreadTurns;
  /** The calls without a result, by session. */
  readonly #calls = new Map<string, Calls>();
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
    const uses = this.#usesIn(session_id, entries);
    db.transact((tx) => {
      this.#prune();
      store.setPosition(tx, { ...reading, position });
      const written = uses.flatMap((use) => this.#store(tx, peer, use, places));
      this.#deps.overlaps.wrote(tx, peer, written);
    });
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

/** The tool calls and their results after a position, oldest first, as far as the limits reach. */
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
      select: (entry) => entry.kind.startsWith("tool_") ? entry : undefined,
    });
    entries = [...page?.entries ?? [], ...entries];
    if (!page || page.before === null) break;
    before = page.before;
  }
  return [...entries];
}

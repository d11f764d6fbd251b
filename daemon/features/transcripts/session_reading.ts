/**
 * Reads what agents record in their session files, once for all features that want it: after a
 * turn, now and then during one, and when somebody asks.
 */

import type { Monotonic } from "kit/core/clock.ts";
import { DAY_MS } from "kit/core/duration.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import { definitionOf } from "../agents/registry.ts";
import type { RequestCursor } from "../agents/sessions/requests.ts";
import type { NewRecords } from "../agents/sessions/session_files.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { PeerState } from "../peers/changes.ts";
import * as peers from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import { isSubagent } from "../peers/subagents.ts";
import { UnreadTurns } from "../peers/unread_turns.ts";
import type { Transcripts } from "./transcripts.ts";

/** The interval at which sessions at work are read, and while there are budgets. */
const AT_WORK_MS = 15_000;
const BUDGETED_MS = 5_000;
/** Time for which a session that its peer has left is read again. */
const LEFT_SESSION_MS = DAY_MS;

/** A session that is read for a peer. */
export interface ReadSession {
  readonly peer: StoredPeer;
  readonly session_id: string;
}

export interface SessionReadingEffects {
  /** A part of a session was read. Everybody stores what it wants with the cursor behind it. */
  recorded(tx: Tx, session: ReadSession, part: NewRecords): void;
  /** The session of a turn that ended was read. */
  turnRead(peer: StoredPeer): Promise<void>;
}

export interface SessionReadingPorts {
  /** The cursor of a file of a session; undefined if it was not read. */
  cursorOf(file: string, session_id: string): RequestCursor | undefined;
  /** The position up to which a session's entries are known. */
  entriesKnownUpTo(peer: StoredPeer, session_id: string): number;
  /** The sessions whose files were read since a time. */
  sessionsReadSince(since: number): readonly { peer_id: string; session_id: string }[];
}

interface SessionReadingDeps {
  readonly budgets: Pick<Budgets, "isAny">;
  readonly effects: SessionReadingEffects;
  readonly ports: SessionReadingPorts;
  readonly transcripts: Pick<Transcripts, "isHere" | "sessionOf">;
}

export class SessionReading {
  readonly #ctx: Context;
  readonly #deps: SessionReadingDeps;
  readonly #unreadTurns: UnreadTurns;
  #running: Promise<void> = Promise.resolve();
  #read_at = Number.NEGATIVE_INFINITY;

  constructor(ctx: Context, deps: SessionReadingDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#unreadTurns = new UnreadTurns(ctx.clock);
  }

  /** Called when the status or the turn of a peer has changed. */
  peerChanged(peer: PeerState): void {
    this.#unreadTurns.peerChanged(peer);
  }

  /** Called once a second. */
  tick(now: Monotonic): void {
    const { db, background } = this.#ctx;
    const isDue = now - this.#read_at >= (this.#deps.budgets.isAny ? BUDGETED_MS : AT_WORK_MS);
    if (isDue) this.#read_at = now;
    const working = isDue
      ? peers.livePeers(db).filter(({ turn_state }) => turn_state === "working")
      : [];
    const ended = this.#peersWith(this.#unreadTurns.takeDue());
    if (ended.length + working.length === 0) return;
    const reading = this.read([...ended, ...working]);
    background.run("The sessions of agents could not be read", reading);
    const after = reading.catch(() => undefined).then(async () => {
      for (const peer of ended) await this.#deps.effects.turnRead(peer);
    });
    background.run("The work of agents could not be compared", after);
  }

  /** Reads what the agents of this machine have recorded so far. */
  async readAll(): Promise<void> {
    const { db, clock } = this.#ctx;
    const left = this.#deps.ports.sessionsReadSince(clock.now() - LEFT_SESSION_MS)
      .flatMap(({ peer_id, session_id: runtime_session_id }) => {
        const peer = peers.get(db, peer_id);
        if (!peer) return [];
        // A peer's proof is that of its present session.
        const isPresent = peer.runtime_session_id === runtime_session_id;
        const session_proved = isPresent && peer.session_proved;
        return [{ ...peer, runtime_session_id, session_proved }];
      });
    const ended = this.#peersWith(this.#unreadTurns.peer_ids);
    await this.read([...peers.livePeers(db), ...ended, ...left]);
  }

  /** Reads after what is being read: two readings of a file would both begin at its cursor. */
  read(found: readonly StoredPeer[]): Promise<void> {
    const before = this.#running;
    const reading = (async () => {
      await before.catch(() => undefined);
      const unique = new Map(
        found.map((peer) => [`${peer.peer_id} ${peer.runtime_session_id}`, peer]),
      );
      for (const peer of unique.values()) await this.#readSession(peer);
    })();
    this.#running = reading;
    return reading;
  }

  async #readSession(peer: StoredPeer): Promise<void> {
    if (!definitionOf(peer.backend)?.sessionFiles || !this.#isOwner(peer)) return;
    const { effects, ports, transcripts } = this.#deps;
    const found = await transcripts.sessionOf(peer);
    if (typeof found === "string") return;
    const { files, session_id } = found;
    const parts = files.readNew(session_id, {
      cursorOf: (file) => ports.cursorOf(file, session_id),
      entries_after: ports.entriesKnownUpTo(peer, session_id),
    });
    for await (const part of parts) {
      this.#ctx.db.transact((tx) => effects.recorded(tx, { peer, session_id }, part));
    }
  }

  #peersWith(peer_ids: readonly string[]): StoredPeer[] {
    return peer_ids.flatMap((peer_id) => peers.get(this.#ctx.db, peer_id) ?? []);
  }

  /** True if a session is read for this peer: not for a subagent, nor for one that claims it. */
  #isOwner(peer: StoredPeer): boolean {
    if (isSubagent(peer) || !this.#deps.transcripts.isHere(peer)) return false;
    if (peer.session_proved || peer.runtime_session_id === null) return true;
    const others = peers.bySession(this.#ctx.db, peer.runtime_session_id);
    return !others.some(({ peer_id, session_proved }) =>
      session_proved && peer_id !== peer.peer_id
    );
  }
}

/** The tokens of peers' sessions, read again only when a session's file has changed. */

import type { Context } from "kit/data/context.ts";
import { changedAt } from "../../host/agent_files.ts";
import type { SessionUsage } from "../agents/sessions/session_files.ts";
import { definitionOf } from "../agents/registry.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { PeerUsage } from "./contract.ts";
import { NO_FILE, type Transcripts } from "./transcripts.ts";

/** How many sessions' tokens are kept in memory. */
export const CACHED_MAX = 500;

interface Cached {
  readonly changed_at: number | undefined;
  readonly usage: SessionUsage | null | undefined;
}

export class Usage {
  readonly #ctx: Context;
  readonly #transcripts: Transcripts;
  readonly #cached = new Map<string, Cached>();

  constructor(ctx: Context, transcripts: Transcripts) {
    this.#ctx = ctx;
    this.#transcripts = transcripts;
  }

  async of(peer_id: string): Promise<PeerUsage> {
    this.#transcripts.mustBeOn();
    const peer = this.#transcripts.mustBeHere(peer_id);
    const { name, backend, runtime_session_id: session_id } = peer;
    const found = await this.#read(peer);
    const reason = typeof found === "string" ? found : null;
    const usage = typeof found === "string" ? null : found;
    return { peer_id, name, backend, session_id, usage, reason };
  }

  /** Of the live peers of this machine that are agents. */
  async list(): Promise<PeerUsage[]> {
    const usage: PeerUsage[] = [];
    this.#transcripts.mustBeOn();
    for (const peer of rows.livePeers(this.#ctx.db)) {
      const isAgent = definitionOf(peer.backend)?.sessionFiles !== undefined;
      if (isAgent && this.#transcripts.isHere(peer)) usage.push(await this.of(peer.peer_id));
    }
    return usage;
  }

  /** The tokens, or why there are none. */
  async #read(peer: StoredPeer): Promise<SessionUsage | string> {
    const session = await this.#transcripts.sessionOf(peer);
    if (typeof session === "string") return session;
    const { files, session_id } = session;
    const file = files.locate(session_id);
    if (file === undefined) return NO_FILE;
    // opencode writes to a log beside its database.
    const changed_at = Math.max(changedAt(file) ?? 0, changedAt(`${file}-wal`) ?? 0);
    const known = this.#cached.get(session_id);
    const usage = known && known.changed_at === changed_at
      ? known.usage
      : await files.usage(session_id);
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear();
    this.#cached.set(session_id, { changed_at, usage });
    return usage ?? "its agent has recorded no tokens for this session";
  }
}

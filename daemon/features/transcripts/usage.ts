/** The tokens of peers' sessions, read again only when a session's file has changed. */

import type { Context } from "../../data/context.ts";
import type { Problem } from "protocol/problems.ts";
import { changedAt } from "../../host/agent_files.ts";
import type { SessionUsage } from "../agents/sessions/session_files.ts";
import { definitionOf } from "../agents/registry.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { PeerUsage, UsageOfPeer } from "protocol/transcripts.ts";
import { missingTranscript, type Reader, type Transcripts } from "./transcripts.ts";

/** Maximum sessions whose tokens are kept in memory. */
const CACHED_MAX = 500;

type Session = Awaited<ReturnType<Transcripts["sessionOf"]>>;

interface CachedUsage {
  readonly changed_at: number;
  readonly usage: SessionUsage | null | undefined;
}

export class Usage {
  readonly #ctx: Context;
  readonly #transcripts: Transcripts;
  readonly #cached = new Map<string, CachedUsage>();

  constructor(ctx: Context, transcripts: Transcripts) {
    this.#ctx = ctx;
    this.#transcripts = transcripts;
  }

  /** The usage of one peer, and the reader's permission for its transcript. */
  async of(peer_id: string, reader: Reader): Promise<UsageOfPeer> {
    const peer = this.#transcripts.mustBeHere(peer_id);
    const refused = this.#transcripts.refusalOfCopy(peer, reader);
    if (refused) throw refused;
    const session = await this.#transcripts.sessionOf(peer);
    const refusal = this.#transcripts.refusalOf(peer, reader) ??
      (typeof session === "string" ? missingTranscript(peer, session) : undefined);
    return {
      ...await this.#toUsage(peer, session),
      transcript_refusal: refusal ? toRefusal(refusal) : null,
    };
  }

  /** The usage of this machine's live agents, without the numbers that the reader may not see. */
  async list(reader: Reader): Promise<PeerUsage[]> {
    const usage: PeerUsage[] = [];
    for (const peer of rows.livePeers(this.#ctx.db)) {
      const isAgent = definitionOf(peer.backend)?.sessionFiles !== undefined;
      if (!isAgent || !this.#transcripts.isHere(peer)) continue;
      const refused = this.#transcripts.refusalOfCopy(peer, reader);
      usage.push(
        refused
          ? withoutNumbers(peer, refused)
          : await this.#toUsage(peer, await this.#transcripts.sessionOf(peer)),
      );
    }
    return usage;
  }

  async #toUsage(peer: StoredPeer, session: Session): Promise<PeerUsage> {
    const { peer_id, name, backend, runtime_session_id: session_id } = peer;
    const found = typeof session === "string" ? session : await this.#read(session);
    const reason = typeof found === "string" ? found : null;
    const usage = typeof found === "string" ? null : found;
    return { peer_id, name, backend, session_id, usage, reason };
  }

  /** The tokens, or the reason why there are none. */
  async #read(
    { files, session_id, file }: Exclude<Session, string>,
  ): Promise<SessionUsage | string> {
    // opencode writes to a log beside its database.
    const changed_at = Math.max(changedAt(file) ?? 0, changedAt(`${file}-wal`) ?? 0);
    const key = `${file} ${session_id}`;
    const known = this.#cached.get(key);
    const isKnown = known?.changed_at === changed_at;
    const usage = isKnown ? known.usage : await files.usage(session_id);
    if (this.#cached.size >= CACHED_MAX) this.#cached.clear();
    this.#cached.set(key, { changed_at, usage });
    return usage ?? "its agent has recorded no tokens for this session";
  }
}

function withoutNumbers({ peer_id, name, backend }: StoredPeer, refused: Problem): PeerUsage {
  const { detail: reason } = refused.toBody();
  return { peer_id, name, backend, session_id: null, usage: null, reason };
}

function toRefusal(problem: Problem): { error: string; detail: string } {
  const { error, detail } = problem.toBody();
  return { error, detail };
}

/** Remembers for a short time why sessions of ended agents cannot be resumed. */

import { setLatest } from "kit/core/bounded_map.ts";
import type { Context } from "../../data/context.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { Resumptions } from "../spawn/resumptions.ts";

/**
 * Time for which a finding is used: a list of all peers would read many files, and some agents'
 * whole sessions. The files of an ended session hardly change, and a wake checks them again.
 */
const KEPT_MS = { resumable: 10 * 60_000, obstacle: 30_000 } as const;
/** Maximum agents whose files are read within one second. The others count as asleep until then. */
const READS_PER_SECOND_MAX = 100;
/** Maximum remembered findings. */
const FINDINGS_MAX = 10_000;

interface Finding {
  readonly session: string | null;
  readonly obstacle: string | undefined;
  readonly at: number;
}

export class Obstacles {
  readonly #ctx: Pick<Context, "clock">;
  readonly #resumptions: Pick<Resumptions, "obstacleOf">;
  readonly #findings = new Map<string, Finding>();
  #looks = { since: Number.NEGATIVE_INFINITY, count: 0 };

  constructor(ctx: Pick<Context, "clock">, resumptions: Pick<Resumptions, "obstacleOf">) {
    this.#ctx = ctx;
    this.#resumptions = resumptions;
  }

  /** The code of the reason why a peer cannot be woken; undefined if nothing is known. */
  of(peer: StoredPeer): string | undefined {
    const now = this.#ctx.clock.monotonic();
    const known = this.#findings.get(peer.peer_id);
    const kept_ms = known?.obstacle === undefined ? KEPT_MS.resumable : KEPT_MS.obstacle;
    const isCurrent = known?.session === peer.runtime_session_id && now - known.at < kept_ms;
    if (isCurrent) return known.obstacle;
    if (now - this.#looks.since >= 1000) this.#looks = { since: now, count: 0 };
    return ++this.#looks.count > READS_PER_SECOND_MAX ? known?.obstacle : this.look(peer);
  }

  /** As `of`, by the files as they are now. */
  look(peer: StoredPeer): string | undefined {
    const obstacle = this.#resumptions.obstacleOf(peer);
    const at = this.#ctx.clock.monotonic();
    const finding = { session: peer.runtime_session_id, obstacle, at };
    setLatest(this.#findings, peer.peer_id, finding, FINDINGS_MAX);
    return obstacle;
  }
}

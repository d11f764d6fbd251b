/** Stops agents that send requests to their provider without end, and says so. */

import type { Monotonic } from "kit/core/clock.ts";
import { setLatest } from "kit/core/bounded_map.ts";
import type { Context } from "../../data/context.ts";
import { isProblem } from "protocol/problems.ts";
import type { AgentTransports } from "../agents/transports.ts";
import type { Interrupts } from "../lifecycle/interrupts.ts";
import * as peerRows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";
import type { AccountLimits } from "./limits.ts";
import type { LimitNotices } from "./notices.ts";

/** Maximum peers with a prompt that no request has followed. */
const PEERS_MAX = 1_000;
/**
 * An agent that waits for its provider uses its processor for less than this part of the time. On
 * two cores with a load of 14 to 19, Gemini CLI 0.61.0 used 0.13 while it waited and 0.2 in a storm
 * of 20 requests a second, so a storm on a machine as busy as that is not found.
 */
const WORK_MIN = 0.3;
/** Time after which an agent that waits that long is left alone. */
const WAIT_MS_MAX = 60_000;

interface BegunTurn {
  readonly at: Monotonic;
  /** The work of the process until then. */
  readonly worked_ms: number;
}

interface RequestStormsDeps {
  readonly interrupts: Pick<Interrupts, "interruptStuck">;
  readonly limits: Pick<AccountLimits, "reported">;
  readonly notices: Pick<LimitNotices, "notifyOfStorm">;
  readonly transports: Pick<AgentTransports, "adapterOf">;
}

export class RequestStorms {
  readonly #ctx: Context;
  readonly #deps: RequestStormsDeps;
  /** The turns in which the agent has not announced a request yet. */
  readonly #begun = new Map<string, BegunTurn>();

  constructor(ctx: Context, deps: RequestStormsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  promptSeen(peer_id: string): void {
    const peer = peerRows.get(this.#ctx.db, peer_id);
    const worked_ms = peer && this.#stormOf(peer)?.workedMs(peer);
    if (worked_ms === undefined) return;
    setLatest(this.#begun, peer_id, { at: this.#ctx.clock.monotonic(), worked_ms }, PEERS_MAX);
  }

  /** The agent has announced a request. */
  over(peer_id: string): void {
    this.#begun.delete(peer_id);
  }

  /** Called once a second. */
  tick(now: Monotonic): void {
    for (const [peer_id, begun] of [...this.#begun]) {
      const peer = peerRows.get(this.#ctx.db, peer_id);
      const finding = peer?.turn_state === "working" ? this.#findingOf(peer, begun, now) : "none";
      if (finding === "unknown") continue;
      this.#begun.delete(peer_id);
      if (finding === "storm" && peer) {
        void this.#ctx.background.run("Stopping a storm of requests failed", this.#stop(peer));
      }
    }
  }

  #findingOf(peer: StoredPeer, { at, worked_ms }: BegunTurn, now: Monotonic) {
    const storm = this.#stormOf(peer);
    const elapsed_ms = now - at;
    if (!storm || elapsed_ms > WAIT_MS_MAX) return "none";
    if (elapsed_ms < storm.after_ms) return "unknown";
    const work_ms = (storm.workedMs(peer) ?? worked_ms) - worked_ms;
    return work_ms >= WORK_MIN * elapsed_ms ? "storm" : "unknown";
  }

  #stormOf({ backend }: StoredPeer) {
    return this.#deps.transports.adapterOf(backend)?.storm;
  }

  /** The limit is recorded first, so that no message follows the interrupted turn at once. */
  async #stop({ peer_id, name }: StoredPeer): Promise<void> {
    const { clock, db, events } = this.#ctx;
    const { interrupts, limits, notices } = this.#deps;
    const error = "quota_exhausted", text = "It sent requests without end, and got no answer.";
    const at = clock.now();
    limits.reported(peer_id, {
      kind: "limit",
      source: "process table",
      at,
      error,
      text,
      is_of_account: true,
    });
    let outcome: string;
    try {
      outcome = (await interrupts.interruptStuck(peer_id)).outcome;
    } catch (error) {
      if (!isProblem(error, "interrupt_refused")) throw error;
      outcome = "refused";
    }
    db.transact(() => {
      events.append("limit_storm", { peer_id, outcome });
      notices.notifyOfStorm(name, outcome);
    });
  }
}

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
 * An agent that waits for its provider receives less than this in each second, at any load of
 * the machine. Gemini CLI 0.61.0 received at most 46 bytes while it waited, 470 with a retry, and
 * in a storm at least 3,900 (9 requests a second, Linux, two cores with a load of 16 to 21).
 */
const RECEIVED_MIN = 1_000;
/** The shortest time that is measured: late ticks follow each other at once. */
const SAMPLE_MS_MIN = 500;
/** Time after which an agent that waits that long is left alone. */
const WAIT_MS_MAX = 60_000;

interface BegunTurn {
  readonly begun_at: Monotonic;
  /** The agent has received data in each second since then. */
  busy_since: Monotonic;
  /** The last sample. */
  at: Monotonic;
  received: number;
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
    const received = peer && this.#stormOf(peer)?.receivedBytes(peer);
    if (received === undefined) return;
    const at = this.#ctx.clock.monotonic();
    setLatest(this.#begun, peer_id, { begun_at: at, busy_since: at, at, received }, PEERS_MAX);
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

  #findingOf(peer: StoredPeer, turn: BegunTurn, now: Monotonic) {
    const storm = this.#stormOf(peer);
    if (!storm || now - turn.begun_at > WAIT_MS_MAX) return "none";
    const elapsed_ms = now - turn.at;
    if (elapsed_ms < SAMPLE_MS_MIN) return "unknown";
    const received = storm.receivedBytes(peer) ?? turn.received;
    const isBusy = (received - turn.received) * 1000 >= RECEIVED_MIN * elapsed_ms;
    turn.at = now;
    turn.received = received;
    if (!isBusy) turn.busy_since = now;
    return now - turn.busy_since >= storm.after_ms ? "storm" : "unknown";
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

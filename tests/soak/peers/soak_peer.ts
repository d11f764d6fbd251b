/** A peer of a soak answers each ask, and retries until the daemon has accepted the answer. */

import type { Chance } from "../../support/seeded_random.ts";
import type { SoakDaemon } from "../soak_daemon.ts";

export interface SoakPeer {
  readonly name: string;
  readonly peer_id: string;
  /** True if the peer works on jobs. */
  readonly takes_jobs: boolean;
  /** Comes back after the daemon's restart, or after its own. */
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

/** A message as peers receive it, in frames and in answers to polls. */
export interface ReceivedMessage {
  readonly kind: string;
  readonly correlation_id?: string | undefined;
}

/** Every how many asks are declined, or acknowledged without a text. */
const DECLINED_ONE_IN = 8;
const BARE_ONE_IN = 4;
/** A few seconds of retries outlast a restart of the daemon. */
const RETRY_MS = 500;

/** The asks that a peer has read and not answered yet. */
export class OpenAnswers {
  readonly #daemon: SoakDaemon;
  readonly #chance: Chance;
  readonly #open = new Set<string>();

  constructor(daemon: SoakDaemon, chance: Chance) {
    this.#daemon = daemon;
    this.#chance = chance;
  }

  /** Begins to answer an ask; every other message needs no answer. */
  receive({ kind, correlation_id }: ReceivedMessage): void {
    if (kind !== "ask" || correlation_id === undefined || this.#open.has(correlation_id)) return;
    this.#open.add(correlation_id);
    this.#answer(correlation_id);
  }

  async #answer(correlation_id: string): Promise<void> {
    const [path, body] = this.#chance.oneIn(DECLINED_ONE_IN)
      ? ["/decline", { reason: "Busy" }]
      : ["/ack", this.#chance.oneIn(BARE_ONE_IN) ? {} : { message: "Port 8080" }];
    while (await this.#daemon.post(path, { correlation_id, ...body }) === undefined) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    this.#open.delete(correlation_id);
  }
}

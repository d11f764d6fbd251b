/** Why messages to other machines wait: the bus cannot be reached, or it has no room. */

import type { Reason } from "protocol/reasons.ts";
import { BusError, type BusStatus } from "./bus.ts";

interface WaitingMessagesDeps {
  readonly status: () => BusStatus;
  /** Stores the reason with what waits for a machine, or for all machines. */
  readonly notify: (reason: Reason, daemon_id?: string) => void;
}

export class WaitingMessages {
  readonly #deps: WaitingMessagesDeps;
  /** The machines for which the bus had no room at the last attempt. */
  readonly #full = new Set<string>();

  constructor(deps: WaitingMessagesDeps) {
    this.#deps = deps;
  }

  /** Why a message to this machine waits; null if it does not wait. */
  reasonFor(daemon_id: string): Reason | null {
    if (!this.#isConnected) return "bus_unreachable";
    return this.#full.has(daemon_id) ? "bus_full" : null;
  }

  /** The connection changed. */
  changed(): void {
    if (!this.#isConnected) this.#deps.notify("bus_unreachable");
  }

  /** Hands something for a machine to the bus, and notes whether the bus has room for it. */
  async attempt(daemon_id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#full.delete(daemon_id);
    } catch (error) {
      if (error instanceof BusError && error.reason === "full") {
        this.#full.add(daemon_id);
        this.#deps.notify("bus_full", daemon_id);
      }
      throw error;
    }
  }

  get #isConnected(): boolean {
    return this.#deps.status().status === "connected";
  }
}

/** A peer without a socket: it asks for its messages, and sends receipts. */

import type { Chance } from "../../support/seeded_random.ts";
import type { SoakDaemon } from "../soak_daemon.ts";
import { OpenAnswers, type SoakPeer } from "./soak_peer.ts";

const PAGE = 100;

interface Page {
  readonly deliveries?: readonly { kind: string; correlation_id: string | null }[];
  readonly drain_id?: string | null;
}

export class PollingPeer implements SoakPeer {
  readonly name: string;
  readonly takes_jobs = false;
  readonly #daemon: SoakDaemon;
  readonly #open: OpenAnswers;
  #peer_id = "";

  constructor(name: string, daemon: SoakDaemon, chance: Chance) {
    this.name = name;
    this.#daemon = daemon;
    this.#open = new OpenAnswers(daemon, chance);
  }

  get peer_id(): string {
    return this.#peer_id;
  }

  async connect(): Promise<void> {
    if (this.#peer_id !== "") return void await this.poll();
    const identity = { name: this.name, path: "/work", backend: "sdk", circle: "soak" };
    const answer = await this.#daemon.post("/peers", identity);
    this.#peer_id = String(answer?.body["peer_id"] ?? "");
  }

  disconnect(): Promise<void> {
    return Promise.resolve();
  }

  async poll(): Promise<void> {
    const query = `peer_id=${this.#peer_id}&max_results=${PAGE}`;
    const answer = await this.#daemon.call("GET", `/deliveries/pending?${query}`);
    const { deliveries = [], drain_id = null }: Page = answer?.body ?? {};
    if (drain_id === null) return;
    await this.#daemon.post("/deliveries/receipts", { drain_id, status: "accepted" });
    for (const { kind, correlation_id } of deliveries) {
      this.#open.receive({ kind, correlation_id: correlation_id ?? undefined });
    }
  }
}

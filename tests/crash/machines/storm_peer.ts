/** A peer on one of the machines: asks, notes and broadcasts to the others, and answers theirs. */

import type { RealMachine } from "../../support/real_machines/real_machine.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { Chance } from "../../support/seeded_random.ts";
import { Client, type MessageFrame } from "../client.ts";

const BETWEEN_MS = 10;
const OFF_MS = 20;
const CANCEL_AFTER_MS_MAX = 60;
const CANCELLED_ONE_IN = 8;
const BROADCAST_ONE_IN = 25;
const UNANSWERED_ONE_IN = 4;

export class StormPeer {
  readonly machine: RealMachine;
  readonly client: Client;
  /** The ids of messages that the daemon has answered with 200. */
  readonly accepted = new Set<string>();
  /** The answers that the daemon has answered with 200, by the id of the ask here. */
  readonly answered = new Map<string, string>();
  readonly #chance: Chance;
  readonly #due = new Map<string, string>();
  #seed = 0;
  #number = 0;
  #peers: readonly StormPeer[] = [];

  constructor(machine: RealMachine) {
    this.machine = machine;
    this.#chance = new Chance(0);
    this.client = new Client(`peer-${machine.name}`, {
      receipts: true,
      onMessage: (frame) => this.#received(frame),
    });
  }

  /** The peers that it writes to, and the numbers of the seed. */
  begin(seed: number, peers: readonly StormPeer[]): void {
    this.#seed = seed;
    this.#chance.restart(seed + this.machine.name.length);
    this.#peers = peers.filter((peer) => peer !== this);
    this.accepted.clear();
    this.answered.clear();
  }

  async connect(): Promise<void> {
    await this.client.connect(this.machine.port);
  }

  get isDone(): boolean {
    return this.#due.size === 0;
  }

  /** Sends one message after the other until the signal ends it. */
  async send(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.machine.isRunning) await this.#sendOne();
      else await pause(OFF_MS);
      await pause(this.#chance.below(2 * BETWEEN_MS));
    }
  }

  /** Answers what came until the signal ends it. */
  async answer(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const [id, message] of this.#due) {
        const from_peer = this.client.peer_id;
        const closed = await this.#post("/ack", { correlation_id: id, message, from_peer });
        if (!closed) break;
        if (closed.status === 200) this.answered.set(id, message);
        this.#due.delete(id);
      }
      await pause(OFF_MS);
    }
  }

  #received({ type, correlation_id = "", text = "" }: MessageFrame): void {
    if (type !== "ask" || Number(text.split(" ")[2]) % UNANSWERED_ONE_IN === 0) return;
    if (!this.answered.has(correlation_id)) this.#due.set(correlation_id, `answer to ${text}`);
  }

  async #sendOne(): Promise<void> {
    const number = String(++this.#number).padStart(7, "0");
    const text = `${this.#seed} ${this.machine.name} ${number} ${"x".repeat(200)}`;
    const from_peer = this.client.peer_id;
    const to_peer = this.#chance.pick(this.#peers).client.peer_id;
    if (this.#chance.oneIn(BROADCAST_ONE_IN)) {
      const sent = await this.#post("/broadcast", { from_peer, text, circle: "storm" });
      for (const { delivery_id } of sent?.body.sent_to ?? []) this.accepted.add(delivery_id);
      return;
    }
    const path = this.#chance.oneIn(2) ? "/ask" : "/notify";
    const sent = await this.#post(path, { from_peer, to_peer, text });
    if (sent?.status !== 200) return;
    const { correlation_id, delivery_id } = sent.body;
    this.accepted.add(correlation_id ?? delivery_id ?? "");
    if (!correlation_id || !this.#chance.oneIn(CANCELLED_ONE_IN)) return;
    await pause(this.#chance.below(CANCEL_AFTER_MS_MAX));
    await this.#post(`/asks/${correlation_id}/cancel`, { peer_id: from_peer });
  }

  /** Undefined if the daemon did not answer. */
  async #post(path: string, body: unknown) {
    if (!this.machine.isRunning) return undefined;
    try {
      const response = await fetch(this.machine.base + path, {
        method: "POST",
        body: JSON.stringify(body),
      });
      const answer: Answer = await response.json();
      return { status: response.status, body: answer };
    } catch (error) {
      // Cut off by the kill.
      if (error instanceof TypeError || error instanceof SyntaxError) return undefined;
      throw error;
    }
  }
}

interface Answer {
  readonly correlation_id?: string;
  readonly delivery_id?: string;
  readonly sent_to?: readonly { readonly delivery_id: string }[];
}

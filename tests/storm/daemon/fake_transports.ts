/** An agent's transports in a storm: ready or not, quick or slow, with every kind of receipt. */

import assert from "node:assert/strict";
import type {
  Adapter,
  AgentPeer,
  AgentTransport,
  Observation,
  OutgoingMessage,
  Readiness,
  Receipt,
  ResumeResult,
  TurnEnd,
} from "../../../daemon/features/agents/adapter.ts";
import type { Chance } from "../../support/seeded_random.ts";

/** Acts of the transports of all runs. */
export interface TransportEvents {
  /** Deliveries of which bytes were written: none may be sent again. */
  readonly written: Set<string>;
  /** Called with the text of each message to a peer, in the order of writing. */
  onWritten(peer_id: string, delivery_id: string, text: string): void;
  /** True if exactly this process reads the pane's input. */
  isReadBy(at: AgentPeer): boolean;
  /** Called when bytes are typed into the pane of this peer. */
  onTyped(at: AgentPeer): void;
  /** Throws if a message goes to an account at its limit, or beside the probe of one. */
  mayGo(delivery_id: string): void;
  /** Called when the transport itself has proved the delivery. */
  onAccepted(peer_id: string, delivery_id: string): void;
}

/** The settings folder of all agents of a storm. */
export const STORM_ACCOUNT = "/storm/account";

const MESSAGE_TEXT = /from="@(\S+)"[^>]*>(sesame \d{6})</;

export class StormAdapter implements Adapter {
  readonly backend = "generic" as const;
  readonly #chance: Chance;
  readonly #events: TransportEvents;
  readonly #pendingDeliveries: (() => void)[] = [];
  #ended = false;

  constructor(chance: Chance, events: TransportEvents) {
    this.#chance = chance;
    this.#events = events;
  }

  transports({ pane_id }: AgentPeer): readonly AgentTransport[] {
    return pane_id === null ? [this.#transport("native")] : [this.#transport("pane")];
  }

  transport(): "native" {
    return "native";
  }

  /** The ends at a limit that the records of agents show. */
  readonly ends = new Map<string, TurnEnd>();

  /** All agents of a storm share one account. */
  account() {
    return { home: STORM_ACCOUNT };
  }

  observe({ peer_id }: AgentPeer): Promise<Observation | undefined> {
    const end = this.ends.get(peer_id);
    const seen = { alive: true, turn_state: null, source: "session file" };
    return Promise.resolve(end && { ...seen, end });
  }

  resume({ runtime_session_id }: { readonly runtime_session_id: string }): ResumeResult {
    return { ok: true, args: ["--resume", runtime_session_id] };
  }

  /** True while a delivery is held back. */
  get isSlow(): boolean {
    return this.#pendingDeliveries.length > 0;
  }

  /** Completes the deliveries that were held back. */
  releaseSlow(): void {
    for (const done of this.#pendingDeliveries.splice(0)) done();
  }

  /** Ends this run of the daemon: the effects of its transports are ignored from now on. */
  end(): void {
    this.#ended = true;
    this.releaseSlow();
  }

  #transport(name: AgentTransport["name"]): AgentTransport {
    return {
      name,
      check: (peer) => Promise.resolve(this.#ready(name, peer)),
      deliver: (peer, outgoing) => this.#deliver(name, peer, outgoing),
    };
  }

  #ready(name: AgentTransport["name"], peer: AgentPeer): Readiness {
    const isElsewhere = name === "pane" && !this.#events.isReadBy(peer);
    if (isElsewhere) return { ready: false, reason: "agent_elsewhere" };
    return this.#chance.oneIn(3) ? { ready: false, reason: "dialog_open" } : { ready: true };
  }

  async #deliver(
    name: AgentTransport["name"],
    peer: AgentPeer,
    outgoing: OutgoingMessage,
  ): Promise<Receipt> {
    if (this.#ended) return { state: "unclear", reason: "transport_failed" };
    const { peer_id } = peer;
    const { delivery_id, framed } = outgoing;
    const isElsewhere = name === "pane" && !this.#events.isReadBy(peer);
    if (isElsewhere) return { state: "refused", reason: "agent_elsewhere" };
    this.#events.mayGo(delivery_id);
    assert.ok(
      !this.#events.written.has(delivery_id),
      `${delivery_id} was sent again by a transport`,
    );
    const receipt = this.#chance.pick(RECEIPTS);
    if (receipt.state !== "refused") {
      this.#events.written.add(delivery_id);
      if (name === "pane") this.#events.onTyped(peer);
      const [, from, text] = MESSAGE_TEXT.exec(framed) ?? [];
      this.#events.onWritten(peer_id, delivery_id, text ? `${from} ${text}` : framed);
    }
    if (this.#chance.oneIn(3)) {
      await new Promise<void>((done) => this.#pendingDeliveries.push(done));
    }
    if (receipt.state === "accepted" && !this.#ended) this.#events.onAccepted(peer_id, delivery_id);
    return receipt;
  }
}

const RECEIPTS: readonly Receipt[] = [
  { state: "refused", reason: "draft_present" },
  { state: "refused", reason: "agent_gone" },
  { state: "sent" },
  { state: "sent" },
  { state: "accepted" },
  { state: "unclear", reason: "typed_not_submitted" },
];

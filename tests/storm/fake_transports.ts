/** An agent's rungs in a storm: ready or not, quick or slow, with every receipt that there is. */

import assert from "node:assert/strict";
import type {
  Adapter,
  Addressee,
  Parcel,
  Readiness,
  Receipt,
  Resume,
  Rung,
} from "../../daemon/features/agents/adapter.ts";
import type { Chance } from "../support/seeded_random.ts";

/** What the rungs of all lives have done. */
export interface Carried {
  /** Deliveries of which bytes went out: not one of them may be sent again. */
  readonly out: Set<string>;
  /** The words of each message to a peer, in the order in which their bytes went out. */
  heard(peer_id: string, delivery_id: string, words: string): void;
  /** Whether this very process reads what is typed into this pane. */
  reads(at: Addressee): boolean;
  /** Bytes go into the pane of this peer. */
  entered(at: Addressee): void;
  /** The rung itself proved the message. */
  accepted(peer_id: string, delivery_id: string): void;
}

const WORDS = /from="@(\S+)"[^>]*>(sesame \d{6})</;

export class Ladder implements Adapter {
  readonly backend = "generic" as const;
  readonly #chance: Chance;
  readonly #carried: Carried;
  readonly #slow: (() => void)[] = [];
  #over = false;

  constructor(chance: Chance, carried: Carried) {
    this.#chance = chance;
    this.#carried = carried;
  }

  rungs({ pane_id }: Addressee): readonly Rung[] {
    return pane_id === null ? [this.#rung("native")] : [this.#rung("pane")];
  }

  transport(): "native" {
    return "native";
  }

  sight(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  resume({ runtime_session_id }: { readonly runtime_session_id: string }): Promise<Resume> {
    return Promise.resolve({ ok: true, args: ["--resume", runtime_session_id] });
  }

  /** Those who are slow come to their end. */
  hurry(): void {
    for (const done of this.#slow.splice(0)) done();
  }

  /** The life of this daemon ends: what its rungs do from now on, nobody sees. */
  end(): void {
    this.#over = true;
    this.hurry();
  }

  #rung(name: Rung["name"]): Rung {
    return {
      name,
      check: (peer) => Promise.resolve(this.#ready(name, peer)),
      deliver: (peer, parcel) => this.#deliver(name, peer, parcel),
    };
  }

  #ready(name: Rung["name"], peer: Addressee): Readiness {
    const elsewhere = name === "pane" && !this.#carried.reads(peer);
    if (elsewhere) return { ready: false, reason: "agent_elsewhere" };
    return this.#chance.oneIn(3) ? { ready: false, reason: "dialog_open" } : { ready: true };
  }

  async #deliver(name: Rung["name"], peer: Addressee, parcel: Parcel): Promise<Receipt> {
    if (this.#over) return { state: "unclear", reason: "rung_failed" };
    const { peer_id } = peer;
    const { delivery_id, framed } = parcel;
    const elsewhere = name === "pane" && !this.#carried.reads(peer);
    if (elsewhere) return { state: "refused", reason: "agent_elsewhere" };
    assert.ok(!this.#carried.out.has(delivery_id), `${delivery_id} was sent by a rung again`);
    const receipt = this.#chance.pick(RECEIPTS);
    if (receipt.state !== "refused") {
      this.#carried.out.add(delivery_id);
      if (name === "pane") this.#carried.entered(peer);
      const [, from, words] = WORDS.exec(framed) ?? [];
      this.#carried.heard(peer_id, delivery_id, words ? `${from} ${words}` : framed);
    }
    if (this.#chance.oneIn(3)) await new Promise<void>((done) => this.#slow.push(done));
    if (receipt.state === "accepted" && !this.#over) this.#carried.accepted(peer_id, delivery_id);
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

/** Carries what waits to agents without a socket: rung by rung, one message a peer at a time. */

import type { Ground } from "kit/data/context.ts";
import type { Reason } from "kit/core/reasons.ts";
import type { Addressee, Parcel, Receipt, Rung } from "../../agents/adapter.ts";
import * as ledger from "../ledger/ledger.ts";
import type { Held } from "../contract.ts";
import { isOver, type Steps } from "../ledger/steps.ts";
import { firstWaiting, lastReason, type Waiting } from "../ledger/waiting.ts";
import { Parcels } from "./outgoing.ts";

/** Where a peer is now, and the rungs that lead there; none when there is no way. */
export interface Ladder {
  addressee(peer_id: string): Addressee | undefined;
  rungs(peer: Addressee, parcel: Parcel): readonly Rung[];
}

export interface CourierNeeds {
  readonly ladder: Ladder;
  /** True while a socket carries this peer's messages. */
  connected(peer_id: string): boolean;
  delivered(peer_id: string): void;
  /** Whether messages may wait for it: not for one that is retired, or lost its addressability. */
  mayWait(peer_id: string): boolean;
}

/** What became of one try: go on to the next message, or wait until something changes. */
type Outcome = "carried" | "blocked";

export class Courier {
  readonly #ground: Ground;
  readonly #steps: Steps;
  readonly #needs: CourierNeeds;
  /** The walk that is under way for each peer, and whether something came in the meantime. */
  readonly #walks = new Map<string, { again: boolean; done: Promise<void> }>();
  readonly #parcels = new Parcels();
  #closing = false;

  constructor(ground: Ground, steps: Steps, needs: CourierNeeds) {
    this.#ground = ground;
    this.#steps = steps;
    this.#needs = needs;
  }

  /** Something waits for this peer, or something changed about it. */
  wake(peer_id: string): void {
    if (this.#closing) return;
    const under = this.#walks.get(peer_id);
    if (under) return void (under.again = true);
    if (this.#needs.connected(peer_id) || !this.#needs.ladder.addressee(peer_id)) {
      return this.#parcels.forget(peer_id);
    }
    const walk = { again: false, done: Promise.resolve() };
    this.#walks.set(peer_id, walk);
    walk.done = this.#walk(peer_id, walk).catch((fault) => {
      this.#ground.log.error("A courier failed", { peer_id, fault });
    }).finally(() => this.#walks.delete(peer_id));
  }

  /** Takes no new message; resolves when those under way have come to their end. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all([...this.#walks.values()].map(({ done }) => done));
  }

  async #walk(peer_id: string, walk: { again: boolean }): Promise<void> {
    do {
      walk.again = false;
      await this.#ground.db.durable();
      while (!this.#closing && await this.#next(peer_id) === "carried");
    } while (walk.again && !this.#closing);
  }

  async #next(peer_id: string): Promise<Outcome> {
    const { db } = this.#ground;
    const message = this.#needs.connected(peer_id) ? undefined : firstWaiting(db, peer_id);
    if (!message) {
      this.#parcels.forget(peer_id);
      return "blocked";
    }
    const addressee = this.#needs.ladder.addressee(peer_id);
    if (!addressee) return "blocked";
    // A plugin may have had it already, and drops repeats; no other rung does.
    if (message.repeatable && message.rung === "websocket") {
      this.#say(message, "socket_awaited");
      return "blocked";
    }
    const { seq } = message;
    const parcel = this.#parcels.of(peer_id, seq, () => ledger.heldBySeq(db, seq));
    if (!parcel) return "blocked";
    const reasons: string[] = [];
    for (const rung of this.#needs.ladder.rungs(addressee, parcel)) {
      const readiness = await rung.check(addressee, parcel);
      if (!readiness.ready) {
        reasons.push(`${rung.name}: ${readiness.reason}`);
        continue;
      }
      const receipt = await this.#try(message, { addressee, parcel, rung });
      if (receipt === undefined) return "carried";
      if (receipt.state !== "refused") return "carried";
      reasons.push(`${rung.name}: ${receipt.reason}`);
    }
    this.#say(message, reasons.join("; ") || "no_transport");
    return "blocked";
  }

  /** One rung, once: on the disk as attempting before its first byte. */
  async #try(
    message: Waiting,
    { addressee, parcel, rung }: { addressee: Addressee; parcel: Parcel; rung: Rung },
  ): Promise<Receipt | undefined> {
    const { db } = this.#ground;
    const now = ledger.heldBySeq(db, message.seq);
    if (now?.state !== "queued") return undefined; // It went another way while we looked.
    const attempted = this.#steps.attempted(now, rung.name, false);
    await db.durable();
    const receipt = await this.#deliver(rung, addressee, parcel);
    this.#record(attempted, receipt);
    await db.durable();
    if (receipt.state !== "refused") this.#needs.delivered(addressee.peer_id);
    return receipt;
  }

  /** A rung that throws may have written: that is unclear, never a no. */
  async #deliver(rung: Rung, peer: Addressee, parcel: Parcel): Promise<Receipt> {
    try {
      return await rung.deliver(peer, parcel);
    } catch (fault) {
      this.#ground.log.error("A rung failed", { rung: rung.name, peer_id: peer.peer_id, fault });
      return { state: "unclear", reason: "rung_failed" };
    }
  }

  /** Proof may have been faster than the receipt: what is further on stays. */
  #record(attempted: Held, receipt: Receipt): void {
    const { db, clock } = this.#ground;
    db.transact((tx) => {
      const now = ledger.heldBySeq(db, attempted.seq);
      if (now?.state !== "attempting") {
        if (receipt.state !== "refused") ledger.writtenOnce(tx, attempted.seq, clock.now());
        return;
      }
      if (receipt.state === "refused") this.#putBack(now, receipt.reason);
      else if (receipt.state === "accepted") this.#steps.accepted(this.#steps.written(now));
      else if (receipt.state === "sent") this.#steps.written(now);
      else {
        this.#steps.written(now, receipt.reason);
        this.#steps.note(now, "unclear", receipt.reason);
      }
    });
  }

  /** What was under way while its peer ceased to take any, or its ask ended, waits no more. */
  #putBack(message: Held, reason: Reason): void {
    const queued = this.#steps.refused(message, reason);
    if (isOver(message)) this.#steps.dropped(queued, message.close_reason ?? reason);
    else if (!this.#needs.mayWait(message.to_peer_id)) {
      this.#steps.dropped(queued, "peer_not_addressable");
    }
  }

  /** Keeps the reason visible on all that waits behind this message as well. */
  #say({ to_peer_id, reason: known }: Waiting, reason: string): void {
    const { db } = this.#ground;
    if (known === reason && lastReason(db, to_peer_id) === reason) return;
    db.transact((tx) => ledger.blocked(tx, to_peer_id, reason));
  }
}

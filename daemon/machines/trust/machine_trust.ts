/** Decides which machines this daemon trusts: the first card of a machine is pinned. */

import { hasPassed } from "kit/core/clock.ts";
import type { Context } from "../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import * as refusals from "./refusals.ts";
import type { CardRefusal } from "./refusals.ts";
import * as rows from "../store.ts";
import type { Machine } from "../store.ts";
import { checkCard, type SignedCard } from "./cards.ts";
import type { PublicKeys } from "./keys.ts";
import type { NetworkKeys } from "./network.ts";

/** A limit against a member of the network that invents machines. */
export const MACHINES_MAX = 2000;

/** `last_seen` is written at most this often for each machine, because every batch is a sign. */
export const TOUCH_MS_MIN = 60_000;

/** Result of a received card. */
type CardOutcome =
  /** A new machine: its keys are trusted from now on. */
  | { readonly outcome: "pinned"; readonly machine: Machine }
  /** A pinned machine has a newer card with the same keys, such as one with another name. */
  | { readonly outcome: "renewed"; readonly machine: Machine }
  /** A pinned machine, with the stored card or an older card. */
  | { readonly outcome: "known"; readonly machine: Machine }
  /** The card of this machine itself. */
  | { readonly outcome: "self" }
  | { readonly outcome: "refused"; readonly refusal: CardRefusal };

interface MachineTrustDeps {
  readonly network: NetworkKeys;
  /** The card of this machine. */
  readonly own: SignedCard;
  /** Names with rights on this machine. A machine pinned under another name may not take them. */
  readonly reserved?: readonly string[];
}

export class MachineTrust {
  readonly #ctx: Pick<Context, "db" | "clock">;
  readonly #deps: MachineTrustDeps;
  /** Machines by id, as of the table's revision `#revision`: parsing a row takes 0.1 ms. */
  readonly #read = new Map<string, Machine>();
  #revision = -1;

  constructor(ctx: Pick<Context, "db" | "clock">, deps: MachineTrustDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Takes the card of a machine in the form in which it came from the bus. Trusts the first card
   * that a holder of the network secret made, and from then on only its keys, until a person has
   * the machine forgotten.
   */
  receive(tx: Tx, given: unknown): CardOutcome {
    const checked = checkCard(given, this.#deps.network);
    if (checked.ok) return this.#receiveAuthentic(tx, checked.card);
    if (checked.reason === "malformed") return refuse(refusals.malformed(checked.summary));
    const { reason, card } = checked;
    const refusal = reason === "not_signed" ? refusals.notSigned : refusals.notOfNetwork;
    return refuse(refusal(card));
  }

  list(): Machine[] {
    return rows.list(this.#ctx.db);
  }

  get(daemon_id: string): Machine | undefined {
    const { db } = this.#ctx;
    const revision = db.revisionOf("machines");
    if (revision !== this.#revision) this.#read.clear();
    this.#revision = revision;
    const machine = this.#read.get(daemon_id) ?? rows.get(db, daemon_id);
    if (machine) this.#read.set(daemon_id, machine);
    return machine;
  }

  /** Finds a machine by its id or its name, as a person gives it. */
  find(id_or_name: string): Machine | undefined {
    return this.get(id_or_name) ?? rows.getByName(this.#ctx.db, id_or_name);
  }

  /** Forgets a machine, so that its next card is pinned with any keys; false if it is unknown. */
  forget(tx: Tx, daemon_id: string): boolean {
    return rows.forget(tx, daemon_id) > 0;
  }

  /** Records that something authentic came from a pinned machine. */
  touch(tx: Tx, daemon_id: string): void {
    const now = this.#ctx.clock.now();
    const machine = rows.get(tx, daemon_id);
    if (!machine) return;
    const { last_seen } = machine;
    if (last_seen === null || hasPassed(TOUCH_MS_MIN, last_seen, now)) {
      rows.touch(tx, daemon_id, now);
    }
  }

  #receiveAuthentic(tx: Tx, card: SignedCard): CardOutcome {
    const { own } = this.#deps;
    const pinned = card.daemon_id === own.daemon_id ? undefined : rows.get(tx, card.daemon_id);
    const trusted = card.daemon_id === own.daemon_id ? own : pinned?.card;
    if (trusted && !haveSameKeys(card, trusted)) {
      return refuse(refusals.keysChanged(card, trusted));
    }
    if (card.daemon_id === own.daemon_id) return { outcome: "self" };
    if (pinned && card.created_at <= pinned.card.created_at) {
      return { outcome: "known", machine: pinned };
    }
    const holder = this.#holderOf(tx, card.name);
    if (holder && holder.daemon_id !== card.daemon_id) {
      return refuse(refusals.nameTaken(card, holder));
    }
    if (!pinned) return this.#pin(tx, card);
    if (this.#takesReserved(pinned, card)) return refuse(refusals.nameReserved(card, pinned));
    return this.#renew(tx, pinned, card);
  }

  #takesReserved(pinned: Machine, card: SignedCard): boolean {
    const { reserved = [] } = this.#deps;
    const name = card.name.toLowerCase();
    return name !== pinned.name.toLowerCase() &&
      reserved.some((reservedName) => reservedName.toLowerCase() === name);
  }

  #pin(tx: Tx, card: SignedCard): CardOutcome {
    if (rows.count(tx) >= MACHINES_MAX) return refuse(refusals.tooMany(card, MACHINES_MAX));
    const { daemon_id, name } = card;
    const machine = { daemon_id, name, card, pinned_at: this.#ctx.clock.now(), last_seen: null };
    rows.pin(tx, machine);
    return { outcome: "pinned", machine };
  }

  #renew(tx: Tx, pinned: Machine, card: SignedCard): CardOutcome {
    const machine = { ...pinned, name: card.name, card };
    rows.update(tx, machine);
    return { outcome: "renewed", machine };
  }

  /** The machine that has a name: this one or a pinned one. */
  #holderOf(tx: Tx, name: string): { readonly daemon_id: string } | undefined {
    const { own } = this.#deps;
    return name.toLowerCase() === own.name.toLowerCase() ? own : rows.getByName(tx, name);
  }
}

function refuse(refusal: CardRefusal): CardOutcome {
  return { outcome: "refused", refusal };
}

function haveSameKeys(a: PublicKeys, b: PublicKeys): boolean {
  return a.sign === b.sign && a.agree === b.agree;
}

/** Sealing between two machines: only the receiver can read the bytes, and knows their sender. */

import { Problem } from "protocol/problems.ts";
import type { Database } from "kit/data/sqlite.ts";
import * as rows from "../store.ts";
import type { Envelopes, KeyHolder } from "./envelope.ts";

/**
 * Seals what goes to a pinned machine, and opens what comes from it. The keys come from the cards
 * that this daemon trusts. The context, such as `batch`, must be the same on both sides, so that
 * nothing sealed for one purpose serves another.
 */
export class PinnedSeal {
  readonly #db: Database;
  readonly #envelopes: Envelopes;
  /** Holders by id, as of the table's revision `#revision`: parsing a card takes 30 µs. */
  readonly #holders = new Map<string, KeyHolder>();
  #revision = -1;

  constructor(db: Database, envelopes: Envelopes) {
    this.#db = db;
    this.#envelopes = envelopes;
  }

  /** Throws `unknown_machine_name` if the keys of the machine are not known. */
  seal(to: string, context: string, bytes: Uint8Array): Uint8Array {
    const holder = this.#holderOf(to);
    if (!holder) throw new Problem("unknown_machine_name", { machine: to });
    return this.#envelopes.sealFor(holder, context, bytes);
  }

  /** Null for bytes that the machine did not write for this machine in this context. */
  open(from: string, context: string, bytes: Uint8Array): Uint8Array | null {
    const holder = this.#holderOf(from);
    return holder ? this.#envelopes.openFrom(holder, context, bytes) : null;
  }

  #holderOf(daemon_id: string): KeyHolder | undefined {
    const revision = this.#db.revisionOf("machines");
    if (revision !== this.#revision) this.#holders.clear();
    this.#revision = revision;
    const found = this.#holders.get(daemon_id) ?? rows.get(this.#db, daemon_id)?.card;
    if (found) this.#holders.set(daemon_id, found);
    return found;
  }
}

export type MachineSeal = Pick<PinnedSeal, keyof PinnedSeal>;

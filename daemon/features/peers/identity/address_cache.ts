/** Addresses of peers in memory: each is read once, and again after a change of any peer's row. */

import type { Database } from "kit/data/sqlite.ts";
import { looksLike } from "protocol/peers/lookalikes.ts";
import { type Address, isAppName, isReserved } from "protocol/peers/record.ts";
import * as rows from "../store.ts";

/**
 * The maximum number of answers in memory. Callers choose the names, so there is no other limit.
 */
export const ANSWERS_MAX = 10_000;

/** Answers to one kind of question about a table. Its owner clears them when rows have changed. */
export class Answers<T> {
  readonly #answers = new Map<string, T>();
  readonly #ask: (argument: string) => T;

  constructor(ask: (argument: string) => T) {
    this.#ask = ask;
  }

  get(argument: string): T {
    const known = this.#answers.get(argument);
    if (known !== undefined || this.#answers.has(argument)) return known as T;
    const answer = this.#ask(argument);
    if (this.#answers.size >= ANSWERS_MAX) this.#answers.clear();
    this.#answers.set(argument, answer);
    return answer;
  }

  clear(): void {
    this.#answers.clear();
  }
}

/** Every message needs the addresses of its two peers, and they rarely change. */
export class AddressCache {
  readonly #db: Database;
  readonly #byId: Answers<Address | undefined>;
  readonly #byName: Answers<readonly Address[]>;
  readonly #members: Answers<readonly Address[]>;
  readonly #isReserved: Answers<boolean>;
  /** The human, within an object once it was looked up. */
  #human: { readonly address: Address | undefined } | undefined;
  /** The table's revision at which all answers were read. */
  #revision: number;

  constructor(db: Database) {
    this.#db = db;
    this.#byId = new Answers((peer_id) => rows.address(db, peer_id));
    this.#byName = new Answers((name) => rows.byName(db, name));
    this.#members = new Answers((circle) => rows.members(db, circle));
    this.#isReserved = new Answers((name) => {
      const human = this.human();
      if (human && looksLike(name, human.name)) return true;
      return isReserved(name) && !isAppName(name);
    });
    this.#revision = db.revisionOf("peers");
  }

  /** The address of an exact id, even if it was closed or dropped. */
  byId(peer_id: string): Address | undefined {
    this.#forgetChanged();
    return this.#byId.get(peer_id);
  }

  /** Addresses by name, without retired and dropped ones; live ones first. */
  byName(name: string): readonly Address[] {
    this.#forgetChanged();
    return this.#byName.get(name);
  }

  /** The agents and orchestrators of a circle, without retired and dropped ones. */
  members(circle: string): readonly Address[] {
    this.#forgetChanged();
    return this.#members.get(circle);
  }

  /** The one human. */
  human(): Address | undefined {
    this.#forgetChanged();
    return (this.#human ??= { address: rows.human(this.#db) }).address;
  }

  /** True if a name is, or looks like, the human's name or a reserved one. */
  isReserved(name: string): boolean {
    this.#forgetChanged();
    return this.#isReserved.get(name);
  }

  /** Forgets everything if a peer's row has changed, or a change was rolled back. */
  #forgetChanged(): void {
    const revision = this.#db.revisionOf("peers");
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#byId.clear();
    this.#byName.clear();
    this.#members.clear();
    this.#isReserved.clear();
    this.#human = undefined;
  }
}

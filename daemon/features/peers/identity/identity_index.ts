/** Identities of peers in memory, read again after a change of identifying columns. */

import type { Database } from "kit/data/sqlite.ts";
import * as rows from "../store.ts";
import type { ActingPeer, IdentityFacts } from "../store.ts";
import { Answers } from "./address_cache.ts";
import { readingOfPeer } from "protocol/peers/lookalikes.ts";

/** Every request of a program asks for these, and registrations are rare. */
export class IdentityIndex {
  readonly #db: Database;
  readonly #changes: () => number;
  readonly #byId: Answers<ActingPeer | undefined>;
  readonly #byPid: Answers<readonly IdentityFacts[]>;
  #readings: ReadonlySet<string> | undefined;
  /** The number of changes before all answers in memory. */
  #known: number;

  constructor(db: Database) {
    this.#db = db;
    this.#byId = new Answers((peer_id) => rows.actingPeer(db, peer_id));
    this.#byPid = new Answers((pid) => rows.twoByPid(db, Number(pid)));
    this.#changes = db.watch("peers", rows.identityValues);
    this.#known = this.#changes();
  }

  /** The peer of this exact id, in any status. */
  get(peer_id: string): ActingPeer | undefined {
    this.#forgetChanged();
    return this.#byId.get(peer_id);
  }

  /** Up to two peers whose proved process has this pid; retired ones last. */
  ofPid(pid: number): readonly IdentityFacts[] {
    this.#forgetChanged();
    return this.#byPid.get(String(pid));
  }

  /** True if a reader may take a name for that of a peer with a process or a session. */
  looksLikeIdentified(name: string): boolean {
    this.#forgetChanged();
    this.#readings ??= new Set(rows.identifiedNames(this.#db).map(readingOfPeer));
    return this.#readings.has(readingOfPeer(name));
  }

  #forgetChanged(): void {
    const changes = this.#changes();
    if (changes === this.#known) return;
    this.#known = changes;
    this.#byId.clear();
    this.#byPid.clear();
    this.#readings = undefined;
  }
}

/** Finds peers on other machines by id or name. Reads no row while there are none. */

import { Problem } from "protocol/problems.ts";
import type { Database } from "kit/data/sqlite.ts";
import { Answers } from "../identity/address_cache.ts";
import { inCircle, type LookupCircles, matchesOf } from "../identity/lookup.ts";
import { type Address, isReserved } from "protocol/peers/record.ts";
import * as rows from "./store.ts";

export class RemoteDirectory {
  readonly #db: Database;
  /** The circles that this machine shares; `*` stands for all. */
  readonly #shared: readonly string[];
  readonly #byId: Answers<Address | undefined>;
  readonly #named: Answers<readonly Address[]>;
  readonly #members: Answers<readonly Address[]>;
  readonly #humans: Answers<Address | undefined>;
  /** True if any machine has announced peers; undefined before the first lookup. */
  #isAny: boolean | undefined;
  /** The table's revision at which all answers were read. */
  #revision: number;

  constructor(db: Database, shared_circles: readonly string[] = []) {
    this.#db = db;
    this.#shared = shared_circles;
    this.#byId = new Answers((peer_id) => rows.address(db, peer_id));
    this.#named = new Answers((argument) => {
      const { name, machine } = nameAndMachine(argument);
      return machine === undefined
        ? rows.byName(db, name)
        : rows.byNameOnMachine(db, name, machine);
    });
    this.#members = new Answers((circle) => rows.members(db, circle));
    this.#humans = new Answers((machine) => rows.humanOn(db, machine));
    this.#revision = db.revisionOf("remote_peers");
  }

  /** True if any machine has announced peers. */
  get isAny(): boolean {
    const revision = this.#db.revisionOf("remote_peers");
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#isAny = undefined;
      for (const answers of [this.#byId, this.#named, this.#members, this.#humans]) {
        answers.clear();
      }
    }
    return this.#isAny ??= rows.isAny(this.#db);
  }

  /** The address of an exact id; its name is `name@machine`. */
  byId(peer_id: string): Address | undefined {
    return this.isAny ? this.#byId.get(peer_id) : undefined;
  }

  /**
   * The peer that an id, `name@machine` or a name stands for. A name alone must belong to one
   * machine only, offline machines included.
   */
  find(argument: string, circles: LookupCircles): Address | undefined {
    if (!this.isAny) return undefined;
    const exact = this.#byId.get(argument);
    if (exact && exact.role !== "human") return exact;
    // A reserved name without a machine never names a peer of another machine.
    if (isReserved(argument)) return undefined;
    const { only, first } = circles;
    const everywhere = this.#named.get(argument);
    const named = only === undefined ? everywhere : inCircle(everywhere, only);
    const machines = new Set(named.map(({ daemon_id }) => daemon_id));
    const found = machines.size > 1 ? named : matchesOf(named, { first });
    const [match, ...more] = found;
    if (match === undefined || more.length === 0) return match;
    const candidates = found.map(({ peer_id, name, circle }) => ({ peer_id, name, circle }));
    throw new Problem("ambiguous_peer", { peer: argument, candidates });
  }

  /** The human of the machine of this name or daemon id, as that machine announced it last. */
  humanOn(machine: string): Address | undefined {
    return this.isAny ? this.#humans.get(machine) : undefined;
  }

  /**
   * The agents and orchestrators of a shared circle on all other machines. Another machine may
   * claim any circle for its peers.
   */
  members(circle: string): readonly Address[] {
    const isShared = this.#shared.includes(circle) || this.#shared.includes("*");
    return isShared && this.isAny ? this.#members.get(circle) : [];
  }
}

/** The parts of `name@machine`; a name alone has no `@`. */
export function nameAndMachine(argument: string): { name: string; machine?: string } {
  const at = argument.lastIndexOf("@");
  return at < 0
    ? { name: argument }
    : { name: argument.slice(0, at), machine: argument.slice(at + 1) };
}

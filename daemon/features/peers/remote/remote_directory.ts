/** Finds peers on other machines by id or name. Reads no row while there are none. */

import type { Database } from "kit/data/sqlite.ts";
import { TableAnswers } from "../../../data/table_view.ts";
import { inCircle, type LookupCircles, matchesOf, onlyOf } from "../identity/lookup.ts";
import { type Address, isReserved } from "protocol/peers/record.ts";
import * as rows from "./store.ts";

export class RemoteDirectory {
  /** The circles that this machine shares; `*` stands for all. */
  readonly #shared: readonly string[];
  readonly #isAny: () => boolean;
  readonly #byId: (peer_id: string) => Address | undefined;
  readonly #named: (argument: string) => readonly Address[];
  readonly #members: (circle: string) => readonly Address[];
  readonly #humans: (machine: string) => Address | undefined;

  constructor(db: Database, shared_circles: readonly string[] = []) {
    this.#shared = shared_circles;
    const answers = new TableAnswers(() => db.revisionOf("remote_peers"));
    this.#isAny = answers.to(() => rows.isAny(db));
    this.#byId = answers.to((peer_id) => rows.address(db, peer_id));
    this.#named = answers.to((argument) => {
      const { name, machine } = nameAndMachine(argument);
      return machine === undefined
        ? rows.byName(db, name)
        : rows.byNameOnMachine(db, name, machine);
    });
    this.#members = answers.to((circle) => rows.members(db, circle));
    this.#humans = answers.to((machine) => rows.humanOn(db, machine));
  }

  /** True if any machine has announced peers. */
  get isAny(): boolean {
    return this.#isAny();
  }

  /** The address of an exact id; its name is `name@machine`. */
  byId(peer_id: string): Address | undefined {
    return this.isAny ? this.#byId(peer_id) : undefined;
  }

  /** The peer of an id, `name@machine`, or a name of one machine only, offline ones included. */
  find(argument: string, circles: LookupCircles): Address | undefined {
    if (!this.isAny) return undefined;
    const exact = this.#byId(argument);
    if (exact && exact.role !== "human") return exact;
    // A reserved name without a machine never names a peer of another machine.
    if (isReserved(argument)) return undefined;
    const { only, first } = circles;
    const everywhere = this.#named(argument);
    const named = only === undefined ? everywhere : inCircle(everywhere, only);
    const machines = new Set(named.map(({ daemon_id }) => daemon_id));
    return onlyOf(argument, machines.size > 1 ? named : matchesOf(named, { first }));
  }

  /** The human of the machine of this name or daemon id, as that machine announced it last. */
  humanOn(machine: string): Address | undefined {
    return this.isAny ? this.#humans(machine) : undefined;
  }

  /** Agents and orchestrators of a shared circle elsewhere; any machine may claim any circle. */
  members(circle: string): readonly Address[] {
    const isShared = this.#shared.includes(circle) || this.#shared.includes("*");
    return isShared && this.isAny ? this.#members(circle) : [];
  }
}

/** The parts of `name@machine`; a name alone has no `@`. */
export function nameAndMachine(argument: string): { name: string; machine?: string } {
  const at = argument.lastIndexOf("@");
  return at < 0
    ? { name: argument }
    : { name: argument.slice(0, at), machine: argument.slice(at + 1) };
}

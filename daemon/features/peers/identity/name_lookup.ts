/** Finds the peer that an argument of a request means: by id or name, here or on any machine. */

import { Problem } from "protocol/problems.ts";
import { nameAndMachine, type RemoteDirectory } from "../remote/remote_directory.ts";
import { type Address, ALIASES, type Role } from "protocol/peers/record.ts";
import type { AddressCache } from "./address_cache.ts";
import { type LookupCircles, matchesOf, onlyOf } from "./lookup.ts";

/** The circles and the caller for the lookup of a name. */
export interface Scope {
  /** The only circle to search. */
  readonly circle?: string | undefined;
  /** With true, the caller's circle is not searched first. */
  readonly bypass_circle?: boolean | undefined;
  /** The caller, whose circle is searched before the others. */
  readonly caller?: ScopeCaller | undefined;
  /** True if the caller may be its own recipient. */
  readonly may_be_caller?: boolean | undefined;
}

interface ScopeCaller {
  readonly peer_id: string | null;
  readonly circle: string | null;
  readonly role: Role | null;
}

/** This machine, as the names of its peers elsewhere have it. */
export interface OwnMachine {
  readonly daemon_id: string;
  readonly machine: string;
  /** The machine with the human's inbox (`mesh.bus.human_home`); undefined for this one. */
  readonly human_home: string | undefined;
  /** The circles that are shared with other machines (`mesh.bus.allow`); `*` stands for all. */
  readonly shared_circles: readonly string[];
}

export class NameLookup {
  readonly #addresses: AddressCache;
  readonly #remote: RemoteDirectory;
  readonly #own: OwnMachine;

  constructor(addresses: AddressCache, remote: RemoteDirectory, own: OwnMachine) {
    this.#addresses = addresses;
    this.#remote = remote;
    this.#own = own;
  }

  /** The only peer on this machine that an argument names, including a retired one. */
  resolve(argument: string, scope: Scope): Address {
    const found = this.#findHere(argument, scope);
    if (found) return found;
    const elsewhere = this.#findElsewhere(argument, scope);
    throw elsewhere ? runsElsewhere(elsewhere) : new Problem("unknown_peer", { peer: argument });
  }

  /**
   * The human on the machine with the human's inbox. Undefined if that is this machine, or if that
   * machine has not announced its human yet. Until then, the inbox of this machine takes messages.
   */
  homeHuman(): Address | undefined {
    const { human_home } = this.#own;
    return human_home === undefined ? undefined : this.#remote.humanOn(human_home);
  }

  /** The human at home, if the argument names that human, and no peer of this machine. */
  findHomeHuman(argument: string): Address | undefined {
    const home = this.homeHuman();
    if (!home) return undefined;
    if (ALIASES.includes(argument) || argument === home.peer_id) return home;
    if (argument.toLowerCase() === home.name.toLowerCase()) return home;
    const isName = argument === nameAndMachine(home.name).name;
    return isName && this.#addresses.byName(argument).length === 0 ? home : undefined;
  }

  /** As `resolve`, but also finds a peer on another machine. A peer on this machine comes first. */
  resolveAnywhere(argument: string, scope: Scope): Address {
    const found = this.#findHere(argument, scope) ?? this.#findElsewhere(argument, scope);
    if (!found) throw new Problem("unknown_peer", { peer: argument });
    return found;
  }

  /** Finds a sender in all circles; `circle`, the recipient's, only decides between namesakes. */
  findUnique(argument: string, { circle }: Scope): Address | undefined {
    const [match, ...more] = this.#matches(argument, {});
    if (more.length === 0) return match;
    const inCircle = this.#matches(argument, { circle });
    return inCircle.length === 1 ? inCircle[0] : this.resolve(argument, {});
  }

  #findHere(argument: string, scope: Scope): Address | undefined {
    const exact = this.#addresses.byId(argument);
    if (exact && exact.dropped_at === null) return exact;
    const matches = this.#matches(argument, scope);
    const found = matches.length > 0 ? matches : this.#matches(this.#nameHere(argument), scope);
    return onlyOf(argument, found);
  }

  #findElsewhere(argument: string, scope: Scope): Address | undefined {
    return this.#remote.find(argument, toCircles(scope));
  }

  /** All peers on this machine that a name means. */
  #matches(argument: string, scope: Scope): readonly Address[] {
    if (ALIASES.includes(argument)) {
      const human = this.#addresses.human();
      return human ? [human] : [];
    }
    return matchesOf(this.#addresses.byName(argument), toCircles(scope));
  }

  /** The name without this machine's name or daemon id, which another machine may have shown. */
  #nameHere(argument: string): string {
    const { name, machine } = nameAndMachine(argument);
    const { daemon_id, machine: here } = this.#own;
    const isHere = machine === daemon_id || machine?.toLowerCase() === here.toLowerCase();
    return isHere ? name : argument;
  }
}

/** The human belongs to no circle. */
export function toCircles({ circle, bypass_circle, caller }: Scope): LookupCircles {
  const first = bypass_circle || caller?.role === "human" ? null : caller?.circle;
  return { only: circle, first: first ?? undefined };
}

/** The refusal of an operation that only the peer's own machine can perform. */
function runsElsewhere({ peer_id, name, daemon_id }: Address): Problem {
  const { machine = "" } = nameAndMachine(name);
  return new Problem("peer_elsewhere", {
    peer: name,
    peer_id,
    machine,
    daemon_id: daemon_id ?? "",
  });
}

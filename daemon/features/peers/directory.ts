/**
 * The directory of peers: finds a peer by name, id, pane, process or session. Stores no rows. Only
 * methods that document it find peers on other machines.
 */

import { Ages } from "kit/core/clock.ts";
import { Name } from "kit/core/schema.ts";
import type { Context } from "../../data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import { Problem } from "protocol/problems.ts";
import { AddressCache } from "./identity/address_cache.ts";
import { NameLookup, type OwnMachine, type Scope, toCircles } from "./identity/name_lookup.ts";
import { RemoteDirectory } from "./remote/remote_directory.ts";
import { type Address, type AuthorKind, isLocalHuman, type Role } from "protocol/peers/record.ts";
import * as rows from "./store.ts";
import type { StoredPeer } from "./store.ts";
import { inCircle } from "./identity/lookup.ts";
import { GROUP_PEERS_MAX } from "protocol/peers/groups.ts";

/** The query of a request about one peer. */
export interface PeerQuery {
  readonly circle?: string | undefined;
  /** The caller, in whose circle a name is looked up first. */
  readonly from_peer?: string | undefined;
}

/** The sender of a message. An unregistered sender has only a name. */
export interface Sender {
  readonly peer_id: string | null;
  readonly name: string;
  readonly circle: string | null;
  readonly role: Role | null;
  readonly mesh_session_id: string | null;
}

/** Proofs of a message's sender. */
interface SenderProofs {
  readonly proven_human?: boolean;
  /** True if nothing proves that the caller is the sender (contract 11). */
  readonly unverified?: boolean | undefined;
}

export class Directory {
  readonly #ctx: Context;
  readonly #addresses: AddressCache;
  readonly #remote: RemoteDirectory;
  readonly #names: NameLookup;
  /** When each peer was seen since the last tick. The next tick stores these times. */
  readonly #touched = new Map<string, number>();
  readonly #ages: Ages;

  constructor(ctx: Context, own: OwnMachine) {
    this.#ctx = ctx;
    this.#ages = new Ages(ctx.clock);
    this.#addresses = new AddressCache(ctx.db);
    this.#remote = new RemoteDirectory(ctx.db, own.shared_circles);
    this.#names = new NameLookup(this.#addresses, this.#remote, own);
  }

  /** Finds the only peer that an argument names (contract 1), including a retired one. */
  resolve(argument: string, scope: Scope = {}): Address {
    return this.#names.resolve(argument, scope);
  }

  /** As `resolve`, but also finds a peer on another machine. A peer on this machine comes first. */
  resolveAnywhere(argument: string, scope: Scope = {}): Address {
    return this.#names.resolveAnywhere(argument, scope);
  }

  /** The scope of a request about a peer. Unlike `sender`, it is no sign of life of the caller. */
  scopeOf({ circle, from_peer }: PeerQuery): Scope {
    if (from_peer === undefined) return { circle };
    return { circle, caller: this.findSender(from_peer) };
  }

  /** As `resolve`, but treats a closed peer as unknown. */
  find(argument: string, scope: Scope = {}): Address {
    const found = this.resolve(argument, scope);
    if (found.closed) throw new Problem("unknown_peer", { peer: argument });
    return found;
  }

  /** The peer that a request about one peer names. */
  findFor(argument: string, query: PeerQuery): Address {
    return this.find(argument, this.scopeOf(query));
  }

  /** As `find`, but also finds a peer on another machine. */
  findAnywhere(argument: string, scope: Scope = {}): Address {
    const found = this.resolveAnywhere(argument, scope);
    if (found.closed) throw new Problem("unknown_peer", { peer: argument });
    return found;
  }

  /** Like `find`, but refuses a retired peer. */
  findNotRetired(argument: string, scope: Scope = {}): Address {
    const found = this.find(argument, scope);
    const { peer_id } = found;
    if (found.status === "retired") throw new Problem("peer_retired", { peer_id });
    return found;
  }

  /** A peer by its exact id, in any status. */
  address(peer_id: string): Address | undefined {
    return this.#addresses.byId(peer_id);
  }

  /** True if messages can be queued for a peer. An unregistered peer may register again. */
  canQueueFor(peer_id: string): boolean {
    const found = this.address(peer_id);
    return found !== undefined && found.status !== "retired" && Boolean(found.addressable);
  }

  /** True if a peer may come online again. An unregistered one may, a retired one may not. */
  canReturn(peer_id: string): boolean {
    const found = rows.get(this.#ctx.db, peer_id);
    return found !== undefined && found.status !== "retired";
  }

  /** Like `find`, but a peer that is not online or busy is unknown. */
  findLive(argument: string, scope: Scope = {}): Address {
    const found = this.find(argument, scope);
    if (isOnline(found)) return found;
    throw new Problem("unknown_peer", { peer: argument });
  }

  /** True if this exact id is registered and not retired. */
  isRegistered(peer_id: string): boolean {
    const found = this.#addresses.byId(peer_id);
    return found !== undefined && found.dropped_at === null && found.status !== "retired";
  }

  /** Finds a recipient on any machine. Refuses retired and unaddressable peers, and the sender. */
  target(argument: string, scope: Scope): Address {
    const home = this.#names.findHomeHuman(argument);
    if (home && scope.caller?.role !== "human") return home;
    const found = this.resolveAnywhere(argument, scope);
    const { peer_id } = found;
    if (found.status === "retired" || found.closed) throw new Problem("peer_retired", { peer_id });
    const isSelf = scope.caller?.peer_id === peer_id && !scope.may_be_caller;
    if (isSelf) throw new Problem("to_self", { peer_id });
    if (!found.addressable) throw notAddressable(found, this.address(this.parentOf(found) ?? ""));
    return isLocalHuman(found) ? this.homeHuman() ?? found : found;
  }

  /** The human on the machine with the human's inbox; undefined if that is this machine. */
  homeHuman(): Address | undefined {
    return this.#names.homeHuman();
  }

  /** The human whose inbox has what this machine reports; undefined without one. */
  inboxHuman(): Address | undefined {
    return this.homeHuman() ?? this.human();
  }

  /** The sender that an argument names: a peer, or an unregistered sender of no reserved name. */
  sender(argument: string, scope: Scope = {}): Sender {
    const known = this.findSender(argument, scope);
    if (!known) {
      mustBeValidName(argument);
      if (this.#addresses.isReserved(argument)) {
        throw new Problem("reserved_name", { name: argument });
      }
      return {
        peer_id: null,
        name: argument,
        circle: scope.circle ?? null,
        role: null,
        mesh_session_id: null,
      };
    }
    this.touch(known.peer_id);
    return known;
  }

  /** The peer that a sender's argument names. Unlike `sender`, this is no sign of life. */
  findSender(argument: string, scope: Scope = {}): Address | undefined {
    const found = this.#addresses.byId(argument) ?? this.#names.findUnique(argument, scope);
    return found?.closed ? undefined : found;
  }

  /** The id of a sender; the name of an unregistered sender. */
  senderId(argument: string, scope: Scope = {}): string {
    const { peer_id, name } = this.sender(argument, scope);
    return peer_id ?? name;
  }

  /** The author kind: `human` needs proof; a name like the human's is `unverified` (contract 2). */
  authorKindOf(
    { role, name }: Pick<Sender, "role" | "name">,
    { proven_human = false, unverified = false }: SenderProofs = {},
  ): AuthorKind {
    if (role === "human") return proven_human ? "human" : "unverified";
    return unverified || this.#addresses.isReserved(name) ? "unverified" : "peer";
  }

  /** A circle's agents and orchestrators that are not retired; on all machines if it is shared. */
  members(circle: string): readonly Address[] {
    const here = this.#addresses.members(circle);
    const elsewhere = this.#remote.members(circle);
    return elsewhere.length > 0 ? [...here, ...elsewhere] : here;
  }

  /**
   * The peers of this machine with a tag, at least one, without the human and the caller. As with
   * names, peers in the caller's circle come first. Without any, the tag means the peers of all
   * circles.
   */
  tagged(tag: string, scope: Scope): readonly Address[] {
    const tagged = rows.tagged(this.#ctx.db, tag)
      .filter(({ peer_id }) => peer_id !== scope.caller?.peer_id);
    const { only, first } = toCircles(scope);
    const circle = only ?? first;
    const near = circle === undefined ? [] : inCircle(tagged, circle);
    const found = near.length > 0 || only !== undefined ? near : tagged;
    if (found.length === 0) throw new Problem("no_tagged_peer", { tag });
    mustBeFew(`@${tag}`, found.length);
    return found;
  }

  human(): Address | undefined {
    return this.#addresses.human();
  }

  mustHuman(): Address {
    const human = this.human();
    if (!human) throw new Problem("no_human", {});
    return human;
  }

  /** The live peer that has a pane. */
  occupantOf(pane_id: string, tmux_socket: string | undefined): Address {
    const occupant = this.findByPane(pane_id, tmux_socket);
    if (!isLive(occupant)) throw new Problem("no_pane_peer", { pane_id });
    return occupant;
  }

  /** The peer that has a pane; without a live one, the peer that had it last. */
  findByPane(pane_id: string, tmux_socket: string | undefined): Address {
    const [found] = rows.byPane(this.#ctx.db, pane_id, tmux_socket ?? null);
    const address = found && this.#addresses.byId(found.peer_id);
    if (!address) throw new Problem("no_pane_peer", { pane_id });
    return address;
  }

  /** The id of the parent, which is recorded by its peer id or session; null if not registered. */
  parentOf({ parent_runtime_id }: { parent_runtime_id: string | null }): string | null {
    if (!parent_runtime_id) return null;
    const { db } = this.#ctx;
    // A caller may claim the id of another peer as its session.
    const found = rows.get(db, parent_runtime_id) ?? rows.bySession(db, parent_runtime_id)[0];
    const registered = found && !found.closed && found.dropped_at === null &&
      found.status !== "retired";
    return registered ? found.peer_id : null;
  }

  /** Records that a peer was seen now. The next tick stores it. */
  touch(peer_id: string): void {
    const now = this.#ctx.clock.now();
    this.#touched.set(peer_id, now);
    this.#ages.of(peer_id, now);
  }

  lastSeen({ peer_id, last_seen }: Pick<StoredPeer, "peer_id" | "last_seen">): number | null {
    return this.#touched.get(peer_id) ?? last_seen;
  }

  /** Time since a peer was last seen, in milliseconds. */
  unseenMs(peer: Pick<StoredPeer, "peer_id" | "last_seen" | "registered_at">): number {
    return this.#ages.of(peer.peer_id, this.lastSeen(peer) ?? peer.registered_at);
  }

  /** Returns and forgets when each peer was seen since the last call. */
  flushTouched(): Map<string, number> {
    const touched = new Map(this.#touched);
    this.#touched.clear();
    return touched;
  }
}

/** The refusal of a peer that takes no messages. It names the peer to ask instead. */
function notAddressable({ peer_id }: Address, parent: Address | undefined): Problem {
  const instead = parent ? `@${parent.name}, which started it` : "its parent, or another peer";
  const parent_peer_id = parent?.peer_id ?? null;
  return new Problem("peer_not_addressable", {
    peer_id,
    parent_peer_id,
    summary: `ask ${instead}`,
  });
}

/** Refuses an invalid name: the name of an unregistered sender is shown unchanged (contract 2). */
function mustBeValidName(name: string): void {
  const checked = Name.safeParse(name);
  if (checked.success) return;
  const message = checked.error.issues[0]?.message ?? "";
  const issues = [{
    path: "from_peer",
    message: `No peer has this name, and it is not a valid name. ${message}`,
  }];
  throw new Problem("invalid_request", { summary: `from_peer: ${issues[0]?.message}`, issues });
}

/** The record of a peer, in any status. */
export function mustGetPeer(db: Reader, peer_id: string): StoredPeer {
  const peer = rows.get(db, peer_id);
  if (!peer) throw new Problem("unknown_peer", { peer: peer_id });
  return peer;
}

/** True if a peer is on the machine of this name. Early records name no machine. */
export function isOnMachine({ machine }: Pick<StoredPeer, "machine">, name: string): boolean {
  return machine === null || machine === name;
}

/** Throws `other_host` if a record names another machine than `name`; early records name none. */
export function mustBeOnMachine(
  { peer_id, machine }: Pick<StoredPeer, "peer_id" | "machine">,
  name: string,
): void {
  if (machine !== null && machine !== name) throw new Problem("other_host", { peer_id, machine });
}

/** True if a peer is online or busy. */
export function isOnline({ status }: Pick<Address, "status">): boolean {
  return status === "online" || status === "busy";
}

/** True if a peer is online or busy, and registered. */
export function isLive(peer: Pick<Address, "status" | "dropped_at">): boolean {
  return isOnline(peer) && peer.dropped_at === null;
}

/** True if a peer's hooks hand it messages. Its owner can turn that off. */
export function takesHookMessages(directory: Pick<Directory, "address">, peer_id: string): boolean {
  return directory.address(peer_id)?.hook_messages === 1;
}

/** The tag that an argument such as `@backend` names; undefined for any other argument. */
export function tagOf(argument: string): string | undefined {
  return argument.startsWith("@") ? argument.slice(1) : undefined;
}

/** Refuses more recipients than one message may have. */
export function mustBeFew(group: string, peers: number, peers_max = GROUP_PEERS_MAX): void {
  if (peers > peers_max) throw new Problem("group_too_large", { group, peers, peers_max });
}

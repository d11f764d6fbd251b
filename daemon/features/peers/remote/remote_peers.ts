/** The peers of other machines: stores the announcements of their machines, and their end. */

import { hasPassed } from "kit/core/clock.ts";
import type { Context } from "../../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Address, Wait } from "protocol/peers/record.ts";
import { isOwnId } from "../identity/peer_ids.ts";
import * as peerRows from "../store.ts";
import { qualifiedName, type RemotePeer, type SharedHuman, type SharedPeer } from "./schemas.ts";
import { RemoteDirectory } from "./remote_directory.ts";
import * as rows from "./store.ts";

/** Minimum time between updates of `last_seen` alone: hundreds of machines announce every 20 s. */
export const SEEN_STORED_MS = 10 * 60_000;

/** The circle of a machine's human, who belongs to none. */
const HUMAN_CIRCLE = "default";

/** A machine, by its id and its name for people. */
export interface AnnouncingMachine {
  readonly daemon_id: string;
  readonly name: string;
}

/** The result of an announcement. */
interface AnnouncementResult {
  /** Ids of announced peers that belong to this machine or to a third one: not stored. */
  readonly refused: readonly string[];
  /** Ids of peers that the machine no longer announces: forgotten. */
  readonly removed: readonly string[];
  /** Machines that lost an announced id, which is proved to be the announcing machine's. */
  readonly deprived: readonly string[];
}

export class RemotePeers {
  readonly #ctx: Context;
  readonly #directory: RemoteDirectory;
  /** The times at which peers were seen after the stored time. */
  readonly #lastSeen = new Map<string, number>();
  /** The waits of peers, as their machines announced them last. */
  readonly #waits = new Map<string, Wait>();

  constructor(ctx: Context) {
    this.#ctx = ctx;
    this.#directory = new RemoteDirectory(ctx.db);
  }

  /** True if any machine has announced peers. */
  get isAny(): boolean {
    return this.#directory.isAny;
  }

  /** Number of peers that a machine has announced. */
  countOf(daemon_id: string): number {
    return this.isAny ? rows.countOf(this.#ctx.db, daemon_id) : 0;
  }

  /** Takes all peers offline: after a start, none is online before its machine announces it. */
  start(tx: Tx): void {
    if (this.isAny) rows.setAllOffline(tx);
  }

  /** Stores a machine's announced peers and forgets its others. `last_seen`: by this clock. */
  announce(
    tx: Tx,
    machine: AnnouncingMachine,
    peers: readonly SharedPeer[],
    human: SharedHuman | null = null,
  ): AnnouncementResult {
    const now = this.#ctx.clock.now();
    const known = new Map(rows.ofMachine(tx, machine.daemon_id).map((row) => [row.peer_id, row]));
    const announced = peers.map((peer) => toRow(peer, machine, now));
    const waits = new Map(peers.map(({ peer_id, waits_for }) => [peer_id, waits_for]));
    if (human) announced.push(toHumanRow(human, machine, now));
    const refused: string[] = [];
    const deprived = new Set<string>();
    for (const row of announced) {
      const before = known.get(row.peer_id);
      known.delete(row.peer_id);
      const other = before ? undefined : rows.get(tx, row.peer_id);
      if (before) this.#renew(tx, before, row, waits.get(row.peer_id));
      else if (isHere(tx, row.peer_id) || (other && !isStronger(row, other))) {
        refused.push(row.peer_id);
      } else {
        if (other) {
          this.#remove(tx, other);
          deprived.add(other.daemon_id);
        }
        this.#add(tx, row);
        this.#rememberWait(row.peer_id, waits.get(row.peer_id));
      }
    }
    for (const gone of known.values()) this.#remove(tx, gone);
    return { refused, removed: [...known.keys()], deprived: [...deprived] };
  }

  /** Takes the peers of a machine offline after its announcement has expired or was withdrawn. */
  endLease(tx: Tx, daemon_id: string): void {
    for (const peer of rows.ofMachine(tx, daemon_id)) {
      if (peer.status === "offline") continue;
      const offline = { ...peer, status: "offline", turn_state: null } as const;
      rows.update(tx, { ...offline, last_seen: this.lastSeen(peer) });
      this.#publishOffline(offline, "machine_offline");
    }
  }

  /** Removes the peers of a machine that a person had forgotten; returns their ids. */
  forget(tx: Tx, daemon_id: string): string[] {
    const peers = rows.ofMachine(tx, daemon_id);
    for (const peer of peers) this.#remove(tx, peer);
    return peers.map(({ peer_id }) => peer_id);
  }

  /** A peer or a human on another machine, by exact id. Its name is `name@machine`. */
  address(peer_id: string): Address | undefined {
    return this.#directory.byId(peer_id);
  }

  /** The human of a machine, as the machine announced it last. */
  human(daemon_id: string): Address | undefined {
    return this.isAny ? rows.human(this.#ctx.db, daemon_id) : undefined;
  }

  /** When a peer was seen last, by this machine's clock. */
  lastSeen({ peer_id, last_seen }: Pick<RemotePeer, "peer_id" | "last_seen">): number | null {
    return this.#lastSeen.get(peer_id) ?? last_seen;
  }

  /** The wait of a peer; null for none, or if its machine is offline. */
  waitOf({ peer_id, status }: Pick<RemotePeer, "peer_id" | "status">): Wait | null {
    return status === "offline" ? null : this.#waits.get(peer_id) ?? null;
  }

  #add(tx: Tx, peer: RemotePeer): void {
    rows.insert(tx, peer);
    if (peer.role === "human") return;
    const { peer_id, circle, backend, role } = peer;
    const name = qualifiedName(peer);
    this.#ctx.events.append("peer_registered", { peer_id, name, circle, backend, role });
  }

  #renew(tx: Tx, before: RemotePeer, peer: RemotePeer, wait: Wait | null = null): void {
    const { peer_id, last_seen } = peer;
    const isOtherWait = this.#waits.get(peer_id)?.kind !== wait?.kind;
    this.#rememberWait(peer_id, wait);
    if (last_seen !== null) this.#remember(peer_id, last_seen);
    const renewed = { ...peer, registered_at: before.registered_at };
    const isChanged = !isSame(before, renewed);
    if (isChanged || hasPassed(SEEN_STORED_MS, before.seen_at, peer.seen_at)) {
      rows.update(tx, renewed);
    }
    if (peer.role === "human") return;
    if (isChanged) this.#publishChange(before, renewed);
    if (isOtherWait) {
      const { status, turn_state } = peer;
      const turn = { peer_id, status, turn_state, waits_for: wait?.kind ?? null };
      this.#ctx.db.afterCommit(() => this.#ctx.events.turn(turn));
    }
  }

  #publishChange(before: RemotePeer, peer: RemotePeer): void {
    const { peer_id } = peer;
    const name = qualifiedName(peer);
    const { events } = this.#ctx;
    if (peer.status === "offline" && before.status !== "offline") {
      return this.#publishOffline(peer, null);
    }
    if (before.status === "offline" && peer.status !== "offline") {
      return events.append("peer_online", { peer_id, name, transport: "bus" });
    }
    events.append("peer_updated", { peer_id, name });
  }

  #publishOffline(peer: RemotePeer, reason: "machine_offline" | null): void {
    if (peer.role === "human") return;
    this.#ctx.events.append("peer_offline", {
      peer_id: peer.peer_id,
      name: qualifiedName(peer),
      reason,
      source: "bus",
      detail: null,
      terminal: false,
    });
  }

  #remove(tx: Tx, peer: RemotePeer): void {
    const { peer_id } = peer;
    rows.remove(tx, peer_id);
    this.#ctx.db.afterCommit(() => void this.#lastSeen.delete(peer_id));
    this.#rememberWait(peer_id, null);
    if (peer.role === "human") return;
    this.#ctx.events.append("peer_removed", { peer_id, name: qualifiedName(peer) });
  }

  #rememberWait(peer_id: string, wait: Wait | null = null): void {
    if (wait) this.#waits.set(peer_id, wait);
    else this.#waits.delete(peer_id);
  }

  #remember(peer_id: string, last_seen: number): void {
    this.#ctx.db.afterCommit(() => void this.#lastSeen.set(peer_id, last_seen));
  }
}

/** True if an id is that of a peer of this machine, even of one that is gone. */
function isHere(tx: Tx, peer_id: string): boolean {
  return peerRows.address(tx, peer_id) !== undefined;
}

/** True if a machine proves that it made an id that another machine announced before. */
function isStronger(claimed: RemotePeer, known: RemotePeer): boolean {
  return isOwnId(claimed.daemon_id, claimed) && !isOwnId(known.daemon_id, known);
}

/** True if two rows are equal, apart from the time when the peer was seen. */
function isSame(before: RemotePeer, peer: RemotePeer): boolean {
  const { last_seen, seen_at } = peer;
  return JSON.stringify(inOrder({ ...before, last_seen, seen_at })) ===
    JSON.stringify(inOrder(peer));
}

function inOrder(peer: RemotePeer): [string, unknown][] {
  return Object.entries(peer).sort(([a], [b]) => a < b ? -1 : 1);
}

function toRow(
  { folder, waits_for: _, ...shared }: SharedPeer,
  { daemon_id, name: machine }: AnnouncingMachine,
  now: number,
): RemotePeer {
  return { ...shared, path: folder, daemon_id, machine, seen_at: now, registered_at: now };
}

function toHumanRow(human: SharedHuman, machine: AnnouncingMachine, now: number): RemotePeer {
  const unknown = {
    backend: null,
    model: null,
    turn_state: null,
    waits_for: null,
    description: null,
    folder: null,
  };
  const shared = { ...human, ...unknown, circle: HUMAN_CIRCLE, last_seen: now };
  const row = toRow({ ...shared, role: "agent", status: "online" }, machine, now);
  return { ...row, role: "human" };
}

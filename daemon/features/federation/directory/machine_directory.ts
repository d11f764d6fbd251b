/** The directory of machines: announces this machine's peers, and takes what others announce. */

import { ForwardTime, type Monotonic } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { VERSION } from "kit/core/version.ts";
import type { Context } from "kit/data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { Bus } from "../../../host/bus.ts";
import type { MachineTrust } from "../../machines/machine_trust.ts";
import { openAnnouncement, sealAnnouncement } from "../../machines/trust/announcement.ts";
import { cardToWire, type SignedCard } from "../../machines/trust/cards.ts";
import type { MachineKeys } from "../../machines/trust/keys.ts";
import type { NetworkKeys } from "../../machines/trust/network.ts";
import type { AnnouncingMachine, RemotePeers } from "../../peers/remote/remote_peers.ts";
import type { SharedHuman } from "../../peers/remote/schemas.ts";
import type { SharedPeers } from "../../peers/remote/shared_peers.ts";
import { type Entry, fromBytes, toBytes } from "./entry.ts";
import { describe, type EntryRefusal } from "./refusals.ts";

/** An entry is renewed this often. The bus drops it 60 s after the last time. */
export const RENEW_MS = 20_000;

/** How long a machine counts as online after its last entry. */
export const LEASE_MS = 60_000;

/** The maximum number of machines of which refusals are remembered. */
const REFUSED_MACHINES_MAX = 2000;

export interface MachineDirectoryDeps {
  readonly bus: Pick<Bus, "announce" | "withdraw">;
  /** The card of this machine. */
  readonly card: SignedCard;
  readonly keys: MachineKeys;
  readonly network: NetworkKeys;
  readonly remotePeers: RemotePeers;
  readonly shared: Pick<SharedPeers, "list">;
  readonly trust: Pick<MachineTrust, "meet" | "touch">;
  isConnected(): boolean;
  human(): SharedHuman | null;
  /** A machine came online or went offline; within the transaction that stores it. */
  changed(tx: Tx, machine: AnnouncingMachine, status: "online" | "offline"): void;
}

/** A machine that is online. */
interface Lease extends AnnouncingMachine {
  /** Its card, as text. */
  readonly card: string;
  /** When its entry was made, by its clock. */
  readonly made_at: number;
  /** When its entry came, by this machine's clock. */
  readonly seen_at: number;
  /** The same by the monotonic clock, from which the lease counts. */
  readonly renewed_at: Monotonic;
}

/** What an entry led to. */
export interface Received {
  readonly cameOnline: boolean;
  /**
   * How far the machine's clock is ahead of this one's at least, as the entry was made before it
   * came; null without a new entry. A call measures it.
   */
  readonly clock_ahead_ms: number | null;
}

const NOTHING: Received = { cameOnline: false, clock_ahead_ms: null };

export class MachineDirectory {
  readonly #ctx: Context;
  readonly #deps: MachineDirectoryDeps;
  /** Others refuse an entry that is older than the last one. */
  readonly #time: ForwardTime;
  /** The machines that are online, by daemon id. */
  readonly #online = new Map<string, Lease>();
  /** Reasons that were logged, by machine. */
  readonly #refused = new Map<string, Set<string>>();
  /** What was published last, without times; undefined before that, and after it failed. */
  #published: string | undefined;
  #published_at = 0;
  /** The revision of the table `peers` when the peers were last read. */
  #revision = -1;
  #publishing: Promise<void> | undefined;
  #hasLeft = false;

  constructor(ctx: Context, deps: MachineDirectoryDeps) {
    this.#ctx = ctx;
    this.#time = new ForwardTime(ctx.clock);
    this.#deps = deps;
  }

  /** Run once a second: publishes what has changed, and ends leases. */
  tick(): void {
    const now = this.#ctx.clock.monotonic();
    for (const lease of [...this.#online.values()]) {
      if (now - lease.renewed_at >= LEASE_MS) this.#end(lease);
    }
    if (!this.#deps.isConnected()) this.#published = undefined;
    else if (!this.#hasLeft && !this.#publishing) this.#publishChanged();
  }

  /** Takes the entry of another machine; null if its entry is gone. */
  received(from: string, bytes: Uint8Array | null): Received {
    const before = this.#online.get(from);
    if (bytes === null) {
      if (before) this.#end(before);
      return NOTHING;
    }
    const announcement = openAnnouncement(from, this.#deps.network, bytes);
    if (!announcement) return this.#refuse(from, "not_readable");
    const parsed = fromBytes(announcement.body);
    if (!parsed.ok) return this.#refuse(from, parsed.reason);
    if (before?.made_at === parsed.entry.at) return NOTHING; // The bus repeats it.
    if (before && parsed.entry.at < before.made_at) return this.#refuse(from, "outdated");
    const isTaken = this.#take(from, announcement.card, parsed.entry);
    if (!isTaken) return NOTHING;
    if (parsed.skipped > 0) this.#logOnce(from, "peers_skipped", describe("peers_skipped"));
    const clock_ahead_ms = parsed.entry.at - this.#ctx.clock.now();
    return { cameOnline: before === undefined, clock_ahead_ms };
  }

  isOnline(daemon_id: string): boolean {
    return this.#online.has(daemon_id);
  }

  /** When an entry of the machine came; undefined while it is offline. */
  lastSeen(daemon_id: string): number | undefined {
    return this.#online.get(daemon_id)?.seen_at;
  }

  /** Forgets a machine, whose peers the caller removes. */
  forget(daemon_id: string): void {
    this.#online.delete(daemon_id);
    this.#refused.delete(daemon_id);
  }

  /**
   * Withdraws this machine's entry, so that its peers are offline on the others at once. A daemon
   * is shut down twice: before its requests end, and after.
   */
  async leave(): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    await this.#publishing;
    if (!this.#deps.isConnected()) return;
    try {
      await this.#deps.bus.withdraw();
    } catch (error) { // The bus drops the entry when it is not renewed.
      this.#ctx.log.warn("The entry of this machine was not withdrawn", { why: messageOf(error) });
    }
  }

  /** Stores the peers of an entry, unless the machine is refused. */
  #take(from: string, card: SignedCard, entry: Entry): boolean {
    const { changed, remotePeers, trust } = this.#deps;
    const now = this.#ctx.clock.now();
    return this.#ctx.db.transactLazily((tx) => {
      const machine = this.#meet(tx, from, card);
      if (!machine) return false;
      const { daemon_id, name } = machine;
      const peers = entry.peers.map((peer) => {
        return { ...peer, last_seen: toOwnClock(peer.last_seen, entry.at, now) };
      });
      const { refused } = remotePeers.announced(tx, { daemon_id, name }, peers, entry.human);
      trust.touch(tx, daemon_id);
      const lease = {
        daemon_id,
        name,
        card: JSON.stringify(card),
        made_at: entry.at,
        seen_at: now,
        renewed_at: this.#ctx.clock.monotonic(),
      };
      if (!this.#online.has(from)) changed(tx, lease, "online");
      this.#set(from, lease);
      if (refused.length > 0) this.#logOnce(from, "peer_id_taken", describe("peer_id_taken"));
      return true;
    });
  }

  /** The machine of a card, unless it is refused. The card of an online machine was met before. */
  #meet(tx: Tx, from: string, card: SignedCard): AnnouncingMachine | undefined {
    const online = this.#online.get(from);
    if (online?.card === JSON.stringify(card)) return online;
    const meeting = this.#deps.trust.meet(tx, cardToWire(card));
    if (meeting.outcome === "self") return undefined;
    if (meeting.outcome !== "refused") return meeting.machine;
    this.#logOnce(from, meeting.refusal.reason, meeting.refusal);
    return undefined;
  }

  /** Takes effect at once, because another entry may come before the commit. */
  #set(from: string, lease: Lease): void {
    const before = this.#online.get(from);
    this.#online.set(from, lease);
    this.#ctx.db.afterRollback(() => {
      if (before) this.#online.set(from, before);
      else this.#online.delete(from);
    });
  }

  #end(lease: Lease): void {
    const { daemon_id } = lease;
    this.#ctx.db.transact((tx) => {
      this.#online.delete(daemon_id);
      this.#ctx.db.afterRollback(() => void this.#online.set(daemon_id, lease));
      this.#deps.remotePeers.leaseEnded(tx, daemon_id);
      this.#deps.changed(tx, lease, "offline");
    });
  }

  #publishChanged(): void {
    const { clock } = this.#ctx;
    const now = clock.monotonic();
    const isDue = this.#published === undefined || now - this.#published_at >= RENEW_MS;
    const revision = this.#ctx.db.revisionOf("peers");
    if (!isDue && revision === this.#revision) return;
    this.#revision = revision;
    const peers = this.#deps.shared.list();
    const human = this.#deps.human();
    const digest = JSON.stringify([peers.map((peer) => ({ ...peer, last_seen: null })), human]);
    if (!isDue && digest === this.#published) return;
    this.#published = digest;
    this.#published_at = now;
    const at = this.#time.now();
    // Others read `last_seen` as a time before `at`.
    const behind_ms = at - clock.now();
    const shifted = peers.map((peer) => ({
      ...peer,
      last_seen: peer.last_seen === null ? null : peer.last_seen + behind_ms,
    }));
    const body = toBytes({ at, mesh_version: VERSION, peers: shifted, human });
    const { card, keys, network } = this.#deps;
    const sealed = sealAnnouncement({ card, body }, keys, network, this.#ctx.ids);
    this.#publishing = this.#publish(sealed).finally(() => this.#publishing = undefined);
  }

  /** Publishes an entry. One that fails is published again after the time of a renewal. */
  async #publish(entry: Uint8Array): Promise<void> {
    const { bus, card } = this.#deps;
    try {
      await bus.announce(entry);
      this.#refused.delete(card.daemon_id);
    } catch (error) {
      const detail = messageOf(error);
      this.#logOnce(card.daemon_id, "not_published", { detail, hint: "see `mesh doctor`" });
    }
  }

  #refuse(from: string, reason: EntryRefusal): Received {
    this.#logOnce(from, reason, describe(reason));
    return NOTHING;
  }

  /** Machines repeat their entries every 20 s: logs each reason of a machine once. */
  #logOnce(
    daemon_id: string,
    reason: string,
    { detail, hint }: { readonly detail: string; readonly hint: string },
  ): void {
    if (this.#refused.size >= REFUSED_MACHINES_MAX) this.#refused.clear();
    const logged = this.#refused.getOrInsertComputed(daemon_id, () => new Set());
    if (logged.has(reason)) return;
    logged.add(reason);
    const what = reason === "not_published"
      ? "The entry of this machine could not be published"
      : "The entry of a machine was refused";
    this.#ctx.log.warn(what, { daemon_id, reason, detail, hint });
  }
}

/** An instant before `made_at` of another clock, as the same time before `now` of this one. */
function toOwnClock(at: number | null, made_at: number, now: number): number | null {
  return at === null ? null : now - Math.max(0, made_at - at);
}

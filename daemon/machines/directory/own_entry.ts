/** Announces this machine: its entry if it changes or a machine needs it, otherwise heartbeats. */

import { ForwardTime, hasPassed, type Monotonic } from "kit/core/clock.ts";
import { VERSION } from "kit/core/version.ts";
import type { Context } from "../../data/context.ts";
import type { Bus } from "../bus.ts";
import { sealAnnouncement } from "../trust/announcement.ts";
import type { SignedCard } from "../trust/cards.ts";
import type { MachineKeys } from "../trust/keys.ts";
import type { NetworkKeys } from "../trust/network.ts";
import type { SharedHuman } from "../../features/peers/remote/schemas.ts";
import type { SharedPeers } from "../../features/peers/remote/shared_peers.ts";
import { sealBeat } from "./beat.ts";
import { toBytes } from "./entry.ts";

/** Interval of signs of life: heartbeats, or entries while a machine without them is online. */
export const RENEW_MS = 20_000;

/** Interval at which `last_seen` of peers is announced, if nothing else changes. */
export const SEEN_MS = 10 * 60_000;

/** Time for which machines that connect find the entry at the bus. Later ones get it directly. */
const SHOWN_MS = 40_000;

export interface OwnEntryDeps {
  readonly bus: Pick<Bus, "announce" | "beat" | "canBeat">;
  /** The card of this machine. */
  readonly card: SignedCard;
  readonly keys: MachineKeys;
  readonly network: NetworkKeys;
  /** New at each start of the daemon. */
  readonly run: string;
  readonly shared: Pick<SharedPeers, "human" | "list">;
}

/** The content of the last announcement of this run. */
interface Content {
  readonly peers: ReturnType<SharedPeers["list"]>;
  readonly human: SharedHuman | null;
}

export class OwnEntry {
  readonly #ctx: Context;
  readonly #deps: OwnEntryDeps;
  /** Never goes back, because other machines refuse an entry that is older than the last entry. */
  readonly #time: ForwardTime;
  /** Digest of the last announcement, without its times. */
  #digest: string | undefined;
  #content: Content = { peers: [], human: null };
  /** The last sealed entry. */
  #sealed: Uint8Array | undefined;
  #seq = 0;
  #revision = 0;
  /** Time of the last announcement; undefined after the connection was lost. */
  #sent_at: number | undefined;
  #announced_at = -Infinity;
  #seen_announced_at = -Infinity;
  /** Revision of the table `peers` at the last reading. */
  #read_revision = -1;

  constructor(ctx: Context, deps: OwnEntryDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#time = new ForwardTime(ctx.clock);
  }

  /** The last announced entry, for a machine that requests it. */
  get sealed(): Uint8Array | undefined {
    return this.#sealed;
  }

  /** True if a machine that connects now finds no entry at the bus. */
  isHidden(now: Monotonic): boolean {
    return hasPassed(SHOWN_MS, this.#announced_at, now);
  }

  /** Called after a lost connection: the bus and other machines may have dropped the entry. */
  lost(): void {
    this.#sent_at = undefined;
  }

  /** Called if the entry could not be sent. No machine has it then. */
  failed(): void {
    this.#digest = undefined;
  }

  /**
   * Sends the entry if it has changed or a machine needs it. Otherwise sends a heartbeat if one is
   * due. Returns undefined if nothing is due.
   */
  sendDue(now: Monotonic, isWholeNeeded: () => boolean): Promise<void> | undefined {
    const isNew = this.#sent_at === undefined;
    const isDue = this.#sent_at === undefined || hasPassed(RENEW_MS, this.#sent_at, now);
    const revision = this.#ctx.db.revisionOf("peers");
    if (!isDue && revision === this.#read_revision) return undefined;
    this.#read_revision = revision;
    const isChanged = this.#readContent(now);
    if (!isDue && !isChanged) return undefined;
    this.#sent_at = now;
    const { bus } = this.#deps;
    const isEntry = isNew || isChanged || !bus.canBeat() || isWholeNeeded();
    if (!isEntry) return bus.beat(this.#sealBeat());
    this.#announced_at = now;
    return bus.announce(this.seal());
  }

  seal({ leaves = false } = {}): Uint8Array {
    const { bus, card, keys, network, run } = this.#deps;
    const at = this.#time.now();
    // Receivers convert `last_seen` relative to `at`.
    const behind_ms = at - this.#ctx.clock.now();
    const { human, peers } = this.#content;
    const shifted = peers.map((peer) => ({
      ...peer,
      last_seen: peer.last_seen === null ? null : peer.last_seen + behind_ms,
    }));
    const body = toBytes({
      at,
      mesh_version: VERSION,
      peers: shifted,
      human,
      run,
      seq: ++this.#seq,
      revision: this.#revision,
      beats: bus.canBeat(),
      leaves,
    });
    return this.#sealed = sealAnnouncement({ card, body }, keys, network, this.#ctx.ids);
  }

  /** True if the shared peers differ from the last announcement. */
  #readContent(now: Monotonic): boolean {
    const { shared } = this.#deps;
    const content: Content = { peers: shared.list(), human: shared.human() };
    const { human, peers } = content;
    const digest = JSON.stringify([peers.map((peer) => ({ ...peer, last_seen: null })), human]);
    const isSeenDue = hasPassed(SEEN_MS, this.#seen_announced_at, now) &&
      JSON.stringify(peers) !== JSON.stringify(this.#content.peers);
    if (digest === this.#digest && !isSeenDue) return false;
    this.#digest = digest;
    this.#content = content;
    this.#seen_announced_at = now;
    this.#revision++;
    return true;
  }

  #sealBeat(): Uint8Array {
    const { card, keys, network, run } = this.#deps;
    const beat = { run, seq: ++this.#seq, revision: this.#revision };
    return sealBeat(card.daemon_id, beat, keys, network, this.#ctx.ids);
  }
}

/** What this machine says of itself: its entry when it changes or is needed, else heartbeats. */

import { ForwardTime, hasPassed, type Monotonic } from "kit/core/clock.ts";
import { VERSION } from "kit/core/version.ts";
import type { Context } from "kit/data/context.ts";
import type { Bus } from "../../../host/bus.ts";
import { sealAnnouncement } from "../../machines/trust/announcement.ts";
import type { SignedCard } from "../../machines/trust/cards.ts";
import type { MachineKeys } from "../../machines/trust/keys.ts";
import type { NetworkKeys } from "../../machines/trust/network.ts";
import type { SharedHuman } from "../../peers/remote/schemas.ts";
import type { SharedPeers } from "../../peers/remote/shared_peers.ts";
import { sealBeat } from "./beat.ts";
import { toBytes } from "./entry.ts";

/** A sign of life is sent this often: a heartbeat, or the entry for machines that hear none. */
export const RENEW_MS = 20_000;

/** When peers were seen is announced this often, if nothing else changes. */
export const SEEN_MS = 10 * 60_000;

/** For this long the bus shows an entry to machines that connect; beyond it they are sent one. */
const SHOWN_MS = 40_000;

export interface OwnEntryDeps {
  readonly bus: Pick<Bus, "announce" | "beat" | "canBeat">;
  /** The card of this machine. */
  readonly card: SignedCard;
  readonly keys: MachineKeys;
  readonly network: NetworkKeys;
  /** New at each start of the daemon. */
  readonly run: string;
  readonly shared: Pick<SharedPeers, "list">;
  human(): SharedHuman | null;
}

/** The content that this run announced last. */
interface Content {
  readonly peers: ReturnType<SharedPeers["list"]>;
  readonly human: SharedHuman | null;
}

export class OwnEntry {
  readonly #ctx: Context;
  readonly #deps: OwnEntryDeps;
  /** Others refuse an entry that is older than the last one. */
  readonly #time: ForwardTime;
  /** What was announced last, without times. */
  #digest: string | undefined;
  #content: Content = { peers: [], human: null };
  /** The entry as it was sealed last. */
  #sealed: Uint8Array | undefined;
  #seq = 0;
  #revision = 0;
  /** When anything was sent last; undefined after the connection was lost. */
  #sent_at: number | undefined;
  #announced_at = -Infinity;
  #seen_announced_at = -Infinity;
  /** The revision of the table `peers` when the peers were last read. */
  #read_revision = -1;

  constructor(ctx: Context, deps: OwnEntryDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#time = new ForwardTime(ctx.clock);
  }

  /** The entry as it was announced last, for a machine that asks. */
  get sealed(): Uint8Array | undefined {
    return this.#sealed;
  }

  /** Whether a machine that connects now finds no entry at the bus. */
  isHidden(now: Monotonic): boolean {
    return hasPassed(SHOWN_MS, this.#announced_at, now);
  }

  /** The connection was lost: the bus and others may have forgotten the entry. */
  lost(): void {
    this.#sent_at = undefined;
  }

  /** Nobody has the entry: it could not be sent. */
  failed(): void {
    this.#digest = undefined;
  }

  /**
   * Sends the entry if it has changed or if somebody needs it, else a heartbeat when it is due.
   * Undefined if nothing is to be sent.
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
    // Others read `last_seen` as a time before `at`.
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

  /** Whether this machine shares anything else than it has announced. */
  #readContent(now: Monotonic): boolean {
    const content: Content = { peers: this.#deps.shared.list(), human: this.#deps.human() };
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

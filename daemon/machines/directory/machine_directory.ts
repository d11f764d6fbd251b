/** The directory of machines: announces this machine's peers, and takes what others announce. */

import type { KeyObject } from "node:crypto";
import { hasPassed, type Monotonic } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Context } from "../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { type Bus, BusError } from "../bus.ts";
import type { MachineTrust } from "../trust/machine_trust.ts";
import { openAnnouncement, sealAnnouncement } from "../trust/announcement.ts";
import { cardToWire, type SignedCard } from "../trust/cards.ts";
import { toVerifyKey } from "../trust/keys.ts";
import type { AnnouncingMachine, RemotePeers } from "../../features/peers/remote/remote_peers.ts";
import { isBeatOf, readBeat } from "./beat.ts";
import { describe, type Entry, type EntryRefusal, fromBytes } from "./entry.ts";
import { MachineRefusals, type RefusalText } from "./machine_refusals.ts";
import { OwnEntry, type OwnEntryDeps } from "./own_entry.ts";

/** Time for which a machine counts as online after its last sign of life. */
export const LEASE_MS = 60_000;

/** Time for which a shutdown waits until the bus has removed the entry of this machine. */
const LEAVE_MS_MAX = 2000;

/** Interval at which the last sign of life of a machine is stored. */
const TOUCHED_MS = 5 * 60_000;
/** Maximum per second of requests for entries, and of own entries sent to single machines. */
const ASKS_PER_TICK_MAX = 8;
const SENT_PER_TICK_MAX = 32;
/** Pause before a machine that did not send its entry is asked again. */
const ASK_AGAIN_MS = 10_000;
const ANSWER_MS_MAX = 5000;

/** Maximum number of machines with remembered refusals. */
const REFUSED_MACHINES_MAX = 2000;

/** First byte of a call about the directory. Calls of routes begin with 1. */
export const CALL = { entry: 2, ask: 3, refusal: 4 } as const;

interface MachineDirectoryDeps extends OwnEntryDeps {
  readonly bus: Pick<Bus, "announce" | "beat" | "call" | "canBeat" | "withdraw">;
  readonly remotePeers: RemotePeers;
  readonly trust: Pick<MachineTrust, "receive" | "touch">;
  /** True while this machine takes part in the bus. */
  isConnected(): boolean;
  /** A machine came online or went offline; within the transaction that stores it. */
  changed(tx: Tx, machine: AnnouncingMachine, status: "online" | "offline"): void;
  /** Called when a machine came online. */
  cameOnline?(daemon_id: string): void;
}

/** A machine that is online. */
interface Lease extends AnnouncingMachine {
  /** Its card, as text. */
  readonly card: string;
  readonly verify_key: KeyObject;
  /** When its entry was made, by its clock. */
  readonly made_at: number;
  /** Undefined for a version without heartbeats. */
  readonly run: string | undefined;
  readonly revision: number;
  readonly beats: boolean;
  seq: number;
  /** Time of its last sign of life, by this machine's clock. */
  seen_at: number;
  /** The same instant by the monotonic clock, which the lease uses. */
  renewed_at: Monotonic;
  /** Time at which the sign of life was last stored. */
  touched_at: Monotonic;
}

export class MachineDirectory {
  readonly #ctx: Context;
  readonly #deps: MachineDirectoryDeps;
  readonly refusals: MachineRefusals;
  /** The machines that are online, by daemon id. */
  readonly #online = new Map<string, Lease>();
  /** Reasons that were logged, by machine. */
  readonly #logged = new Map<string, Set<string>>();
  /** Machines whose entry is missing here, with the time of the last request for it. */
  readonly #missing = new Map<string, number>();
  /** Machines that connected too late to see this machine's entry at the bus. */
  readonly #unsent = new Set<string>();
  readonly #own: OwnEntry;
  #sending: Promise<void> | undefined;
  #hasLeft = false;

  constructor(ctx: Context, deps: MachineDirectoryDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.refusals = new MachineRefusals(ctx, deps.card.daemon_id);
    this.#own = new OwnEntry(ctx, deps);
  }

  /** Called once a second: sends due announcements, and expires leases. */
  tick(): void {
    const now = this.#ctx.clock.monotonic();
    for (const lease of [...this.#online.values()]) {
      if (now - lease.renewed_at >= LEASE_MS) this.#end(lease);
    }
    if (!this.#deps.isConnected()) this.#own.lost();
    else if (!this.#hasLeft) {
      this.#sendDue(now);
      this.#sendEntries();
      this.#askForEntries(now);
      for (const { to, notice } of this.refusals.takeDue()) this.#sendNotice(to, notice);
    }
  }

  /** Handles an entry of another machine, or null: its removal. True if the machine came online. */
  received(from: string, bytes: Uint8Array | null): boolean {
    const before = this.#online.get(from);
    if (bytes === null) {
      // Any member can make the bus report this, of any machine. Newer versions announce their end
      // themselves, so the report is ignored for them.
      if (before && before.run === undefined) this.#end(before);
      return false;
    }
    const announcement = openAnnouncement(from, this.#deps.network, bytes);
    if (!announcement) return this.#refuse(from, "not_readable");
    const { card } = announcement;
    const parsed = fromBytes(announcement.body);
    if (!parsed.ok) return this.#refuse(from, parsed.reason, { card, can_hear: true });
    const { entry } = parsed;
    if (entry.leaves) {
      if (before?.run === entry.run && before && entry.seq > before.seq) this.#end(before);
      return false;
    }
    if (before && isRepeat(before, entry)) {
      if (entry.run !== undefined && entry.seq > before.seq) this.#seen(before, entry.seq);
      return false; // The bus repeats it, or its machine renews it.
    }
    if (before && isOlder(before, entry)) {
      return this.#refuse(from, "outdated", { card, can_hear: false });
    }
    const isTaken = this.#take(from, card, entry);
    if (!isTaken) return false;
    if (parsed.skipped > 0) {
      this.#leaveOut(from, "peers_skipped", { name: card.name, run: entry.run });
    }
    return before === undefined;
  }

  /** Handles an entry from the bus. A machine that has just started may need this one's entry. */
  announced(from: string, bytes: Uint8Array | null): void {
    const before = this.#online.get(from)?.run;
    this.#takeSent(from, bytes);
    const after = this.#online.get(from)?.run;
    if (after === undefined || after === before) return;
    if (this.#own.isHidden(this.#ctx.clock.monotonic())) this.#unsent.add(from);
  }

  /** Handles the heartbeat of another machine. */
  heard(from: string, bytes: Uint8Array): void {
    const beat = readBeat(this.#deps.network, bytes);
    if (!beat) return void this.#refuse(from, "not_readable");
    const lease = this.#online.get(from);
    if (lease?.run !== beat.run || lease.revision !== beat.revision) this.#miss(from);
    if (lease?.run !== beat.run || beat.seq <= lease.seq) return;
    if (isBeatOf(from, lease.verify_key, beat)) this.#seen(lease, beat.seq);
  }

  /** Answers a call about the directory; undefined for any other call. */
  answer(from: string, frame: Uint8Array): Uint8Array | null | undefined {
    const [kind] = frame;
    const content = frame.subarray(1);
    if (kind === CALL.ask) return this.#own.sealed ?? null;
    if (kind === CALL.entry) {
      this.#takeSent(from, content);
      return new Uint8Array();
    }
    if (kind !== CALL.refusal) return undefined;
    const notice = openAnnouncement(from, this.#deps.network, content, "mesh refusal 1");
    if (notice) this.refusals.receiveNotice(notice.card, notice.body);
    return new Uint8Array();
  }

  /** The machines that are online, in the order in which they came online. */
  get online(): AnnouncingMachine[] {
    return [...this.#online.values()];
  }

  isOnline(daemon_id: string): boolean {
    return this.#online.has(daemon_id);
  }

  /** Time of the machine's last sign of life; undefined while it is offline. */
  lastSeen(daemon_id: string): number | undefined {
    return this.#online.get(daemon_id)?.seen_at;
  }

  /** Forgets a machine, whose peers the caller removes. */
  forget(daemon_id: string): void {
    this.#online.delete(daemon_id);
    this.#logged.delete(daemon_id);
    // Another machine may have been refused because of this one.
    for (const { daemon_id: refused } of this.refusals.refused) this.refusals.accept(refused);
  }

  /** Announces that this machine leaves. A shutdown calls it before its requests end, and after. */
  async leave(): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    await timeout(this.#ctx.clock, LEAVE_MS_MAX, this.#withdraw());
  }

  async #withdraw(): Promise<void> {
    await this.#sending;
    const { bus, isConnected } = this.#deps;
    if (!isConnected()) return;
    try {
      await bus.announce(this.#own.seal({ leaves: true }));
      await bus.withdraw(); // For versions without the field `leaves`.
    } catch (error) { // The lease on the other machines expires.
      this.#ctx.log.warn("The entry of this machine was not withdrawn", { why: messageOf(error) });
    }
  }

  /** Stores the peers of an entry, unless the machine is refused. */
  #take(from: string, card: SignedCard, entry: Entry): boolean {
    const { changed, remotePeers, trust } = this.#deps;
    const now = this.#ctx.clock.now();
    return this.#ctx.db.transactLazily((tx) => {
      const machine = this.#receiveCard(tx, from, card, entry);
      if (!machine) return false;
      const { daemon_id, name } = machine;
      const peers = entry.peers.map((peer) => {
        return { ...peer, last_seen: toOwnClock(peer.last_seen, entry.at, now) };
      });
      const { refused, deprived } = remotePeers.announce(
        tx,
        { daemon_id, name },
        peers,
        entry.human,
      );
      for (const machine of deprived) {
        this.#leaveOut(machine, "peer_id_taken", this.#online.get(machine));
      }
      trust.touch(tx, daemon_id);
      const lease = {
        daemon_id,
        name,
        card: JSON.stringify(card),
        verify_key: toVerifyKey(card.sign),
        made_at: entry.at,
        run: entry.run,
        revision: entry.revision,
        beats: entry.beats,
        seq: entry.seq,
        seen_at: now,
        renewed_at: this.#ctx.clock.monotonic(),
        touched_at: this.#ctx.clock.monotonic(),
      };
      if (!this.#online.has(from)) changed(tx, lease, "online");
      this.#set(from, lease);
      this.refusals.accept(from);
      this.#missing.delete(from);
      if (refused.length > 0) {
        this.#leaveOut(from, "peer_id_taken", { name: card.name, run: entry.run });
      }
      return true;
    });
  }

  /** The machine of a card, unless it is refused. The card of an online machine is known. */
  #receiveCard(
    tx: Tx,
    from: string,
    card: SignedCard,
    { run }: Entry,
  ): AnnouncingMachine | undefined {
    const online = this.#online.get(from);
    if (online?.card === JSON.stringify(card)) return online;
    const received = this.#deps.trust.receive(tx, cardToWire(card));
    if (received.outcome === "self") return undefined;
    if (received.outcome !== "refused") return received.machine;
    const { refusal } = received;
    this.#logOnce(from, refusal.reason, refusal);
    this.refusals.refuse(from, refusal, { name: card.name, can_hear: run !== undefined });
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

  /** Records a sign of life of an online machine. */
  #seen(lease: Lease, seq: number): void {
    const now = this.#ctx.clock.monotonic();
    lease.seq = seq;
    lease.seen_at = this.#ctx.clock.now();
    lease.renewed_at = now;
    this.refusals.stillRefused(lease.daemon_id);
    if (!hasPassed(TOUCHED_MS, lease.touched_at, now)) return;
    lease.touched_at = now;
    this.#ctx.db.transactLazily((tx) => this.#deps.trust.touch(tx, lease.daemon_id));
  }

  #end(lease: Lease): void {
    const { daemon_id } = lease;
    this.#ctx.db.transact((tx) => {
      this.#online.delete(daemon_id);
      this.#ctx.db.afterRollback(() => void this.#online.set(daemon_id, lease));
      this.#deps.remotePeers.endLease(tx, daemon_id);
      this.#deps.changed(tx, lease, "offline");
    });
  }

  #sendDue(now: Monotonic): void {
    if (this.#sending) return;
    const sent = this.#own.sendDue(now, () => this.#online.values().some(({ beats }) => !beats));
    if (sent) this.#sending = this.#report(sent).finally(() => this.#sending = undefined);
  }

  /** Logs a failure. The entry is sent again after the time of a renewal. */
  async #report(sent: Promise<void>): Promise<void> {
    const { daemon_id } = this.#deps.card;
    try {
      await sent;
      this.#logged.delete(daemon_id);
    } catch (error) {
      this.#own.failed();
      const detail = messageOf(error);
      this.#logOnce(daemon_id, "not_published", { detail, hint: "see `mesh doctor`" });
    }
  }

  /** Records that the last entry of a machine is missing here. */
  #miss(daemon_id: string): void {
    if (this.#missing.has(daemon_id) || this.refusals.isRefused(daemon_id)) return;
    if (this.#missing.size < REFUSED_MACHINES_MAX) this.#missing.set(daemon_id, -Infinity);
  }

  #askForEntries(now: Monotonic): void {
    let requests = 0;
    for (const [daemon_id, asked_at] of [...this.#missing]) {
      if (asked_at !== -Infinity) {
        if (hasPassed(ASK_AGAIN_MS, asked_at, now)) this.#missing.delete(daemon_id);
      } else if (requests++ < ASKS_PER_TICK_MAX) {
        this.#missing.set(daemon_id, now);
        void this.#call(daemon_id, CALL.ask, new Uint8Array()).then((entry) => {
          if (entry?.length) this.#takeSent(daemon_id, entry);
        });
      }
    }
  }

  #takeSent(from: string, entry: Uint8Array | null): void {
    try {
      if (this.received(from, entry)) this.#deps.cameOnline?.(from);
    } catch (error) {
      const why = messageOf(error);
      this.#ctx.log.error("An announcement could not be taken", { daemon_id: from, why });
    }
  }

  #sendEntries(): void {
    const { sealed } = this.#own;
    if (!sealed) return;
    for (const daemon_id of [...this.#unsent].slice(0, SENT_PER_TICK_MAX)) {
      this.#unsent.delete(daemon_id);
      void this.#call(daemon_id, CALL.entry, sealed);
    }
  }

  #sendNotice(to: string, body: Uint8Array): void {
    const { card, keys, network } = this.#deps;
    const { ids } = this.#ctx;
    const notice = sealAnnouncement({ card, body }, keys, network, ids, "mesh refusal 1");
    void this.#call(to, CALL.refusal, notice);
  }

  /** The answer of another machine; undefined after a failure, which the next heartbeat retries. */
  async #call(
    to: string,
    kind: (typeof CALL)[keyof typeof CALL],
    content: Uint8Array,
  ): Promise<Uint8Array | undefined> {
    const frame = new Uint8Array(1 + content.length);
    frame[0] = kind;
    frame.set(content, 1);
    try {
      return await this.#deps.bus.call(to, frame, ANSWER_MS_MAX);
    } catch (error) {
      if (!(error instanceof BusError)) {
        this.#ctx.log.error("A machine could not be asked for its entry", { daemon_id: to, error });
      }
      return undefined;
    }
  }

  #refuse(
    from: string,
    reason: EntryRefusal,
    { card, can_hear }: { readonly card?: SignedCard; readonly can_hear: boolean } = {
      can_hear: false,
    },
  ): false {
    const text: RefusalText = { reason, ...describe(reason) };
    this.#logOnce(from, reason, text);
    // Does not refuse a machine that is online: the entry may be a repeat, or come from another
    // sender.
    const isOnline = this.#online.has(from);
    if (!isOnline) this.refusals.refuse(from, text, { name: card?.name ?? null, can_hear });
    return false;
  }

  /** Records that a part of an accepted entry is left out. */
  #leaveOut(
    from: string,
    reason: EntryRefusal,
    machine: Pick<Lease, "name" | "run"> | undefined,
  ): void {
    const text: RefusalText = { reason, ...describe(reason) };
    this.#logOnce(from, reason, text);
    this.refusals.refuse(from, text, {
      name: machine?.name ?? null,
      can_hear: machine?.run !== undefined,
      is_partial: true,
    });
  }

  /** Logs each reason of a machine once. */
  #logOnce(
    daemon_id: string,
    reason: string,
    { detail, hint }: { readonly detail: string; readonly hint: string },
  ): void {
    if (this.#logged.size >= REFUSED_MACHINES_MAX) this.#logged.clear();
    const logged = this.#logged.getOrInsertComputed(daemon_id, () => new Set());
    if (logged.has(reason)) return;
    logged.add(reason);
    const what = reason === "not_published"
      ? "The entry of this machine could not be published"
      : "The entry of a machine was refused";
    this.#ctx.log.warn(what, { daemon_id, reason, detail, hint });
  }
}

function isRepeat(lease: Lease, { at, run, revision }: Entry): boolean {
  if (run === undefined || run !== lease.run) return lease.made_at === at;
  return revision === lease.revision;
}

/** Within a run, the order is that of its counter, which clock changes do not affect. */
function isOlder(lease: Lease, { at, run, revision }: Entry): boolean {
  if (run === undefined || run !== lease.run) return at < lease.made_at;
  return revision < lease.revision;
}

/** An instant before `made_at` of another clock, as the same time before `now` of this one. */
function toOwnClock(at: number | null, made_at: number, now: number): number | null {
  return at === null ? null : now - Math.max(0, made_at - at);
}

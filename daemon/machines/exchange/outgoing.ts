/** Messages from this machine to peers of others, from their commit to their last report. */

import type { Context } from "../../data/context.ts";
import type { Reason } from "protocol/reasons.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import * as ledger from "../../features/messages/ledger/ledger.ts";
import { findStepped, type SteppedMessage } from "../../features/messages/ledger/rows.ts";
import { insertStage } from "../../features/messages/ledger/stages.ts";
import type { RemoteDelivery } from "../../features/messages/remote_delivery.ts";
import { toOwnClock } from "../other_clock.ts";
import type { ExchangeDeps, KnownMachine } from "./deps.ts";
import type { MessageEntry, StepEntry } from "./entries.ts";
import { digestOf, toEntry } from "./outgoing_entry.ts";
import * as rows from "./store.ts";

/** The stages of a report, each with its instant. */
const STAGES = ["attempted", "sent", "accepted", "seen"] as const;

export class OutgoingMessages implements RemoteDelivery {
  readonly #ctx: Context;
  readonly #deps: ExchangeDeps;

  constructor(ctx: Context, deps: ExchangeDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  forward(tx: Tx, message: StoredMessage, daemon_id: string, hops: number): void {
    const entry = toEntry(tx, { message, daemon_id, hops }, this.#deps);
    const { seq, delivery_id, correlation_id } = message;
    const entry_tag = this.#deps.links.append(tx, daemon_id, "message", entry);
    rows.insert(tx, {
      seq,
      daemon_id,
      sent: true,
      delivery_id,
      correlation_id,
      hops,
      entry_tag,
      reported: null,
      digest: digestOf(entry),
    });
  }

  withdraw(tx: Tx, { seq }: Pick<StoredMessage, "seq">): boolean {
    const known = rows.bySeq(tx, seq);
    if (!known?.sent) return true;
    const { entry_tag, daemon_id } = known;
    return entry_tag !== null && this.#deps.links.withdraw(tx, daemon_id, entry_tag);
  }

  queuedFromElsewhere(tx: Tx, peer_id: string): StoredMessage[] {
    return rows.queuedFor(tx, peer_id).flatMap((seq) => ledger.findMessageBySeq(tx, seq) ?? []);
  }

  isForwarded({ seq }: Pick<StoredMessage, "seq">): boolean {
    return rows.bySeq(this.#ctx.db, seq)?.sent ?? false;
  }

  reasonToWait(daemon_id: string): Reason | null {
    return this.#deps.reasonToWait(daemon_id);
  }

  /** Stores why queued messages wait, to one machine or to all. Publishing ends the reason. */
  waitFor(tx: Tx, reason: Reason, daemon_id?: string): void {
    for (const peer_id of ledger.peersWaiting(tx)) {
      const peer = this.#deps.remotePeer(peer_id);
      const isMeant = peer && (daemon_id === undefined || peer.daemon_id === daemon_id);
      if (isMeant) ledger.setBlockedReason(tx, peer_id, reason);
    }
  }

  hopsBefore(correlation_id: string): number | undefined {
    const { db } = this.#ctx;
    const message = ledger.findMessage(db, correlation_id);
    const known = message && rows.bySeq(db, message.seq);
    return known && !known.sent ? known.hops : undefined;
  }

  /** The bus has stored the entry of a message. Does nothing in a later state. */
  published(tx: Tx, { delivery_id }: Pick<MessageEntry, "delivery_id">): void {
    const message = findStepped(tx, delivery_id);
    if (message) this.#written(tx, message);
  }

  /** The other machine has the message on its disk. */
  confirmed(tx: Tx, { delivery_id }: Pick<MessageEntry, "delivery_id">): void {
    const message = findStepped(tx, delivery_id);
    if (message) this.#deps.steps.accepted(this.#written(tx, message));
  }

  /**
   * The other machine refuses the message. A message for the human then goes to the inbox of this
   * machine. It was accepted here, and the other machine may refuse it only because the human has
   * not yet allowed messages from this machine there.
   */
  refused(tx: Tx, entry: Pick<MessageEntry, "delivery_id">, reason: string): void {
    const state = reason === "expired_on_the_way" ? "expired" : "failed";
    if (!this.#keepForHuman(tx, entry, reason)) this.ended(tx, entry, state, reason);
  }

  /** The other machine refuses the message, or can no longer be reached. */
  ended(
    tx: Tx,
    { delivery_id }: Pick<MessageEntry, "delivery_id">,
    state: "failed" | "expired" | "dropped",
    reason: string,
  ): void {
    const message = ledger.findMessage(tx, delivery_id);
    if (!message || !this.#deps.steps.endedThere(message, state, reason)) return;
    if (message.kind === "ask" && message.closed_at === null) {
      this.#deps.effects.undeliverable({ ...message, reason });
    }
  }

  /** Applies a report of the other machine about a message. */
  reported(tx: Tx, machine: KnownMachine, entry: StepEntry): void {
    const { daemon_id } = machine;
    const { delivery_id, digest } = entry;
    const known = rows.byReport(tx, { daemon_id, sent: true, delivery_id, digest });
    const message = known && ledger.findMessageBySeq(tx, known.seq);
    if (!known || !message) return;
    this.#noteStages(tx, machine, { message, entry, known });
    const { steps } = this.#deps;
    const { state, reason } = entry;
    if (state === "accepted") steps.accepted(message);
    else if (state === "seen") steps.seen(message);
    // An ask that is still open here was not delivered: how it was closed is reported before this.
    else this.ended(tx, message, state, reason ?? state);
  }

  /**
   * Sends again a message that the other machine confirmed and may have lost. If it still has the
   * message, it recognizes the id and only confirms. A message that an agent has seen is not sent
   * again, unless it is an open ask.
   */
  sendAgain(tx: Tx, machine: KnownMachine, seq: number): void {
    const known = rows.bySeq(tx, seq);
    const message = ledger.findMessageBySeq(tx, seq);
    if (!known?.sent || !message) return;
    const { state, kind, closed_at, expires_at, delivery_id } = message;
    const now = this.#ctx.clock.now();
    const isWaiting = kind === "ask" ? closed_at === null : state === "accepted";
    const isThere = state === "accepted" || state === "seen";
    if (!isWaiting || !isThere || (expires_at !== null && expires_at <= now)) return;
    const { daemon_id, hops } = known;
    const entry = toEntry(tx, { message, daemon_id, hops }, this.#deps);
    this.#deps.links.append(tx, daemon_id, "message", entry);
    const detail = `${machine.name} went back to an earlier state, and may have lost it`;
    insertStage(tx, { delivery_id, stage: "sent_again", status: "ok", ts: now, detail });
  }

  /** Ends everything that waits for a machine which was forgotten. */
  forgotten(tx: Tx, daemon_id: string): void {
    for (const seq of rows.unfinishedTo(tx, daemon_id)) {
      const message = ledger.findMessageBySeq(tx, seq);
      if (!message) continue;
      if (message.state === "queued") this.#deps.steps.dropped(message, "machine_forgotten");
      else this.#deps.steps.endedThere(message, "dropped", "machine_forgotten");
      if (message.kind === "ask" && message.closed_at === null) {
        this.#deps.effects.undeliverable({ ...message, reason: "machine_forgotten" });
      }
    }
  }

  /** Steps a queued message to sent; a message that is published again has been stepped before. */
  #written(tx: Tx, message: SteppedMessage): SteppedMessage {
    if (message.state !== "queued") return message;
    const { steps } = this.#deps;
    rows.clearEntryTag(tx, message.seq);
    const [sent = message] = steps.handedOver([message], "bus", true);
    return sent;
  }

  /** Returns false for a message that is not for the human, or is no longer needed. */
  #keepForHuman(
    tx: Tx,
    { delivery_id }: Pick<MessageEntry, "delivery_id">,
    reason: string,
  ): boolean {
    const { directory, inbox, remotePeer, steps } = this.#deps;
    const message = ledger.findMessage(tx, delivery_id);
    const human = directory.human();
    if (!message || !human || message.closed_at !== null) return false;
    if (remotePeer(message.to_peer_id)?.role !== "human" || !steps.accepted(message)) return false;
    const recipient = { to_peer_id: human.peer_id, to_peer_name: human.name };
    // The answer is given here now, so no report to the other machine is needed.
    rows.remove(tx, [message.seq]);
    ledger.redirect(tx, message.seq, recipient);
    insertStage(tx, {
      delivery_id,
      stage: "kept_here",
      status: "ok",
      ts: this.#ctx.clock.now(),
      detail: `in the inbox of this machine, as ${message.to_peer_name} refused it: ${reason}`,
    });
    inbox.add({ ...message, ...recipient });
    return true;
  }

  /** Adds the stages at the other machine that it had not reported before. */
  #noteStages(
    tx: Tx,
    machine: KnownMachine,
    { message, entry, known }: {
      message: StoredMessage;
      entry: StepEntry;
      known: rows.RemoteMessage;
    },
  ): void {
    const before = new Set(known.reported?.split(" ") ?? []);
    const reached = STAGES.filter((stage) => entry[`${stage}_at`] !== null && !before.has(stage));
    if (reached.length === 0) return;
    for (const stage of reached) {
      const there = entry[`${stage}_at`] ?? entry.at;
      const transport = stage === "attempted" && entry.transport ? ` by ${entry.transport}` : "";
      insertStage(tx, {
        delivery_id: message.delivery_id,
        stage: `${stage}_there`,
        status: "ok",
        ts: toOwnClock(there, machine.clock_ahead_ms),
        detail: `on ${machine.name}${transport}${describeClock(there, machine.clock_ahead_ms)}`,
      });
    }
    rows.setReported(tx, known.seq, [...before, ...reached].join(" ").trim());
  }
}

/** The time of an event by another machine's clock, if that differs from ours. */
function describeClock(at: number, ahead_ms: number | null): string {
  const time = new Date(at).toISOString().slice(11, 23);
  if (ahead_ms === null) return `, at ${time} UTC by its clock`;
  const seconds = Math.round(ahead_ms / 1000);
  if (Math.abs(seconds) < 1) return "";
  const side = seconds > 0 ? "ahead" : "behind";
  return `, at ${time} UTC by its clock, which is ${Math.abs(seconds)} s ${side}`;
}

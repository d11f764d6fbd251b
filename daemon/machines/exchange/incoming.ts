/** Messages from other machines to peers of this one: checks them and accepts them. */

import type { Context } from "../../data/context.ts";
import { Name } from "kit/core/schema.ts";
import { Problem } from "protocol/problems.ts";
import type { Tx } from "kit/data/sqlite.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { MessageDraft } from "../../features/messages/delivery.ts";
import { insertStage } from "../../features/messages/ledger/stages.ts";
import { EntryRefused } from "../links/handlers.ts";
import { ENTRY_MS_MAX } from "../links/incoming_link.ts";
import * as ledger from "../../features/messages/ledger/ledger.ts";
import { type Address, type AuthorKind, isLocalHuman } from "protocol/peers/record.ts";
import { toOwnClock } from "../other_clock.ts";
import type { ExchangeDeps, KnownMachine } from "./deps.ts";
import type { MessageEntry } from "./entries.ts";
import { digestOf } from "./outgoing_entry.ts";
import * as rows from "./store.ts";

type Draft = Omit<MessageDraft, "kind" | "question">;

export class IncomingMessages {
  readonly #ctx: Context;
  readonly #deps: ExchangeDeps;

  constructor(ctx: Context, deps: ExchangeDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Accepts a message, or throws a problem before the first write; its code goes to the origin. */
  apply(tx: Tx, machine: KnownMachine, entry: MessageEntry): void {
    const { daemon_id } = machine;
    const { delivery_id, correlation_id, kind, hops } = entry;
    const digest = digestOf(entry);
    const before = rows.byDelivery(tx, { daemon_id, sent: false, delivery_id });
    if (before && !isRepeat(tx, before, { entry, digest })) throw new EntryRefused("id_reused");
    if (before) return;
    const created_at = toOwnClock(entry.created_at, machine.clock_ahead_ms);
    const draft = this.#toDraft(tx, machine, entry, created_at);
    const message = kind === "ask"
      ? this.#openAsk({ ...draft, proof: this.#proofFor(machine, entry, draft.to) }, entry)
      : this.#send(draft, kind);
    const { seq } = message;
    rows.insert(tx, {
      seq,
      daemon_id,
      sent: false,
      delivery_id,
      correlation_id,
      hops,
      entry_tag: null,
      reported: null,
      digest,
    });
    insertStage(tx, {
      delivery_id: message.delivery_id,
      stage: "accepted_there",
      status: "ok",
      ts: created_at,
      detail: `on ${machine.name}, as ${delivery_id}`,
    });
  }

  #toDraft(tx: Tx, machine: KnownMachine, entry: MessageEntry, created_at: number): Draft {
    const to = this.#mustReach(machine, entry.to_peer_id);
    const from = this.#senderOf(machine, entry);
    const now = this.#ctx.clock.now();
    const ttl_ms = entry.expires_at === null
      ? undefined
      : Math.min(toOwnClock(entry.expires_at, machine.clock_ahead_ms) - now, ENTRY_MS_MAX);
    if (ttl_ms !== undefined && ttl_ms <= 0) throw new EntryRefused("expired_on_the_way");
    const { downloads } = this.#deps.files;
    const { attachments, missing } = downloads.received(tx, machine.daemon_id, entry.attachments);
    return {
      from,
      to,
      voice: this.#voiceOf(machine, entry),
      urgent: entry.urgent,
      text: withLines(entry.text, missing),
      attachments,
      circle: entry.circle ?? to.circle,
      reply_to: this.#replyTo(tx, machine, entry),
      traceparent: entry.traceparent,
      remote_origin: {
        at: created_at,
        hops: entry.hops,
        machine: machine.name,
        reported: entry.chain,
        // A machine can invent as many ids as it likes.
        counted_as: from.peer_id !== null && this.#deps.remotePeer(from.peer_id)
          ? from.peer_id
          : machine.daemon_id,
      },
      ...(ttl_ms !== undefined && { ttl_ms }),
    };
  }

  #openAsk(draft: Draft, entry: MessageEntry): StoredMessage {
    const { ticket } = this.#deps.asks.send({
      ...draft,
      question: entry.question,
      // The asker's machine notifies the asker, so nothing is sent here.
      opening: { reply_delivery: "pull", origin: null, parent_id: null, routing: null },
    });
    return ticket.message;
  }

  /** A check runs a program here, so a machine needs to be permitted. */
  #proofFor({ name, may_prove }: KnownMachine, { prove, question }: MessageEntry, to: Address) {
    if (!prove) return undefined;
    if (!may_prove) throw new Problem("prove_from_machine", { machine: name });
    if (question) throw new Problem("prove_question", {});
    return this.#deps.proofs.proofFor(prove, to);
  }

  #send(draft: Draft, kind: "notify" | "broadcast"): StoredMessage {
    const { delivery, inbox } = this.#deps;
    const { from, to } = draft;
    const { message } = delivery.send({ ...draft, kind });
    if (isLocalHuman(to)) inbox.add(message);
    this.#ctx.events.append("notification", {
      delivery_id: message.delivery_id,
      from_peer_id: from.peer_id,
      from: from.name,
      to_peer_id: to.peer_id,
      to: to.name,
      delivery_state: message.state,
    });
    return message;
  }

  /** The recipient. A machine reaches peers that this one shares, and the human if permitted. */
  #mustReach({ may_administer }: KnownMachine, to_peer_id: string): Address {
    const { directory } = this.#deps;
    const to = directory.address(to_peer_id);
    const known = to && to.dropped_at === null && !to.closed;
    const isOpen = known && (to.role === "human" ? may_administer : this.#deps.isShared(to));
    if (!isOpen) throw new Problem("unknown_peer", { peer: to_peer_id });
    // Not passed on to the human's home: two machines could name each other as the home.
    return to.role === "human" ? to : directory.target(to_peer_id, {});
  }

  /** The sender. Its name carries the machine's, and its id must not belong to another machine. */
  #senderOf(machine: KnownMachine, { from }: MessageEntry): MessageDraft["from"] {
    const { directory } = this.#deps;
    const { peer_id, name } = from;
    const named = `${Name.safeParse(name).success ? name : "unnamed"}@${machine.name}`;
    if (peer_id === null) return { peer_id: null, name: named };
    const local = directory.address(peer_id);
    const owner = this.#deps.remotePeer(peer_id)?.daemon_id ?? machine.daemon_id;
    if (local || owner !== machine.daemon_id) throw new EntryRefused("forged_sender");
    return { peer_id, name: named };
  }

  /** Only a machine that may administer this one speaks as its human. */
  #voiceOf({ may_administer }: KnownMachine, { voice, from: { name } }: MessageEntry): AuthorKind {
    if (voice === "human") return may_administer ? "human" : "unverified";
    if (voice === "unverified") return voice;
    return this.#deps.directory.authorKindOf({ role: null, name });
  }

  /** The ask here that the message follows up on; null if this machine does not have it. */
  #replyTo(tx: Tx, { daemon_id }: KnownMachine, { reply_to }: MessageEntry): string | null {
    if (reply_to === null) return null;
    const { correlation_id } = reply_to;
    const known = rows.byAsk(tx, { daemon_id, sent: !reply_to.sent, correlation_id });
    return (known && ledger.findMessageBySeq(tx, known.seq)?.correlation_id) ?? null;
  }
}

/**
 * True if the same message came before with this id, so it is confirmed and not applied again. The
 * sender may have given the id twice, if its database was restored.
 */
function isRepeat(
  tx: Tx,
  before: rows.RemoteMessage,
  { entry, digest }: { readonly entry: MessageEntry; readonly digest: string },
): boolean {
  if (before.digest !== null) return before.digest === digest;
  // Stored by an earlier version, which appended lines about missing files to the text.
  const message = ledger.findMessageBySeq(tx, before.seq);
  const isSameText = message === undefined || message.text.startsWith(entry.text);
  return before.correlation_id === entry.correlation_id && isSameText;
}

/** A text, followed by lines about it, such as those for missing files. */
export function withLines(text: string, lines: string): string {
  return [text, lines].filter((part) => part !== "").join("\n\n");
}

/** Closes asks between two machines: the answer travels, and the asker's machine decides. */

import type { Context } from "../../data/context.ts";
import { Problem, recoverableProblem } from "protocol/problems.ts";
import { sentenceOf } from "protocol/reasons.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { isDecidedThere, isForPerson, TERMINAL } from "../../features/asks/answers.ts";
import type { ClosingDetails } from "../../features/asks/ask_closer.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { CloseReason } from "protocol/asks/states.ts";
import * as ledger from "../../features/messages/ledger/ledger.ts";
import { insertStage } from "../../features/messages/ledger/stages.ts";
import type { ExchangeDeps, KnownMachine } from "./deps.ts";
import type { ClosedEntry, LateEntry } from "./entries.ts";
import { withLines } from "./incoming.ts";
import * as rows from "./store.ts";

/** Marks a message from another machine whose answer came too late and was reported. */
const ANSWER_LATE = "answer_late";
/** Close reasons that are answers of the recipient. */
const ANSWERS: ReadonlySet<CloseReason> = new Set(["ack", "ack_with_msg", "answered"]);

export class Closings {
  readonly #ctx: Context;
  readonly #deps: ExchangeDeps;
  /** The ask that is being closed because the other machine has closed it. */
  #applied: string | undefined;

  constructor(ctx: Context, deps: ExchangeDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Reports the end of an ask to the machine that sent it. */
  closing(tx: Tx, ask: Ask): void {
    const { known } = this.#find(tx, ask);
    if (known && !known.sent) this.#report(tx, ask, known);
  }

  /** Reports the end of an ask to the machine of its recipient. */
  closed(tx: Tx, ask: Ask): void {
    const { message, known } = this.#find(tx, ask);
    // An ask that was taken back before it left was never open there.
    const wasTakenBack = message?.state === "dropped" && message.sent_at === null;
    if (known?.sent && !wasTakenBack) this.#report(tx, ask, known);
  }

  /** Reports to the other machine again how an ask was closed. */
  again(tx: Tx, known: rows.RemoteMessage): void {
    const message = ledger.findMessageBySeq(tx, known.seq);
    if (message?.kind !== "ask" || message.closed_at === null || !message.correlation_id) return;
    this.#report(tx, this.#deps.asks.mustGet(message.correlation_id), known, true);
  }

  #find(tx: Tx, { correlation_id }: Ask) {
    const message = ledger.findMessage(tx, correlation_id);
    return { message, known: message && rows.bySeq(tx, message.seq) };
  }

  #report(tx: Tx, ask: Ask, known: rows.RemoteMessage, again = false): void {
    const { daemon_id, sent, correlation_id, delivery_id, digest } = known;
    if (correlation_id === null || ask.correlation_id === this.#applied) return;
    const entry: ClosedEntry = {
      sent,
      correlation_id,
      delivery_id,
      digest: digest ?? undefined,
      ...(again && { again }),
      close_reason: ask.close_reason ?? "send_failed",
      outcome: ask.outcome ?? "failed",
      reply: ask.reply,
      answer: ask.answer,
      responder: ask.responder,
      voice: ask.reply_voice,
      attachments: ask.reply_attachments.map((file) =>
        this.#deps.files.uploads.describe(tx, daemon_id, file)
      ),
      ...(!sent && { proof: this.#deps.proofs.reportOf(ask.correlation_id) }),
      at: this.#ctx.clock.now(),
    };
    this.#deps.links.append(tx, daemon_id, "closed", entry);
  }

  /** Applies that the other machine has closed an ask. */
  apply(tx: Tx, machine: KnownMachine, entry: ClosedEntry): void {
    const { daemon_id } = machine;
    const { correlation_id, close_reason } = entry;
    // The same ask is `sent` on one side and received on the other.
    const known = rows.byReport(tx, { ...entry, daemon_id, sent: !entry.sent });
    const message = known && ledger.findMessageBySeq(tx, known.seq);
    if (!known || !message?.correlation_id) throw new Problem("unknown_ask", { correlation_id });
    const ask = this.#deps.asks.mustGet(message.correlation_id);
    if (ask.state === "closed") return this.#cameLate(tx, machine, { ask, entry, known });
    const { attachments, missing } = this.#deps.files.downloads.received(
      tx,
      daemon_id,
      entry.attachments,
    );
    const reply = withLines(entry.reply ?? "", missing) || null;
    // An ask that ends without an answer has nothing that could have been checked.
    const isAnswer = known.sent && ANSWERS.has(close_reason);
    const proof = isAnswer ? this.#deps.proofs.reported(ask, entry.proof) : undefined;
    const details = {
      ...this.#detailsOf(machine, ask, entry),
      reply,
      attachments,
      ...(proof && { proof }),
    };
    this.#applied = ask.correlation_id;
    try {
      if (isUnprovenPermission(ask, details)) this.#denyPermission(machine, ask, details);
      else this.#deps.asks.closer.close(ask, close_reason, details);
    } finally {
      this.#applied = undefined;
    }
  }

  /** Notifies the peer whose answer came too late. */
  applyLate(tx: Tx, { daemon_id, name }: KnownMachine, entry: LateEntry): void {
    const { close_reason } = entry;
    const known = rows.byReport(tx, { ...entry, daemon_id, sent: false });
    const message = known && ledger.findMessageBySeq(tx, known.seq);
    // A machine that repeats itself must not fill the queue of the peer with notices.
    if (!known || known.reported !== null) return;
    if (!message?.correlation_id || message.closed_at === null) return;
    rows.setReported(tx, known.seq, ANSWER_LATE);
    const detail = `${message.from_peer_name} closed it on ${name} before: ${close_reason}`;
    const { delivery_id } = message;
    insertStage(tx, { delivery_id, stage: "answer_late", ts: this.#ctx.clock.now(), detail });
    const what = `The answer to ${message.correlation_id} was not delivered`;
    this.#notifyPeer(message.to_peer_id, `${what}: ${detail}.`);
  }

  /** The other machine lost the ask that was answered here. Notifies the peer that answered. */
  refused(tx: Tx, { daemon_id }: { daemon_id: string }, entry: ClosedEntry, reason: string): void {
    const isOwnAnswer = !entry.sent && !entry.again;
    const known = !isOwnAnswer
      ? undefined
      : rows.byReport(tx, { ...entry, daemon_id, sent: false });
    const message = known && ledger.findMessageBySeq(tx, known.seq);
    if (!known || known.reported !== null || !message?.correlation_id) return;
    rows.setReported(tx, known.seq, ANSWER_LATE);
    const detail = `the asker's machine does not take it: ${sentenceOf(reason)}`;
    const { delivery_id } = message;
    insertStage(tx, { delivery_id, stage: "answer_refused", ts: this.#ctx.clock.now(), detail });
    if (entry.responder === null) return;
    const what = `The answer to ${message.correlation_id} was not delivered`;
    this.#notifyPeer(message.to_peer_id, `${what}: ${detail}.`);
  }

  /** The peer may be gone by now; the trace says it all the same. */
  #notifyPeer(peer_id: string, text: string): void {
    try {
      this.#ctx.db.transactNested(() => this.#deps.notifications.notifyFromDaemon(peer_id, text));
    } catch (error) {
      if (!recoverableProblem(error)) throw error;
    }
  }

  /** Notifies the author of an answer to a closed ask, which nobody gets. */
  #cameLate(
    tx: Tx,
    machine: KnownMachine,
    { ask, entry, known }: { ask: Ask; entry: ClosedEntry; known: rows.RemoteMessage },
  ): void {
    if (entry.again) {
      // The peer that answered already got a notice that it came late; this machine has lost that
      // record.
      const isLate = entry.sent && ask.reply !== null && ask.close_reason !== entry.close_reason;
      return isLate ? this.applyLate(tx, machine, entry) : undefined;
    }
    const { daemon_id } = machine;
    const hasAnswer = entry.reply !== null || entry.outcome === "acknowledged";
    if (!known.sent || entry.responder === null || !hasAnswer) return;
    const late: LateEntry = {
      correlation_id: entry.correlation_id,
      delivery_id: entry.delivery_id,
      digest: entry.digest,
      close_reason: ask.close_reason,
    };
    this.#deps.links.append(tx, daemon_id, "late", late);
  }

  #denyPermission({ name }: KnownMachine, ask: Ask, { responder }: ClosingDetails): void {
    this.#deps.asks.closer.close(ask, "declined", {
      responder,
      reply: `It is not proven that the human answered on ${name}: ` +
        "an answer there counts if mesh.bus.allow_admin names that machine",
      outcome: "denied",
    });
  }

  #detailsOf(machine: KnownMachine, ask: Ask, entry: ClosedEntry): ClosingDetails {
    const { answer, outcome, responder, voice } = entry;
    const isHuman = voice === "human" && machine.may_administer;
    const claimed = voice === "human" && !isHuman ? "unverified" : voice;
    const isByRecipient = !entry.sent;
    return {
      // The name that this machine knows: a machine cannot answer in the name of another peer.
      responder: responder === null
        ? null
        : isDecidedThere(outcome)
        ? TERMINAL
        : isByRecipient
        ? ask.to_peer_name
        : ask.from_peer_name,
      proven_human: isHuman,
      ...(claimed && isByRecipient && { reply_voice: claimed }),
      answer,
      outcome,
      elsewhere: !isByRecipient,
    };
  }
}

/** Only the human permits a tool or more of a budget, on whichever machine. */
function isUnprovenPermission(
  { question }: Ask,
  { outcome, proven_human }: ClosingDetails,
): boolean {
  return isForPerson(question) && outcome === "answered" && !proven_human;
}

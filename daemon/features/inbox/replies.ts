/**
 * Replies to inbox items. A reply answers the item's ask, or opens a new ask to the item's sender.
 */

import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import type { Asks } from "../asks/asks.ts";
import type { Questions } from "../asks/questions/questions.ts";
import { ask as getAsk } from "../asks/store.ts";
import type { InboxItem, InboxReply } from "./contract.ts";
import { type Inbox, stripLeadingZeros } from "./inbox.ts";
import * as pushes from "./pushes.ts";
import * as rows from "./store.ts";

/** The author of a reply. */
export interface ReplyAuthor {
  /** Whether the reply has a proven human origin (contract 2). */
  readonly proven_human: boolean;
}

/**
 * The message on a surface by which the human opened an ask (specification 2); null if there is
 * none.
 */
type Origin = { readonly surface: string; readonly ref: string } | null;

interface ReplyInput {
  readonly surface: string;
  readonly text: string;
  readonly option_id?: string | undefined;
  readonly attachments?: string[] | undefined;
  readonly ref?: string | undefined;
}

/** The text of an ask that a reply opens with attachments only, because an ask needs a text. */
const FILES_ONLY_TEXT = "(see the attached files)";

const DECIMAL = /^\d+$/;

export interface InboxRepliesDeps {
  readonly asks: Asks;
  readonly inbox: Inbox;
  readonly questions: Questions;
}

export class InboxReplies {
  readonly #ctx: Context;
  readonly #asks: Asks;
  readonly #inbox: Inbox;
  readonly #questions: Questions;

  constructor(ctx: Context, { asks, inbox, questions }: InboxRepliesDeps) {
    this.#ctx = ctx;
    this.#asks = asks;
    this.#inbox = inbox;
    this.#questions = questions;
  }

  /**
   * Answers the item's ask if that ask is open; otherwise opens an ask to the item's sender
   * (specification 4).
   */
  reply(item_id: string, reply: InboxReply, by: ReplyAuthor) {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const item = this.#inbox.mustGet(item_id);
      const result = this.#applyReply(item, reply, by);
      if (result.action === "asked") rows.setThread(tx, item_id, result.correlation_id);
      rows.markRead(tx, item_id, reply.surface, clock.now());
      const replied = result.action !== "read";
      if (replied) rows.markReplied(tx, item_id, clock.now());
      const changed = !item.read || (replied && !item.replied);
      if (changed) {
        this.#inbox.publishUpdated(
          { ...item, read: true, replied: item.replied || replied },
          reply.surface,
        );
      }
      return result;
    });
  }

  /** Replies to the item that a surface has rendered as the message `ref`, in whole or in part. */
  replyByRef(ref: string, reply: InboxReply, by: ReplyAuthor) {
    this.#inbox.mustHuman();
    const { surface } = reply;
    const digits = DECIMAL.test(ref) ? stripLeadingZeros(ref) : null;
    const item_id = pushes.byRef(this.#ctx.db, { surface, ref, digits });
    if (!item_id) throw new Problem("unknown_surface_ref", { surface, surface_ref: ref });
    return this.reply(item_id, reply, by);
  }

  #applyReply(
    item: InboxItem,
    { surface, text, option_id, attachments, ref }: ReplyInput,
    by: ReplyAuthor,
  ) {
    const { correlation_id, from_peer_id, from } = item;
    const from_peer = this.#inbox.mustHuman().peer_id;
    const ask = correlation_id === null ? undefined : getAsk(this.#ctx.db, correlation_id);
    const asked = item.kind === "ask" ? ask : undefined;
    if (asked?.state === "open") {
      this.#ctx.db.transact((tx) => rows.markReplied(tx, item.item_id, this.#ctx.clock.now()));
      const { correlation_id, question } = asked;
      const files = attachments && { attachments };
      if (question) {
        const fields = { ...option_id && { option_id }, ...text && { text }, ...files };
        this.#answer(correlation_id, fields, by);
      } else {
        this.#asks.ack(
          { correlation_id, from_peer, ...text && { message: text }, ...files },
          by,
        );
      }
      return { action: question ? "answered" as const : "acked" as const, correlation_id };
    }
    if (text === "" && !attachments?.length) {
      return { action: "read" as const, correlation_id: null };
    }
    const reply_to = ask ? ask.correlation_id : null;
    const origin = ref === undefined ? null : { surface, ref };
    const askFields = { text: text || FILES_ONLY_TEXT, attachments, origin };
    const opened = this.#openAsk(from_peer_id ?? from, askFields, reply_to, by);
    return { action: "asked" as const, correlation_id: opened };
  }

  /** Answers an open structured question as the human. */
  #answer(
    correlation_id: string,
    fields: { option_id?: string; text?: string; attachments?: string[] },
    by: ReplyAuthor,
  ): void {
    const from_peer = this.#inbox.mustHuman().peer_id;
    this.#questions.refuseAgents(correlation_id, () => !by.proven_human);
    this.#questions.answer({ correlation_id, from_peer, ...fields }, by);
  }

  /** Asks a peer as the human; returns the id of the new ask. */
  #openAsk(
    to_peer: string,
    { text, attachments, origin }: {
      text: string;
      attachments: string[] | undefined;
      origin: Origin;
    },
    reply_to: string | null,
    by: ReplyAuthor,
  ): string {
    const from_peer = this.#inbox.mustHuman().peer_id;
    const draft = { from_peer, to_peer, text, attachments, reply_delivery: "push" as const };
    const references = { ...(reply_to && { reply_to }), ...(origin && { origin }) };
    const { ticket } = this.#asks.open({ ...draft, ...references }, by);
    return ticket?.message.correlation_id ?? "";
  }
}

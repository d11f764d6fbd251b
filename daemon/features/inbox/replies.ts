/** Replies to inbox items: a reply answers the item's ask, or opens an ask to its sender. */

import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import { alreadyClosed, asksForDecision } from "../asks/answers.ts";
import type { Asks } from "../asks/asks.ts";
import type { Questions } from "../asks/questions/questions.ts";
import { ask as getAsk } from "../asks/store.ts";
import type { RequestContext } from "../messages/request_context.ts";
import type { InboxItem, InboxReply } from "protocol/inbox.ts";
import { type Inbox, stripLeadingZeros } from "./inbox.ts";
import * as pushes from "./pushes.ts";
import * as rows from "./store.ts";

/** The text of an ask that a reply opens with attachments only, because an ask needs a text. */
const FILES_ONLY_TEXT = "(see the attached files)";

const DECIMAL = /^\d+$/;

interface InboxRepliesDeps {
  readonly asks: Asks;
  readonly inbox: Inbox;
  readonly questions: Questions;
}

export class InboxReplies {
  readonly #ctx: Context;
  readonly #deps: InboxRepliesDeps;

  constructor(ctx: Context, deps: InboxRepliesDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /**
   * Answers the item's ask if that ask is open; otherwise opens an ask to the item's sender
   * (specification 4). A text that was meant as a decision opens an ask only if the person has
   * confirmed it (contract 11).
   */
  reply(item_id: string, reply: InboxReply, by: RequestContext) {
    const { db, clock } = this.#ctx;
    return db.transact((tx) => {
      const item = this.#deps.inbox.mustGet(item_id);
      const result = this.#applyReply(item, reply, by);
      if (result.action === "asked") rows.setThread(tx, item_id, result.correlation_id);
      rows.markRead(tx, item_id, reply.surface, clock.now());
      const replied = result.action !== "read";
      if (replied) rows.markReplied(tx, item_id, clock.now());
      if (!item.read || (replied && !item.replied)) {
        const updated = { ...item, read: true, replied: item.replied || replied };
        this.#deps.inbox.publishUpdated(updated, reply.surface);
      }
      return result;
    });
  }

  /** Replies to an item. A surface has rendered the item, or a part of it, as the message `ref`. */
  replyByRef(ref: string, reply: InboxReply, by: RequestContext) {
    this.#deps.inbox.mustHuman();
    const { surface } = reply;
    const digits = DECIMAL.test(ref) ? stripLeadingZeros(ref) : null;
    const item_id = pushes.byRef(this.#ctx.db, { surface, ref, digits });
    if (!item_id) throw new Problem("unknown_surface_ref", { surface, surface_ref: ref });
    return this.reply(item_id, reply, by);
  }

  #applyReply(item: InboxItem, reply: InboxReply, by: RequestContext) {
    const { asks, inbox, questions } = this.#deps;
    const { db, clock } = this.#ctx;
    const { surface, text, option_id, attachments, ref, as_new_ask } = reply;
    const from_peer = inbox.mustHuman().peer_id;
    const ask = item.correlation_id === null ? undefined : getAsk(db, item.correlation_id);
    if (item.kind === "ask" && ask?.state === "open") {
      db.transact((tx) => rows.markReplied(tx, item.item_id, clock.now()));
      const { correlation_id, question } = ask;
      const fields = { correlation_id, from_peer, attachments };
      if (!question) {
        asks.ack({ ...fields, message: text }, by);
        return { action: "acked" as const, correlation_id };
      }
      questions.mustBeHuman(correlation_id, () => by.proven_human);
      const answer = { option_id: option_id || undefined, text: text || undefined };
      questions.answer({ ...fields, ...answer }, by);
      return { action: "answered" as const, correlation_id };
    }
    const over = item.kind === "ask" ? ask ?? deletedAsk(item) : undefined;
    if (over && option_id) throw alreadyClosed(over);
    if (text === "" && !attachments?.length) {
      return { action: "read" as const, correlation_id: null };
    }
    if (over && asksForDecision(item.question) && !as_new_ask) throw alreadyClosed(over);
    const { ticket } = asks.open({
      from_peer,
      to_peer: item.from_peer_id ?? item.from,
      text: text || FILES_ONLY_TEXT,
      attachments,
      reply_delivery: "push",
      reply_to: ask?.correlation_id,
      // The message on the surface by which the human opened the ask (specification 2).
      origin: ref === undefined ? undefined : { surface, ref },
    }, by);
    return { action: "asked" as const, correlation_id: ticket?.message.correlation_id ?? "" };
  }
}

/** The ask of an item, if it was deleted because of its age. */
function deletedAsk({ correlation_id }: InboxItem): Parameters<typeof alreadyClosed>[0] {
  return { correlation_id: correlation_id ?? "", close_reason: null, outcome: null };
}

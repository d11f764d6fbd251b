/** Replies to all: the reply closes an ask, and the others of its thread are notified of it. */

import { Problem, recoverableProblem } from "protocol/problems.ts";
import type { Context } from "../../data/context.ts";
import type { Reader } from "kit/data/sqlite.ts";
import type { AskContext, Asks } from "../asks/asks.ts";
import * as askRows from "../asks/store.ts";
import { mustBeFew } from "../peers/directory.ts";
import type { RepliedAll, ReplyAll } from "protocol/notifications.ts";
import type { Notifications } from "./notifications.ts";

/** Maximum asks of a thread that are read. Members of later asks may be left out. */
const THREAD_ASKS_MAX = 200;

interface Member {
  readonly peer_id: string;
  readonly name: string;
}

export class ThreadReplies {
  readonly #ctx: Context;
  readonly #asks: Asks;
  readonly #notifications: Notifications;

  constructor(ctx: Context, asks: Asks, notifications: Notifications) {
    this.#ctx = ctx;
    this.#asks = asks;
    this.#notifications = notifications;
  }

  /**
   * Answers an ask, and sends the reply as a notification to every other peer of its thread. A
   * failed notification does not affect the others; a refused reply notifies nobody.
   */
  replyAll(
    correlation_id: string,
    { from_peer, text }: ReplyAll,
    requestContext: AskContext,
  ): RepliedAll {
    const { db } = this.#ctx;
    return db.transact(() => {
      const ask = this.#asks.mustGet(correlation_id);
      const members = this.#membersOf(correlation_id)
        .filter(({ peer_id }) => peer_id !== ask.from_peer_id && peer_id !== ask.to_peer_id);
      mustBeFew(`The thread of ${correlation_id}`, members.length);
      const reply = { correlation_id, message: text, from_peer };
      const close_reason = this.#asks.ack(reply, requestContext);
      if (close_reason === null) throw new Problem("answer_checked_first", { correlation_id });
      const sent_to: RepliedAll["sent_to"] = [];
      const failed: RepliedAll["failed"] = [];
      const body = {
        from_peer: ask.to_peer_id,
        text: `My reply to ${ask.from_peer_name}, to all of the thread of ${correlation_id}:\n\n` +
          text,
      };
      for (const { peer_id, name } of members) {
        try {
          const { ticket } = db.transactNested(() =>
            this.#notifications.notify({ ...body, to_peer: peer_id }, requestContext)
          );
          sent_to.push({ peer_id, name, delivery_id: ticket.message.delivery_id });
        } catch (error) {
          const problem = recoverableProblem(error);
          if (!problem) throw error;
          failed.push({ peer_id, name, error: problem.code });
        }
      }
      return { ok: true, close_reason, sent_to, failed };
    });
  }

  /** Askers and recipients of a thread: earlier asks, later ones, and those of its ask to many. */
  #membersOf(correlation_id: string): Member[] {
    const { db } = this.#ctx;
    const members = new Map<string, string>();
    const thread = new Set([correlation_id]);
    for (const id of thread) { // The loop also visits ids that it adds.
      const ask = this.#asks.get(id);
      if (!ask) continue; // Retention has deleted it.
      if (ask.from_peer_id !== null) members.set(ask.from_peer_id, ask.from_peer_name);
      members.set(ask.to_peer_id, ask.to_peer_name);
      const next = [ask.reply_to, ...siblingsOf(db, ask.parent_id), ...askRows.followUps(db, id)];
      for (const id of next) {
        if (id !== null && thread.size < THREAD_ASKS_MAX) thread.add(id);
      }
    }
    return [...members].map(([peer_id, name]) => ({ peer_id, name }));
  }
}

function siblingsOf(db: Reader, parent_id: string | null): string[] {
  const { children = [] } = (parent_id !== null && askRows.getParent(db, parent_id)) || {};
  return children.flatMap((child) => "correlation_id" in child ? child.correlation_id : []);
}

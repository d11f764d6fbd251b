/** Notifications and broadcasts: messages that need no reply. */

import { Refusal } from "kit/core/problem.ts";
import type { Context } from "../../data/context.ts";
import { isProblem, type ProblemCode, recoverableProblem } from "protocol/problems.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Attachments } from "../messages/attachments/attachments.ts";
import type { RequestContext } from "../messages/request_context.ts";
import { type Address, isLocalHuman } from "protocol/peers/record.ts";
import { type Directory, type Sender, tagOf } from "../peers/directory.ts";
import * as rows from "../peers/store.ts";
import { beginTrace } from "kit/http/traceparent.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Broadcast, Notify } from "protocol/notifications.ts";
import type { Delivery, MessageDraft } from "../messages/delivery.ts";

/** The daemon as the sender of its own messages. No peer and no other sender has its name. */
export const DAEMON: Sender = {
  peer_id: null,
  name: "mesh",
  circle: null,
  role: null,
  mesh_session_id: null,
};

interface NotificationsDeps {
  readonly attachments: Attachments;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly inbox: Inbox;
}

/** The request context of a notification. */
interface NotifyContext extends RequestContext {
  /** The daemon, if it sends the message itself. Default: the sender that the request names. */
  readonly from?: typeof DAEMON;
  /** True beyond all limits: a notice of the daemon, or the first message of a switch. */
  readonly notice?: boolean;
}

export class Notifications {
  readonly #ctx: Context;
  readonly #deps: NotificationsDeps;

  constructor(ctx: Context, deps: NotificationsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  notify(body: Notify, requestContext: NotifyContext) {
    const { db, events } = this.#ctx;
    const { attachments, delivery, directory, inbox } = this.#deps;
    return db.transact(() => {
      const { circle, bypass_circle } = body;
      const { from: daemon, may_be_caller } = requestContext;
      const from = daemon ?? directory.sender(body.from_peer, { circle });
      const scope = { circle, bypass_circle, caller: from, may_be_caller };
      const to = directory.target(body.to_peer, scope);
      const ticket = delivery.send({
        kind: "notify",
        from,
        to,
        voice: daemon && !requestContext.unverified
          ? "peer"
          : directory.authorKindOf(from, requestContext),
        sent_by: requestContext.sent_by,
        urgent: body.urgent,
        text: body.text,
        attachments: attachments.attach(body.attachments),
        circle: from.circle ?? to.circle,
        traceparent: requestContext.traceparent,
        notice: requestContext.notice ?? false,
        budget: body.budget,
        caused_by: requestContext.caused_by,
        proofs: daemon ? undefined : requestContext,
      });
      const added = isLocalHuman(to) ? inbox.add(ticket.message) : undefined;
      events.append("notification", {
        delivery_id: ticket.message.delivery_id,
        from_peer_id: from.peer_id,
        from: from.name,
        to_peer_id: to.peer_id,
        to: to.name,
        delivery_state: ticket.state,
      });
      return { ticket, from, to, inbox: added };
    });
  }

  /**
   * Sends a message of the daemon. A notice is beyond all limits (contract 2). The message may
   * carry another author's `unverified` text.
   */
  notifyFromDaemon(
    to_peer: string,
    text: string,
    more: { urgent?: boolean; notice?: boolean; unverified?: boolean; caused_by?: string } = {},
  ) {
    const { urgent, notice = true, unverified, caused_by } = more;
    const requestContext = { from: DAEMON, proven_human: false, notice, unverified, caused_by };
    return this.notify({ from_peer: DAEMON.name, to_peer, text, urgent }, requestContext);
  }

  /**
   * As `notifyFromDaemon`. Returns the id of the delivery; undefined if the message is refused,
   * after logging why.
   */
  tryNotifyFromDaemon(
    ...message: Parameters<Notifications["notifyFromDaemon"]>
  ): string | undefined {
    try {
      return this.notifyFromDaemon(...message).ticket.message.delivery_id;
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (!refusal) throw error;
      const [peer_id] = message;
      this.#ctx.log.debug("A message of the daemon was refused", { peer_id, code: refusal.code });
      return undefined;
    }
  }

  /**
   * Sends a message to the agents and orchestrators of a circle, by default of the sender's circle;
   * with a tag, to the peers that the tag means for the sender.
   */
  broadcast(body: Broadcast, requestContext: NotifyContext) {
    const { db, events } = this.#ctx;
    const { directory } = this.#deps;
    return db.transact(() => {
      const from = directory.sender(body.from_peer, { circle: body.circle });
      const circle = body.circle ?? from.circle ?? "default";
      const recipients = body.tag === undefined
        ? directory.members(circle)
        : directory.tagged(body.tag, { circle: body.circle, caller: from });
      const excluded = this.#excludedIds(body, from);
      const draft = {
        kind: "broadcast" as const,
        from,
        voice: directory.authorKindOf(from, requestContext),
        sent_by: requestContext.sent_by,
        urgent: body.urgent,
        text: body.text,
        attachments: this.#deps.attachments.attach(body.attachments),
        circle,
        traceparent: requestContext.traceparent ?? beginTrace(this.#ctx.ids),
        caused_by: requestContext.caused_by,
        proofs: requestContext,
      };
      const sent_to: { peer_id: string; name: string; delivery_id: string }[] = [];
      const skipped: { peer_id: string; reason: string }[] = [];
      const failed: { peer_id: string; error: string }[] = [];
      let spent: Refusal | undefined;
      for (const to of recipients) {
        const { peer_id, name } = to;
        if (peer_id === from.peer_id) continue;
        const reason = reasonToSkip(to, body.exclude, excluded);
        if (reason) {
          skipped.push({ peer_id, reason });
          continue;
        }
        const sent = this.#sendOne({ ...draft, to });
        if (sent instanceof Refusal) {
          failed.push({ peer_id, error: sent.code });
          if (sent.code === "budget_spent" || sent.code === "policy_denied") spent ??= sent;
        } else sent_to.push({ peer_id, name, delivery_id: sent.delivery_id });
      }
      if (spent && sent_to.length === 0) throw spent;
      events.append("broadcast", {
        from_peer_id: from.peer_id,
        from: from.name,
        sent_to: sent_to.length,
      });
      return { ok: true as const, sent_to, skipped, failed };
    });
  }

  /**
   * The peers that `exclude` names, in any way that names a recipient elsewhere: an id, a name with
   * or without its machine, a `@tag`. A name that matches no peer is ignored.
   */
  #excludedIds({ exclude, circle }: Broadcast, from: Sender): ReadonlySet<string> {
    const scope = { circle, caller: from };
    const ids = exclude.flatMap((argument) => {
      const tag = tagOf(argument);
      try {
        return tag === undefined
          ? [this.#deps.directory.resolveAnywhere(argument, scope).peer_id]
          : rows.tagged(this.#ctx.db, tag).map(({ peer_id }) => peer_id);
      } catch (error) {
        if (isProblem(error, "unknown_peer") || isProblem(error, "ambiguous_peer")) return [];
        throw error;
      }
    });
    return new Set(ids);
  }

  /** Sends one copy. If a limit refuses it, only this copy fails: returns the refusal. */
  #sendOne(draft: MessageDraft): StoredMessage | Refusal<ProblemCode> {
    try {
      return this.#deps.delivery.send(draft).message;
    } catch (error) {
      const refusal = recoverableProblem(error);
      if (refusal && COPY_LIMITS.includes(refusal.code)) return refusal;
      throw error;
    }
  }
}

/** The limits that refuse single copies of a broadcast. */
const COPY_LIMITS: readonly ProblemCode[] = [
  "queue_full",
  "rate_limited",
  "budget_spent",
  "policy_denied",
];

function reasonToSkip(
  to: Address,
  names: readonly string[],
  ids: ReadonlySet<string>,
): string | undefined {
  if (ids.has(to.peer_id) || names.includes(to.name)) return "excluded";
  if (!to.addressable) return "peer_not_addressable";
  if (to.status === "offline") return "offline";
  return undefined;
}

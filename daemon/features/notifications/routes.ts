/** Routes of notifications and broadcasts. */

import { OK } from "kit/http/contract.ts";
import { Refusal } from "kit/core/problem.ts";
import { type Route, route } from "kit/http/route.ts";
import type { StoredMessage } from "protocol/messages/contract.ts";
import type { Delivery } from "../messages/delivery.ts";
import { type CallerChecks, senderOf } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import * as contracts from "protocol/notifications.ts";
import type { Questions } from "../asks/questions/questions.ts";
import type { ThreadReplies } from "./threads.ts";
import type { Notifications } from "./notifications.ts";

interface NotificationRoutesDeps {
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly notifications: Notifications;
  readonly questions: Questions;
  readonly threadReplies: ThreadReplies;
}

export function notificationRoutes(
  { delivery, directory, notifications, questions, threadReplies }: NotificationRoutesDeps,
  { requestContextOf, isHumanAnswer }: CallerChecks,
): Route[] {
  const sender = senderOf(directory);
  return [
    withReasonCode(route(contracts.notifyPeer, ({ body, caller, headers, commit }) =>
      commit(() => {
        const requestContext = requestContextOf(caller, headers);
        const { ticket, from, to, inbox } = notifications.notify(body, requestContext);
        return () => ({
          ...OK,
          delivery_id: ticket.message.delivery_id,
          ...deliveryStatus({ state: ticket.state, reason: ticket.message.reason }),
          from_peer_id: from.peer_id,
          from_peer_name: from.name,
          to_peer_id: to.peer_id,
          to_peer_name: to.name,
          mesh_session_id: to.mesh_session_id,
          ...(inbox && { inbox_item_id: inbox.item_id, surfaces: inbox.surfaces }),
        });
      }), {
      sender,
      /** A repeated request gets the first ids and the current state of the delivery. */
      again(before) {
        const now = delivery.findMessage(before.delivery_id);
        return now ? { ...before, ...deliveryStatus(now) } : before;
      },
    })),
    route(contracts.replyAll, ({ params, body, caller, headers, commit }) => {
      questions.mustBeHuman(params.id, () => isHumanAnswer(caller, headers));
      return commit(() =>
        threadReplies.replyAll(params.id, body, requestContextOf(caller, headers))
      );
    }),
    route(
      contracts.broadcast,
      ({ body, caller, headers, commit }) =>
        commit(() => notifications.broadcast(body, requestContextOf(caller, headers))),
      { sender, again: (before) => before },
    ),
  ];
}

/** The delivery fields of a response to `/notify`. */
function deliveryStatus({ state, reason }: Pick<StoredMessage, "state" | "reason">) {
  const delivered = state === "accepted" || state === "seen";
  return { delivery_state: state, delivered, queued: state === "queued", reason };
}

/** An error response of `/notify` repeats its code as `reason` (contract 1). */
function withReasonCode(notify: Route): Route {
  return {
    contract: notify.contract,
    async run(request, caller, guard) {
      try {
        return await notify.run(request, caller, guard);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        await guard.whenDurable();
        guard.refused?.(error.code);
        const { status, headers } = error.toResponse();
        return Response.json({ ...error.toBody(), reason: error.code }, { status, headers });
      }
    },
  };
}

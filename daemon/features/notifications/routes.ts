/** Routes of notifications and broadcasts. */

import { OK } from "kit/http/contract.ts";
import { Problem } from "kit/core/problem.ts";
import { type Caller, type Replay, type Route, route } from "kit/http/route.ts";
import { type StoredMessage, Traceparent } from "../messages/contract.ts";
import type { Delivery } from "../messages/delivery.ts";
import * as contracts from "./contract.ts";
import type { Notifications } from "./notifications.ts";

export interface NotificationRoutesDeps {
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** The sender of a request: a peer's id, or the name of an unregistered sender. */
  senderOf(body: { from_peer: string; circle?: string | undefined }): string;
}

export interface NotificationParts {
  readonly delivery: Delivery;
  readonly notifications: Notifications;
}

export function notificationRoutes(
  { delivery, notifications }: NotificationParts,
  deps: NotificationRoutesDeps,
): Route[] {
  const requestContextOf = (caller: Caller, headers: Headers) => ({
    proven_human: deps.isProvenHuman(caller, headers),
    traceparent: Traceparent.parse(headers.get("traceparent")),
  });
  return [
    withReasonCode(route(contracts.notifyPeer, ({ body, caller, headers, commit }) =>
      commit(() => {
        const { ticket, from, to, inbox } = notifications.notify(
          body,
          requestContextOf(caller, headers),
        );
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
      }), replayOf(delivery, deps))),
    route(
      contracts.broadcast,
      ({ body, caller, headers, commit }) =>
        commit(() => notifications.broadcast(body, requestContextOf(caller, headers))),
      { sender: ({ body }) => deps.senderOf(body), again: (before) => before },
    ),
  ];
}

/** The delivery fields of a response to `/notify`. */
function deliveryStatus({ state, reason }: Pick<StoredMessage, "state" | "reason">) {
  const delivered = state === "accepted" || state === "seen";
  return { delivery_state: state, delivered, queued: state === "queued", reason };
}

/** A repeated request gets the ids of the first response and the current state of the delivery. */
function replayOf(
  delivery: Delivery,
  { senderOf }: NotificationRoutesDeps,
): Replay<typeof contracts.notifyPeer> {
  return {
    sender: ({ body }) => senderOf(body),
    again(before) {
      const now = delivery.findMessage(before.delivery_id);
      return now ? { ...before, ...deliveryStatus(now) } : before;
    },
  };
}

/** An error response of `/notify` repeats its code as `reason` (contract 1). */
function withReasonCode(notify: Route): Route {
  return {
    contract: notify.contract,
    async run(context, caller, guard) {
      try {
        return await notify.run(context, caller, guard);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        await guard.whenDurable();
        const { status, headers } = error.toResponse();
        return Response.json({ ...error.toBody(), reason: error.code }, { status, headers });
      }
    },
  };
}

/** The routes of notifications and broadcasts. */

import { OK } from "kit/http/contract.ts";
import { Problem } from "kit/core/problem.ts";
import { type Caller, type Replay, type Route, route } from "kit/http/route.ts";
import { type Held, Traceparent } from "../messages/contract.ts";
import type { Delivery } from "../messages/delivery.ts";
import * as contracts from "./contract.ts";
import type { Notes } from "./notifications.ts";

/** What the routes need to know of the caller. */
export interface NotificationDoors {
  provenHuman(caller: Caller, headers: Headers): boolean;
  /** Who sends a request: the id of a peer, or the name that stands for none. */
  senderOf(body: { from_peer: string; circle?: string | undefined }): string;
}

export interface NotificationParts {
  readonly delivery: Delivery;
  readonly notes: Notes;
}

export function notificationRoutes(
  { delivery, notes }: NotificationParts,
  doors: NotificationDoors,
): Route[] {
  const manner = (caller: Caller, headers: Headers) => ({
    proven_human: doors.provenHuman(caller, headers),
    traceparent: Traceparent.parse(headers.get("traceparent")),
  });
  return [
    repeatingCode(route(contracts.notifyPeer, ({ body, caller, headers, commit }) =>
      commit(() => {
        const { ticket, from, to, inbox } = notes.notify(body, manner(caller, headers));
        return () => ({
          ...OK,
          delivery_id: ticket.message.delivery_id,
          ...standing({ state: ticket.state, reason: ticket.message.reason }),
          from_peer_id: from.peer_id,
          from_peer_name: from.name,
          to_peer_id: to.peer_id,
          to_peer_name: to.name,
          mesh_session_id: to.mesh_session_id,
          ...(inbox && { inbox_item_id: inbox.item_id, surfaces: inbox.surfaces }),
        });
      }), replayOf(delivery, doors))),
    route(
      contracts.broadcast,
      ({ body, caller, headers, commit }) =>
        commit(() => notes.broadcast(body, manner(caller, headers))),
      { sender: ({ body }) => doors.senderOf(body), again: (before) => before },
    ),
  ];
}

/** What is known of a note, as `/notify` tells it. */
function standing({ state, reason }: Pick<Held, "state" | "reason">) {
  const delivered = state === "accepted" || state === "seen";
  return { delivery_state: state, delivered, queued: state === "queued", reason };
}

/** A note that was sent before is answered with its ids, and what it came to since. */
function replayOf(
  delivery: Delivery,
  { senderOf }: NotificationDoors,
): Replay<typeof contracts.notifyPeer> {
  return {
    sender: ({ body }) => senderOf(body),
    again(before) {
      const now = delivery.held(before.delivery_id);
      return now ? { ...before, ...standing(now) } : before;
    },
  };
}

/** A refusal of `/notify` repeats its code as `reason` (contract 1). */
function repeatingCode(notify: Route): Route {
  return {
    contract: notify.contract,
    async run(context, caller, door) {
      try {
        return await notify.run(context, caller, door);
      } catch (fault) {
        if (!(fault instanceof Problem)) throw fault;
        await door.durable();
        const { status, headers } = fault.toResponse();
        return Response.json({ ...fault.toBody(), reason: fault.code }, { status, headers });
      }
    },
  };
}

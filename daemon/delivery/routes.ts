/** The delivery room's contracts, each met by its verb. */

import { OK } from "kit/contract.ts";
import type { Ground } from "kit/ground.ts";
import { Problem } from "kit/problem.ts";
import { type Caller, rawRoute, type Replay, type Route, route } from "kit/route.ts";
import * as contracts from "./contract.ts";
import type { Held } from "./contract.ts";
import type { Delivery } from "./delivery.ts";
import type { Drains } from "./drains.ts";
import type { Notes } from "./notes.ts";
import { traceOf } from "./ledger/traces.ts";

/** What the routes need to know of whoever calls. */
export interface DeliveryDoors {
  provenHuman(caller: Caller, headers: Headers): boolean;
  findId(argument: string): string;
  /** Who sends a request: the id of a peer, or the name that stands for none. */
  senderOf(body: { from_peer: string; circle?: string | undefined }): string;
  onPane(pane_id: string, tmux_socket: string | undefined): { peer_id: string };
  /** Turns a request into a live `/ws` connection. */
  upgrade(request: Request, caller: Caller): Response;
}

export interface DeliveryParts {
  readonly ground: Ground;
  readonly delivery: Delivery;
  readonly notes: Notes;
  readonly drains: Drains;
}

export function deliveryRoutes(parts: DeliveryParts, doors: DeliveryDoors): Route[] {
  const { ground, delivery, notes, drains } = parts;
  const manner = (caller: Caller, headers: Headers) => ({
    proven_human: doors.provenHuman(caller, headers),
    traceparent: contracts.Traceparent.parse(headers.get("traceparent")),
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
    route(contracts.getTrace, ({ params }) => traceOf(ground, params.trace_id)),
    route(contracts.drainDeliveries, ({ query }) => {
      const { peer_id, pane_id, tmux_socket, max_results } = query;
      const found = pane_id
        ? doors.onPane(pane_id, tmux_socket).peer_id
        : doors.findId(peer_id ?? "");
      return drains.take(found, max_results);
    }),
    route(contracts.settleDeliveries, ({ body }) => {
      drains.settle(body);
      return OK;
    }),
    route(contracts.listDeliveries, ({ query }) => ({
      deliveries: delivery.list({
        peer_id: query.peer_id ? doors.findId(query.peer_id) : null,
        state: query.state ?? null,
        limit: query.limit,
      }),
      ...delivery.audit(),
    })),
    rawRoute(contracts.webSocket, (request, caller) => doors.upgrade(request, caller)),
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
  { senderOf }: DeliveryDoors,
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

/** The delivery room's contracts, each met by its verb. */

import { OK } from "kit/http/contract.ts";
import type { Ground } from "kit/data/context.ts";
import { type Caller, rawRoute, type Route, route } from "kit/http/route.ts";
import * as contracts from "./contract.ts";
import type { Delivery } from "./delivery.ts";
import type { Drains } from "./leases.ts";
import { traceOf } from "./ledger/traces.ts";

/** What the routes need to know of whoever calls. */
export interface DeliveryDoors {
  findId(argument: string): string;
  onPane(pane_id: string, tmux_socket: string | undefined): { peer_id: string };
  /** Turns a request into a live `/ws` connection. */
  upgrade(request: Request, caller: Caller): Response;
}

export interface DeliveryParts {
  readonly ground: Ground;
  readonly delivery: Delivery;
  readonly drains: Drains;
}

export function deliveryRoutes(parts: DeliveryParts, doors: DeliveryDoors): Route[] {
  const { ground, delivery, drains } = parts;
  return [
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

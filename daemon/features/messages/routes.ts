/** Routes of deliveries, traces, the message log and `/ws`. */

import { OK } from "kit/http/contract.ts";
import type { Context } from "kit/data/context.ts";
import { type Route, route } from "kit/http/route.ts";
import * as contracts from "./contract.ts";
import type { DeliveryAudit } from "./delivery_audit.ts";
import type { Leases } from "./leases.ts";
import { traceOf } from "./ledger/traces.ts";
import { getMessage, listMessages } from "./log/contract.ts";
import type { Messages } from "./log/message_log.ts";

export interface DeliveryRoutesDeps {
  findPeerId(argument: string): string;
  findByPane(pane_id: string, tmux_socket: string | undefined): { peer_id: string };
}

export interface DeliveryParts {
  readonly ctx: Context;
  readonly deliveryAudit: DeliveryAudit;
  readonly leases: Leases;
}

export function deliveryRoutes(parts: DeliveryParts, deps: DeliveryRoutesDeps): Route[] {
  const { ctx, deliveryAudit, leases } = parts;
  return [
    route(contracts.getTrace, ({ params }) => traceOf(ctx, params.trace_id)),
    route(contracts.drainDeliveries, ({ query }) => {
      const { peer_id, pane_id, tmux_socket, max_results } = query;
      const target_id = pane_id
        ? deps.findByPane(pane_id, tmux_socket).peer_id
        : deps.findPeerId(peer_id ?? "");
      return leases.lease(target_id, max_results);
    }),
    route(contracts.settleDeliveries, ({ body }) => {
      leases.settle(body);
      return OK;
    }),
    route(contracts.listDeliveries, ({ query }) => ({
      deliveries: deliveryAudit.list({
        peer_id: query.peer_id ? deps.findPeerId(query.peer_id) : null,
        state: query.state ?? null,
        limit: query.limit,
      }),
      ...deliveryAudit.audit(),
    })),
  ];
}

export function messageRoutes(messages: Messages): Route[] {
  return [
    route(listMessages, ({ query }) => messages.page(query)),
    route(getMessage, ({ params }) => messages.mustGet(params.id)),
  ];
}

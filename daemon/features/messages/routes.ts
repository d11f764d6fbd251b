/** Routes of deliveries, traces and the message log. */

import { OK } from "kit/http/contract.ts";
import type { Context } from "../../data/context.ts";
import { type Route, route } from "kit/http/route.ts";
import * as contracts from "protocol/messages/contract.ts";
import type { DeliveryAudit } from "./ledger/audit.ts";
import type { Directory } from "../peers/directory.ts";
import type { Handover } from "./handover.ts";
import { traceOf } from "./ledger/traces.ts";
import { getMessage, listMessages } from "protocol/messages/log.ts";
import type { Messages } from "./log/message_log.ts";

interface MessageRoutesDeps {
  readonly ctx: Context;
  readonly deliveryAudit: DeliveryAudit;
  readonly directory: Directory;
  readonly handover: Handover;
  readonly messages: Messages;
}

export function messageRoutes(
  { ctx, deliveryAudit, directory, handover, messages }: MessageRoutesDeps,
): Route[] {
  return [
    route(contracts.getTrace, ({ params }) => traceOf(ctx, params.trace_id)),
    route(contracts.drainDeliveries, ({ query }) => {
      const { peer_id, pane_id, tmux_socket, max_results } = query;
      const target_id = pane_id
        ? directory.findByPane(pane_id, tmux_socket).peer_id
        : directory.find(peer_id ?? "").peer_id;
      return handover.lease(target_id, max_results);
    }),
    route(contracts.settleDeliveries, ({ body }) => {
      handover.settle(body);
      return OK;
    }),
    route(contracts.listDeliveries, async ({ query }) => {
      const { state = null, limit } = query;
      const peer_id = query.peer_id ? directory.findAnywhere(query.peer_id).peer_id : null;
      const deliveries = await deliveryAudit.list({ peer_id, state, limit });
      return { deliveries, ...await deliveryAudit.audit({ peer_id, state }) };
    }),
    route(listMessages, ({ query }) => messages.page(query)),
    route(getMessage, ({ params }) => messages.mustGet(params.id)),
  ];
}

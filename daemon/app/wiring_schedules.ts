/** How the desk of scheduled messages is opened: what it needs of the house. */

import { DAY_MS } from "kit/core/duration.ts";
import type { Daemon } from "./daemon.ts";
import { Schedules } from "../features/schedules/schedules.ts";
import * as peerRows from "../features/peers/store.ts";

export function openSchedules(house: Daemon): Schedules {
  const { ctx, directory, config } = house;
  return new Schedules(ctx, {
    directory: {
      sender: (argument, scope) => directory.sender(argument, scope),
      resolve: (argument, scope) => directory.resolve(argument, scope),
      address: (peer_id) => peerRows.address(ctx.db, peer_id),
    },
    senders: {
      ask: (message, requestContext) => {
        const { ticket } = house.asks.open({ ...message, reply_delivery: "push" }, requestContext);
        return ticket?.message.correlation_id ?? "";
      },
      notify: (message, requestContext) =>
        house.notifications.notify(message, requestContext).ticket.message.delivery_id,
    },
    notify: (to_peer, text) => house.notifications.notifyFromDaemon(to_peer, text),
    history_ms: config["daemon.history_days"] * DAY_MS,
  });
}

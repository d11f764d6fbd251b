/** How the desk of scheduled messages is opened: what it needs of the house. */

import type { Daemon } from "./daemon.ts";
import { Schedules } from "../features/schedules/schedules.ts";
import * as peerRows from "../features/peers/store.ts";

const DAY_MS = 86_400_000;

export function openSchedules(house: Daemon): Schedules {
  const { ground, directory, config } = house;
  return new Schedules(ground, {
    directory: {
      sender: (argument, scope) => directory.sender(argument, scope),
      resolve: (argument, scope) => directory.resolve(argument, scope),
      address: (peer_id) => peerRows.address(ground.db, peer_id),
    },
    desks: {
      ask: (said, manner) => {
        const { ticket } = house.asks.open({ ...said, reply_delivery: "push" }, manner);
        return ticket?.message.correlation_id ?? "";
      },
      notify: (said, manner) => house.notes.notify(said, manner).ticket.message.delivery_id,
    },
    tell: (to_peer, text) => house.notes.tell(to_peer, text),
    history_ms: config["daemon.history_days"] * DAY_MS,
  });
}

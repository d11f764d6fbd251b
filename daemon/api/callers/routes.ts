/** The route by which a program of this machine asks which peer it is. */

import { type Route, route } from "kit/http/route.ts";
import type { Callers } from "./callers.ts";
import type { CallingPeers } from "./calling_peers.ts";
import { identifyCaller } from "protocol/api/callers.ts";

const NOBODY = { peer_id: null, name: null, proof: "none" } as const;

export function callerRoutes(
  { callers, callingPeers }: {
    callers: Pick<Callers, "isProcess">;
    callingPeers: Pick<CallingPeers, "callerOf">;
  },
): Route[] {
  return [
    route(identifyCaller, ({ query, caller }) => {
      const { session, pane_id, tmux_socket = null } = query;
      const pid = callers.isProcess(query.pid, caller) ? query.pid : undefined;
      const pane = pane_id ? { pane_id, tmux_socket } : undefined;
      const found = callingPeers.callerOf({ pid, session, pane });
      return found ?? NOBODY;
    }),
  ];
}

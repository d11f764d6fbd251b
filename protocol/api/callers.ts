/** The route by which a program of this machine asks which peer it is, as data. */

import * as z from "zod";
import { queryInteger, shortText } from "kit/core/schema.ts";
import { NO_ACTOR } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { PaneId, TmuxSocket } from "protocol/peers/record.ts";

export const identifyCaller = contract({
  id: "peers.identity_caller",
  method: "GET",
  path: "/peers/identity/caller",
  summary: "The peer that calls: the nearest one at or above the calling process",
  access: "caller",
  tunnel: "never",
  query: z.object({
    pid: queryInteger(1).optional()
      .describe("The calling process; it counts if the kernel proves that it sends the request"),
    session: shortText(200, 1).optional().describe(
      "Its agent's session, which counts for agents with a server that all their terminals share",
    ),
    pane_id: PaneId.optional().describe("Its pane, which identifies only a peer without a process"),
    tmux_socket: TmuxSocket.optional(),
  }),
  actor: NO_ACTOR,
  returns: z.object({
    /** Null if the caller is no peer, or if its process is that of several. */
    peer_id: z.string().nullable(),
    name: z.string().nullable(),
    proof: z.enum(["process", "session", "pane", "none"]),
  }),
});

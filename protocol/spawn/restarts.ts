/** The routes of restarts, as data. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { Name, Sender, Text } from "kit/core/schema.ts";
import { onePeer, Restart } from "protocol/peers/record.ts";

export const restartPeer = contract({
  id: "spawn.restart",
  method: "POST",
  path: "/peers/:id/restart",
  summary: "Stop an agent when its turn ends, and resume its session in the same pane",
  access: "caller",
  tunnel: "admin",
  params: onePeer.params,
  body: z.object({
    fresh: z.boolean().default(false),
    dry_run: z.boolean().default(false),
    message: Text.optional(),
    wait: z.boolean().default(true),
    circle: Name.optional(),
    from_peer: Sender.optional(),
  }),
  verb: "restart",
  actor: { field: "body.from_peer" },
  returns: Restart,
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "spawn_disabled", "policy_denied"],
});
export type RestartRequest = z.output<typeof restartPeer.body>;

export const getRestart = contract({
  id: "spawn.restart_last",
  method: "GET",
  path: "/peers/:id/restart",
  summary: "The latest restart of a peer",
  ...onePeer,
  tunnel: "open",
  returns: Restart,
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "no_restart"],
});

export const cancelRestart = contract({
  id: "spawn.restart_cancel",
  method: "DELETE",
  path: "/peers/:id/restart",
  summary: "Cancel a restart that has not stopped the agent yet",
  ...onePeer,
  tunnel: "admin",
  returns: z.union([
    z.object({ cancelled: z.literal(true) }),
    z.object({ cancelled: z.literal(false), reason: z.string() }),
  ]),
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere"],
});

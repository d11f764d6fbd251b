/** The routes that start an agent with an earlier conversation, as data: a copy of a session. */

import * as z from "zod";
import { contract } from "kit/http/contract.ts";
import { Name, Sender, Text } from "kit/core/schema.ts";
import { TurnState } from "../../agents/contract.ts";
import { Spawned } from "../contract.ts";

export const forkSession = contract({
  id: "spawn.fork_session",
  method: "POST",
  path: "/peers/:id/fork",
  summary: "Start a copy of a peer: the same agent, with a copy of its conversation until now",
  access: "caller",
  tunnel: "admin",
  idempotent: true,
  params: z.object({ id: z.string() }),
  body: z.object({
    name: Name.optional(),
    profile: Name.optional().describe("A profile; by default the one the peer was spawned with"),
    circle: Name.optional().describe("Look up the peer's name in this circle"),
    message: Text.optional().describe("A message for the copy once it has registered"),
    from_peer: Sender.optional(),
  }),
  returns: Spawned.extend({
    source_peer_id: z.string(),
    /** The agent's own id of the session that was copied. */
    session_id: z.string(),
    /**
     * What the source did meanwhile: of a turn that is still going on, the copy has only what was
     * in the agent's files.
     */
    source_turn_state: TurnState.nullable(),
  }),
  fails: [
    "unknown_peer",
    "ambiguous_peer",
    "peer_elsewhere",
    "peer_retired",
    "cannot_fork",
    "spawn_disabled",
    "unsupported_backend",
    "unknown_profile",
    "path_not_allowed",
    "source_pane_required",
    "reserved_name",
    "spawn_failed",
  ],
});
export type ForkRequest = z.output<typeof forkSession.body>;
export type Forked = z.output<typeof forkSession.returns>;

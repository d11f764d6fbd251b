/** The route by which a person wakes a sleeping agent, as data. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { onePeer, PEER_FAILS, Wake } from "protocol/peers/record.ts";
import { START_FAILS } from "protocol/spawn/contract.ts";

/** The scope of the question that asks the human whether to wake a peer. */
export const WAKE_SCOPE = "wake";

/** The options of that question. */
export const WAKE_OPTIONS = ["wake", "not_now", "never"] as const;

export const wakePeer = contract({
  id: "peers.wake",
  method: "POST",
  path: "/peers/:id/wake",
  summary: "Start a sleeping agent again with its session; for a person, and it then stays awake",
  ...onePeer,
  tunnel: "admin",
  body: z.object({}),
  returns: z.object({
    ok: z.literal(true),
    peer_id: z.string(),
    name: z.string(),
    /** Null for a peer that runs already. */
    wake: Wake.nullable(),
  }),
  fails: [
    ...PEER_FAILS,
    "peer_retired",
    "human_not_proven",
    "not_resumable",
    "unknown_session",
    "session_running",
    "cannot_resume",
    ...START_FAILS,
    "reserved_name",
    "spawn_failed",
    "stored_then_failed",
  ],
});

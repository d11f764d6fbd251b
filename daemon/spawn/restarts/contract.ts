/** What the world may say about restarts: the typed result, and the routes around it. */

import * as z from "zod";
import { contract, Instant, Name, Sender, Text } from "kit/contract.ts";

export const RestartStage = z.enum([
  "preflight",
  "quiesce",
  "stop",
  "launch",
  "register",
  "seed",
]);
export type RestartStage = z.output<typeof RestartStage>;

export const ResumeMode = z.enum(["resumed", "fresh"]);
/** A command as it is shown: argument by argument, with what may be a secret as `[redacted]`. */
const Shown = z.array(z.string()).nullable();

/** How a restart went (contract 3). */
export const Restart = z.object({
  restart_id: z.string(),
  outcome: z.enum(["restarted", "would_restart", "failed", "cancelled", "in_progress"]),
  resume_mode: ResumeMode,
  would_run: Shown,
  failed: z.object({ stage: RestartStage, reason: z.string(), detail: z.string() }).optional(),
  stages: z.array(z.object({ stage: RestartStage, at: Instant })),
  started_at: Instant,
  finished_at: Instant.nullable(),
}).meta({ id: "Restart" });
export type Restart = z.output<typeof Restart>;

/** What is said of restarts with each peer that is read (specification 2). */
export const RestartBlock = z.object({
  restartable: z.boolean(),
  /** Why not; null when it is. */
  reason: z.string().nullable(),
  resume_mode: ResumeMode,
  would_run: Shown,
  last: Restart.nullable(),
});
export type RestartBlock = z.output<typeof RestartBlock>;

const byId = z.object({ id: z.string() });
const scope = z.object({ circle: Name.optional() });

export const restartPeer = contract({
  id: "spawn.restart",
  method: "POST",
  path: "/peers/:id/restart",
  summary: "Stop an agent once its turn has ended, and take its session up again in its pane",
  access: "caller",
  tunnel: "admin",
  params: byId,
  body: z.object({
    fresh: z.boolean().default(false),
    dry_run: z.boolean().default(false),
    message: Text.optional(),
    wait: z.boolean().default(true),
    circle: Name.optional(),
    from_peer: Sender.optional(),
  }),
  returns: Restart,
  fails: ["unknown_peer", "ambiguous_peer", "spawn_disabled"],
});
export type RestartAsked = z.output<typeof restartPeer.body>;

export const getRestart = contract({
  id: "spawn.restart_last",
  method: "GET",
  path: "/peers/:id/restart",
  summary: "The latest restart of a peer",
  access: "caller",
  tunnel: "open",
  params: byId,
  query: scope,
  returns: Restart,
  fails: ["unknown_peer", "ambiguous_peer", "no_restart"],
});

export const cancelRestart = contract({
  id: "spawn.restart_cancel",
  method: "DELETE",
  path: "/peers/:id/restart",
  summary: "Cancel a restart that has not stopped anything yet",
  access: "caller",
  tunnel: "admin",
  params: byId,
  query: scope,
  returns: z.union([
    z.object({ cancelled: z.literal(true) }),
    z.object({ cancelled: z.literal(false), reason: z.string() }),
  ]),
  fails: ["unknown_peer", "ambiguous_peer"],
});

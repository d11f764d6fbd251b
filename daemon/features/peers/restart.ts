/** What a peer record says of its restarts (specification 2, contract 3). */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";

export const RestartStage = z.enum([
  "preflight",
  "quiesce",
  "stop",
  "launch",
  "register",
  "seed",
]);
export type RestartStage = z.output<typeof RestartStage>;

const ResumeMode = z.enum(["resumed", "fresh"]);
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

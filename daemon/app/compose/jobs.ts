/** Builds jobs, and the peers that execute them. */

import { Executors } from "../../features/jobs/executors.ts";
import { Jobs } from "../../features/jobs/jobs.ts";
import type { Foundation } from "./foundation.ts";
import type { SpawnFeatures } from "./spawn.ts";

/** Jobs, and the peers that execute them. */
export function openJobs(foundation: Foundation, lower: SpawnFeatures) {
  const { config, ctx, platform, shutdownSignal, history_ms } = foundation;
  const { machine, processes, programs, terminals } = platform;
  const executors = new Executors(ctx, { ...lower, machine, processes, shutdownSignal });
  const jobs = new Jobs(ctx, {
    ...lower,
    checks: config["jobs.checks"],
    executors,
    folders: { allowed: config["spawn.allowed_paths"], home: terminals.home },
    history_ms,
    programs,
    shutdownSignal,
  });
  return { jobs };
}

/** Builds jobs, and the peers that execute them. */

import { Executors } from "../../features/jobs/executors.ts";
import { Jobs } from "../../features/jobs/jobs.ts";
import type { Foundation } from "./foundation.ts";
import type { SpawnFeatures } from "./spawn.ts";

/** Jobs, and the peers that execute them. */
export function openJobs(foundation: Foundation, lower: SpawnFeatures) {
  const { config, ctx, platform, shutdownSignal, history_ms } = foundation;
  const { delivery, directory, notifications, peers, spawns } = lower;
  const { machine, processes } = platform;
  const executors = new Executors(ctx, {
    adapters: platform.adapters(),
    machine,
    peers,
    processes,
    shutdownSignal,
    spawns,
  });
  const jobs = new Jobs(ctx, {
    checks: config["jobs.checks"],
    delivery,
    directory,
    executors,
    folders: { allowed: config["spawn.allowed_paths"], home: platform.terminals.home },
    history_ms,
    notifications,
    programs: platform.programs,
    shutdownSignal,
    spawns,
  });
  return { jobs };
}

/** Builds spawns, restarts, forks and resumptions. */

import type { Backend } from "protocol/agents/contract.ts";
import { RegistrationLocations } from "../../features/spawn/expected_registration.ts";
import { SPAWN_LOG_ENTRIES_MAX, SpawnLogRetention } from "../../features/spawn/log_retention.ts";
import { Restarts } from "../../features/spawn/restarts/restarts.ts";
import { Forks } from "../../features/spawn/forks.ts";
import { Resumptions } from "../../features/spawn/resumptions.ts";
import { Spawns } from "../../features/spawn/spawns.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";
import { secretsOf } from "./transcripts.ts";

/** Spawns and restarts of agents. */
export function openSpawns(foundation: Foundation, lower: AskFeatures) {
  const { config, ctx, effects, identity, platform, shutdownSignal, history_ms } = foundation;
  const { machine, processes, terminals, hooks } = platform;
  const settings = {
    commands: config["spawn.commands"],
    profiles: config["spawn.profiles"],
    allowed_paths: config["spawn.allowed_paths"],
    env: config["spawn.env"],
    circle_boundary: config["daemon.circle_boundary"],
  };
  const deps = {
    ...lower,
    terminals,
    settings,
    folders: { allowed: settings.allowed_paths, home: terminals.home },
    machine,
    processes,
    hooks,
    sessionFilesOf: (backend: Backend) => platform.sessionFilesOf(backend),
    shutdownSignal,
    effects: effects.spawn,
  };
  const spawns = new Spawns(ctx, deps);
  const restarts = new Restarts(ctx, deps, spawns.launcher);
  const forks = new Forks(ctx, deps, spawns);
  const resumptions = new Resumptions(ctx, deps, spawns, {
    readers: config.transcripts,
    secrets: [identity.hook_token, ...secretsOf(config)],
  });
  const limits = { history_ms, entries_max: SPAWN_LOG_ENTRIES_MAX };
  const spawnLog = new SpawnLogRetention(
    ctx,
    limits,
    (peer_id) => lower.directory.canReturn(peer_id),
  );
  const registrationLocations = new RegistrationLocations({
    circle_boundary: config["daemon.circle_boundary"],
    machine,
    missingPanes: foundation.missingPanes,
    paneOf: (socket, pane_id) => platform.paneOf(socket, pane_id),
  });
  return { spawns, restarts, forks, resumptions, spawnLog, registrationLocations };
}

export type SpawnFeatures = AskFeatures & ReturnType<typeof openSpawns>;

/**
 * Builds the daemon's features in order. A feature gets the lower features that it uses. Its
 * effects on higher features are rows of `../effects.ts`, its questions to them rows of
 * `../ports.ts`.
 */

import { Schedules } from "../../features/schedules/schedules.ts";
import { Subscriptions } from "../../features/subscriptions/subscriptions.ts";
import type { Config } from "../config.ts";
import type { Platform } from "../platform.ts";
import { openHooks } from "./hooks.ts";
import { openJobs } from "./jobs.ts";
import { openLifecycle } from "./lifecycle.ts";
import { openSpawns } from "./spawn.ts";
import { openAsks } from "./asks.ts";
import { openMachines } from "./machines.ts";
import { openFoundation, openTraces } from "./foundation.ts";
import { openHandoffs } from "./handoffs.ts";
import { openTranscripts } from "./transcripts.ts";
import { openMessageLog, openMessages } from "./messages.ts";
import { openPeers } from "./peers.ts";

export type Features = ReturnType<typeof compose>;

/** Opens the database and builds every feature on it. */
export function compose(config: Config, db_path: string, platform: Platform) {
  const foundation = openFoundation(config, db_path, platform);
  const peers = openPeers(foundation);
  const messages = {
    ...openMessages(foundation, peers),
    ...openMessageLog(foundation, peers),
  };
  const asks = openAsks(foundation, { ...peers, ...messages });
  const machines = openMachines(foundation, { ...peers, ...messages, ...asks });
  const spawns = openSpawns(foundation, { ...peers, ...messages, ...asks });
  const transcripts = openTranscripts(foundation);
  const handoffs = openHandoffs(foundation, {
    ...peers,
    ...messages,
    ...asks,
    ...spawns,
    ...transcripts,
  });
  const lifecycle = openLifecycle(foundation, { ...peers, ...messages, ...asks });
  const hooks = openHooks(foundation, { ...peers, ...messages, ...asks });
  const jobs = openJobs(foundation, { ...peers, ...messages, ...asks, ...spawns });
  const schedules = new Schedules(foundation.ctx, { ...foundation, ...peers, ...asks });
  const subscriptions = new Subscriptions(foundation.ctx, { ...foundation, ...peers, ...asks });
  const features = {
    ...foundation,
    ...peers,
    ...messages,
    ...asks,
    machines,
    ...spawns,
    ...transcripts,
    ...handoffs,
    ...lifecycle,
    ...hooks,
    ...jobs,
    schedules,
    subscriptions,
    calls: machines?.calls,
    telemetry: openTraces(foundation),
    db_path,
  };
  foundation.effects.connect(features);
  foundation.ports.connect(features);
  return features;
}

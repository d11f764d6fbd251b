/**
 * Builds the daemon's features in order. A feature gets the lower features that it uses. Its
 * effects on higher features go through the table in `../reactions.ts`.
 */

import { Schedules } from "../../features/schedules/schedules.ts";
import { Subscriptions } from "../../features/subscriptions/subscriptions.ts";
import type { Config } from "../config.ts";
import type { Platform } from "../platform.ts";
import { Reactions } from "../reactions.ts";
import { openAgents, openJobs, openLifecycle, openSpawns } from "./agents.ts";
import { openAsks } from "./asks.ts";
import { openFederation } from "./federation.ts";
import { openFoundation, openTraces } from "./foundation.ts";
import { openHandoffs } from "./handoffs.ts";
import { openTranscripts } from "./transcripts.ts";
import { openMessageLog, openMessages, openPeers } from "./messages.ts";

export type Features = ReturnType<typeof compose>;

/** Opens the database and builds every feature on it. */
export function compose(config: Config, db_path: string, platform: Platform) {
  const reactions = new Reactions();
  const foundation = openFoundation(config, db_path, platform);
  const peers = openPeers(foundation, reactions);
  const messages = {
    ...openMessages(foundation, peers, reactions),
    ...openMessageLog(foundation, peers),
  };
  const asks = openAsks(foundation, { ...peers, ...messages }, reactions);
  const federation = openFederation(foundation, { ...peers, ...messages, ...asks }, reactions);
  const spawns = openSpawns(foundation, { ...peers, ...messages, ...asks }, reactions);
  const transcripts = openTranscripts(foundation);
  const handoffs = openHandoffs(foundation, {
    ...peers,
    ...messages,
    ...asks,
    ...spawns,
    ...transcripts,
  });
  const lifecycle = openLifecycle(foundation, { ...peers, ...messages, ...asks });
  const agents = openAgents(foundation, { ...peers, ...messages, ...asks });
  const jobs = openJobs(foundation, { ...peers, ...messages, ...asks, ...spawns });
  const schedules = new Schedules(foundation.ctx, { ...foundation, ...peers, ...asks });
  const subscriptions = new Subscriptions(foundation.ctx, { ...foundation, ...peers, ...asks });
  const features = {
    ...foundation,
    ...peers,
    ...messages,
    ...asks,
    federation,
    ...spawns,
    ...transcripts,
    ...handoffs,
    ...lifecycle,
    ...agents,
    ...jobs,
    schedules,
    subscriptions,
    calls: federation?.calls,
    telemetry: openTraces(foundation),
    db_path,
  };
  reactions.connect(features);
  return features;
}

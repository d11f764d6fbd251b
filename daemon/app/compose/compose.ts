/**
 * Builds the daemon's features in order. A feature gets the lower features that it uses. Its
 * effects on higher features are rows of `../effects.ts`, its questions to them rows of
 * `../ports.ts`.
 */

import { Schedules } from "../../features/schedules/schedules.ts";
import { Subscriptions } from "../../features/subscriptions/subscriptions.ts";
import type { Config } from "../config.ts";
import type { Platform } from "../platform.ts";
import { openHooks, openLifecycle } from "./agents.ts";
import {
  checkLimitsOf,
  openBreakers,
  openChanges,
  openFiles,
  openHandoffs,
  openJointChecks,
  openProofs,
  openSpawns,
  openTranscripts,
  openUsage,
  openWakes,
  reviewSettings,
  type SpawnFeatures,
} from "./sessions.ts";
import { type AskFeatures, openAsks } from "./asks.ts";
import { type Foundation, openFoundation, openTraces } from "./foundation.ts";
import { openLimits } from "./limits.ts";
import { openMessageLog, openMessages } from "./messages.ts";
import { openPeers } from "./peers.ts";
import type { Machines } from "../../machines/machines.ts";
import { cardMadeAt, forgetLeft, leftBefore, recordIdentityRefusal } from "../identity.ts";
import { Executors } from "../../features/jobs/executors.ts";
import { Reviews } from "../../features/reviews/reviews.ts";
import { Recall } from "../../features/recall/recall.ts";
import { CheckRunner } from "../../features/jobs/check_runner.ts";
import { Jobs } from "../../features/jobs/jobs.ts";

export type Features = ReturnType<typeof compose>;

/** Opens the database and builds every feature on it. */
export function compose(config: Config, db_path: string, platform: Platform) {
  const foundation = openFoundation(config, db_path, platform);
  const peers = openPeers(foundation);
  const messages = {
    ...peers,
    ...openMessages(foundation, peers),
    ...openMessageLog(foundation, peers),
  };
  const asks = { ...messages, ...openAsks(foundation, messages) };
  const machines = openMachines(foundation, asks);
  const lifecycle = openLifecycle(foundation, asks);
  const spawns = {
    ...asks,
    ...openSpawns(foundation, asks),
    ...openLimits(foundation, { ...asks, ...lifecycle }),
  };
  const sessions = { ...spawns, ...openTranscripts(foundation, asks) };
  const jobs = openJobs(foundation, spawns);
  const work = {
    ...openChanges(foundation, sessions),
    ...openUsage(foundation, sessions),
    ...openJointChecks(foundation, sessions),
  };
  const features = {
    ...foundation,
    ...sessions,
    ...work,
    reviews: new Reviews(foundation.ctx, { ...sessions, ...work, ...reviewSettings(foundation) }),
    machines,
    ...openHandoffs(foundation, sessions),
    ...openFiles(foundation, sessions),
    recall: new Recall(foundation.ctx, {
      ...sessions,
      machine: platform.machine,
      off: config["asks.recall_off"],
    }),
    ...lifecycle,
    ...openWakes(foundation, { ...spawns, ...lifecycle }),
    ...openHooks(foundation, asks),
    ...jobs,
    ...openProofs(foundation, { ...spawns, ...jobs }),
    ...openBreakers(foundation, { ...sessions, ...lifecycle }),
    schedules: new Schedules(foundation.ctx, {
      ...foundation,
      ...asks,
      ports: foundation.ports.schedules,
    }),
    subscriptions: new Subscriptions(foundation.ctx, { ...foundation, ...asks }),
    calls: machines?.calls,
    telemetry: openTraces(foundation),
    db_path,
  };
  foundation.effects.connect(features);
  foundation.ports.connect(features);
  return features;
}

/** The network of machines; undefined without a bus. */
function openMachines(
  { config, ctx, effects, identity, platform: { machines }, ports }: Foundation,
  lower: AskFeatures,
): Machines | undefined {
  if (!machines) return undefined;
  return machines.open(ctx, {
    ...lower,
    proofs: ports.remoteProofs,
    access: machines.access,
    daemon_id: identity.daemon_id,
    cardMadeAt: (card) => cardMadeAt(ctx, card),
    identityRefused: (started_at) => recordIdentityRefusal(ctx, started_at),
    left_before: leftBefore(ctx),
    forgetLeft: () => forgetLeft(ctx),
    effects: effects.messages,
    settings: {
      ...machines.membership,
      allow: config["mesh.bus.allow"],
      allow_admin: config["mesh.bus.allow_admin"],
      allow_prove: config["mesh.bus.allow_prove"],
      human_home: config["mesh.bus.human_home"],
      description_ttl_ms: config["daemon.description_ttl_seconds"] * 1000,
    },
  });
}

/** Jobs, and the peers that execute them. */
function openJobs(foundation: Foundation, lower: SpawnFeatures & ReturnType<typeof openLimits>) {
  const { config, ctx, platform, shutdownSignal, history_ms } = foundation;
  const { machine, processes, programs, terminals } = platform;
  const executors = new Executors(ctx, { ...lower, machine, processes, shutdownSignal });
  const folders = { allowed: config["spawn.allowed_paths"] ?? [], home: terminals.home };
  const limits = checkLimitsOf(config);
  const checkRunner = new CheckRunner({ checks: config["jobs.checks"], folders, limits, programs });
  const jobs = new Jobs(ctx, {
    ...lower,
    checkRunner,
    executors,
    folders,
    history_ms,
    shutdownSignal,
  });
  return { checkRunner, jobs };
}

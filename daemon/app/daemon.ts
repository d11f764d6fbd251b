/** A daemon: its features and its API, from the start to the shutdown. */

import { ClockWatch } from "kit/core/clock.ts";
import { isProblem } from "protocol/problems.ts";
import { timeout } from "kit/core/timeout.ts";
import { type Api, openApi } from "./api.ts";
import { compose, type Features } from "./compose/compose.ts";
import type { Config } from "./config.ts";
import type { Platform } from "./platform.ts";
import { runScheduler, tick } from "./scheduler.ts";

/** Time limit for work that is under way at the shutdown. It may wait for a frozen program. */
const WORK_MS_MAX = 4000;

export interface Daemon extends Features, Api, AsyncDisposable {
  /** Takes up the work of the last run. Peers are offline until they are seen again. */
  start(): void;
  /** Ticks once a second until the daemon shuts down; `onTick` is called after each tick. */
  run(onTick?: () => void): Promise<void>;
  tick(): void;
  /** Stops accepting work, commits accepted work, and ends waits, streams and sockets. */
  shutDown(): Promise<void>;
}

/** Opens a daemon on its database. It does not listen: call `fetch` with requests. */
export function createDaemon(config: Config, db_path: string, platform: Platform): Daemon {
  const features = compose(config, db_path, platform);
  const api = openApi(features);
  const clockWatch = new ClockWatch(platform.clock, "boottime");
  const onTick = () => tick(features, api, clockWatch);
  let ending: Promise<void> | undefined;
  const end = () => ending ??= shutDown(features, api);
  return {
    ...features,
    ...api,
    start: () => start(features, api),
    run: (afterTick = () => undefined) =>
      runScheduler(features, () => {
        onTick();
        afterTick();
      }),
    tick: onTick,
    shutDown: end,
    async [Symbol.asyncDispose]() {
      await end();
      await features.ctx.background.close();
      features.ctx.db[Symbol.dispose]();
    },
  };
}

function start(features: Features, { answerMachine, relayClient, tunnel }: Api): void {
  const { config, ctx, delivery, jobs, peers, questions, restarts } = features;
  ctx.db.transactNow((tx) => {
    features.processWatcher.start();
    features.remotePeers.start(tx);
    delivery.reconcile();
    questions.closeWaiting();
    features.pushes.start();
    const human = config["human.name"];
    if (human) peers.registerHuman(human);
    renameReserved(features);
    restarts.start();
    features.spawns.registrations.start();
    features.wakes.start();
    jobs.start();
  });
  features.attachments.start();
  features.machines?.start();
  relayClient?.start(tunnel);
  features.calls?.server.start(answerMachine);
}

/** Renames peers whose names are reserved by now, and notifies each of them. */
function renameReserved({ ctx, directory, notifications, profiles }: Features): void {
  for (const { peer_id, before, name } of profiles.renameReserved()) {
    ctx.log.warn("A peer was renamed, because its name is reserved", { peer_id, before, name });
    const text = `Your name "${before}" is reserved, and you are "${name}" now. Take another one ` +
      `with: mesh peer rename ${name} NEW_NAME`;
    if (directory.canQueueFor(peer_id)) notifications.notifyFromDaemon(peer_id, text);
  }
}

async function shutDown(features: Features, { mcp, relayClient }: Api): Promise<void> {
  features.questions.closeWaiting();
  try {
    features.ctx.db.transact((tx) => features.agentWork.store(tx));
    features.ctx.db.flush();
  } catch (error) {
    // The next start closes what could not be stored now.
    if (!isProblem(error, "storage_failed")) throw error;
  }
  relayClient?.close();
  const leaving = features.machines?.close();
  features.shutdown.abort();
  features.sockets.closeAll();
  const work = [
    leaving,
    features.dispatcher.close(),
    features.jobs.close(),
    features.restarts.close(),
    features.spawns.registrations.close(),
    features.wakes.close(),
    mcp[Symbol.asyncDispose](),
  ];
  await timeout(features.ctx.clock, WORK_MS_MAX, Promise.all(work));
  features.urgentMessages.close();
  await features.telemetry?.close();
}

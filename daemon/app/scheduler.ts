/** The scheduler: calls each feature's `tick` once a second. */

import { pause } from "kit/core/timeout.ts";
import type { Api } from "./api.ts";
import type { Features } from "./compose/compose.ts";

const TICK_MS = 1000;
/** Events that retention removes per tick. It takes 5 ms. */
const PRUNED_EVENTS_MAX = 2000;

/** Runs one tick: detects missing peers, runs due work, and removes old data. */
export function tick(features: Features, { bodies, idempotency, relayClient }: Api): void {
  const { ctx: { clock, db, events }, history_ms } = features;
  const now = clock.now();
  db.failures.tick();
  features.processWatcher.tick(now);
  features.subagents.tick(now);
  features.asks.tick(now);
  features.multiAsks.tick(now);
  features.delivery.tick(now);
  features.urgentMessages.refresh();
  features.agentObserver.tick(now);
  features.spawns.registrations.tick(now);
  features.jobs.tick(now);
  features.schedules.tick(now);
  features.subscriptions.tick(now);
  features.spawnLog.tick(now);
  idempotency.tick(now);
  bodies.tick(now);
  features.meters.hour.tick(() => features.deliveryAudit.queued());
  features.messages.tick(now);
  features.inbox.tick(now);
  features.attachments.tick(now);
  relayClient?.tick(now);
  features.federation?.tick(now);
  features.calls?.pings.tick(now);
  features.telemetry?.tick(now);
  events.prune(now - history_ms, PRUNED_EVENTS_MAX);
  db.checkpoint();
}

/** Ticks once a second until the daemon shuts down; a tick that fails is logged. */
export async function runScheduler(
  { ctx: { clock, log }, meters, shutdownSignal: signal }: Features,
  onTick: () => void,
): Promise<void> {
  for (let due = clock.now() + TICK_MS; !signal.aborted; due += TICK_MS) {
    await pause(clock, Math.max(0, due - clock.now()), signal);
    if (signal.aborted) return;
    meters.delayed(clock.now() - due);
    due = Math.max(due, clock.now() - TICK_MS);
    try {
      onTick();
    } catch (error) {
      log.error("A tick failed", { error });
    }
  }
}

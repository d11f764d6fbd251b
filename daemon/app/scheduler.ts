/** The scheduler: calls each feature's `tick` once a second. */

import type { ClockWatch } from "kit/core/clock.ts";
import { repeat } from "kit/core/timeout.ts";
import type { Api } from "./api.ts";
import type { Features } from "./compose/compose.ts";

const TICK_MS = 1000;
/** Events that retention removes per tick. It takes 5 ms. */
const PRUNED_EVENTS_MAX = 2000;

/** Runs one tick: detects missing peers, runs due work, and removes old data. */
export function tick(
  features: Features,
  { bodies, devices, idempotency, relayClient }: Api,
  clockWatch: ClockWatch<"boottime">,
): void {
  const { ctx: { clock, db, events }, history_ms } = features;
  const now = clock.now(), monotonic = clock.monotonic();
  db.failures.tick();
  const step_ms = clockWatch.stepped();
  if (step_ms !== 0) clockStepped(features, step_ms);
  features.processWatcher.tick();
  features.subagents.tick();
  features.waits.tick();
  features.asks.tick(now);
  features.multiAsks.tick(now);
  features.limits.tick(now);
  features.requestStorms.tick(monotonic);
  features.delivery.tick(now);
  features.urgentMessages.tick();
  features.agentObserver.tick(monotonic);
  features.spawns.registrations.tick();
  features.wakes.tick();
  features.jobs.tick(now);
  features.proofs.tick(now);
  features.schedules.tick(now);
  features.subscriptions.tick(now);
  features.spawnLog.tick(now);
  idempotency.tick(now);
  devices.tick(now);
  bodies.tick(monotonic);
  features.meters.hour.tick(() => features.deliveryAudit.queued());
  features.messages.tick(now);
  features.inbox.tick(now);
  features.pushes.tick(now);
  features.attachments.tick(now);
  features.agentWork.tick();
  features.sessionReading.tick(monotonic);
  features.leases.tick(monotonic);
  features.jointChecks.tick(monotonic);
  features.reviews.summaries.tick(monotonic);
  features.charges.tick();
  features.budgetCards.tick();
  features.origins.prune();
  features.loops.tick();
  relayClient?.tick(monotonic);
  features.machines?.tick(now);
  features.calls?.pings.tick(monotonic);
  features.telemetry?.tick(monotonic);
  events.prune(now - history_ms, PRUNED_EVENTS_MAX);
  db.checkpoint();
}

/** Makes delayed work due again, whose due time is too late after the clock was set back. */
function clockStepped(
  { calls, ctx: { clock, log }, jobs, limits, pushes, subscriptions }: Features,
  step_ms: number,
): void {
  log.info("The clock of this machine was set", { step_seconds: Math.round(step_ms / 1000) });
  calls?.pings.clockStepped(step_ms);
  limits.clockStepped(step_ms);
  if (step_ms > 0) return;
  jobs.clockSetBack(clock.now());
  subscriptions.clockSetBack(clock.now());
  pushes.clockSetBack(clock.now());
}

/** Ticks once a second until the daemon shuts down; a tick that fails is logged. */
export async function runScheduler(
  { ctx: { clock, log }, meters, shutdownSignal: signal }: Features,
  onTick: () => void,
): Promise<void> {
  const delayed = (ms: number) => meters.delayed(ms);
  const failed = (error: unknown) => log.error("A tick failed", { error });
  await repeat(clock, { every_ms: TICK_MS, signal, delayed, failed }, onTick);
}

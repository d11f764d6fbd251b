/** Builds the reports of agents' hooks, and the observation of agents. */

import { Approvals } from "../../features/asks/questions/approvals.ts";
import { HookEvents } from "../../features/hooks/hook_events.ts";
import { AgentObserver } from "../../features/hooks/observer.ts";
import { StopReminders } from "../../features/hooks/stop_reminders.ts";
import { UnprovedMessages } from "../../features/hooks/unproved_messages.ts";
import { WakeHooks } from "../../features/hooks/wake_hooks.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";

/** Reports of agents' hooks, and observation of agents. */
export function openHooks(
  { config, ctx, effects, missingPanes, platform, shutdownSignal }: Foundation,
  lower: AskFeatures,
) {
  const { processes } = platform;
  const approvals = new Approvals(ctx, {
    ...lower,
    isAlive: (pid, started) => processes.isAlive(pid, started),
    shutdownSignal,
    gated_tools: config["approvals.gated_tools"],
    timeout_seconds: config["approvals.timeout_seconds"],
  });
  const hookEvents = new HookEvents(ctx, {
    ...lower,
    hooks: platform.hooks,
    effects: effects.hooks,
    approvals,
    reminders: new StopReminders(ctx, config["asks.reminders"]),
    unprovedMessages: new UnprovedMessages(ctx, lower),
  });
  const wakeHooks = new WakeHooks(ctx, {
    ...lower,
    wake: (peer_id) => lower.dispatcher.wake(peer_id),
    shutdownSignal,
  });
  const agentObserver = new AgentObserver(ctx, { ...lower, missingPanes, wakeHooks });
  return { hookEvents, wakeHooks, agentObserver };
}

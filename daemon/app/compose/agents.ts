/** Builds what observes registered agents and keeps their records: hooks and lifecycle. */

import { Doctor } from "../../features/lifecycle/doctor.ts";
import { Identities } from "../../features/lifecycle/identities.ts";
import { Interrupts } from "../../features/lifecycle/interrupts.ts";
import { Linking } from "../../features/lifecycle/linking.ts";
import { Pruning } from "../../features/lifecycle/pruning.ts";
import { Panes } from "../../features/lifecycle/panes.ts";
import { Termination } from "../../features/lifecycle/termination.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";
import { Approvals } from "../../features/asks/questions/approvals.ts";
import { Briefings } from "../../features/hooks/briefings.ts";
import { HookEvents } from "../../features/hooks/hook_events.ts";
import { AgentObserver } from "../../features/hooks/observer.ts";
import { StopReminders } from "../../features/hooks/stop_reminders.ts";
import { UnprovedMessages } from "../../features/hooks/unproved_messages.ts";
import { WakeHooks } from "../../features/hooks/wake_hooks.ts";

/** Reports of agents' hooks, and observation of agents. */
export function openHooks(
  { config, ctx, effects, missingPanes, platform, ports, shutdownSignal }: Foundation,
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
  const briefings = new Briefings(ctx, {
    notifications: lower.notifications,
    ports: ports.hooks,
    is_on: config["asks.briefings"],
  });
  const hookEvents = new HookEvents(ctx, {
    ...lower,
    hooks: platform.hooks,
    effects: effects.hooks,
    approvals,
    briefings,
    reminders: new StopReminders(ctx, config["asks.reminders"]),
    unprovedMessages: new UnprovedMessages(ctx, lower),
  });
  const wakeHooks = new WakeHooks(ctx, {
    ...lower,
    wake: (peer_id) => lower.dispatcher.wake(peer_id),
    shutdownSignal,
  });
  const agentObserver = new AgentObserver(ctx, { ...lower, missingPanes, wakeHooks });
  return { briefings, hookEvents, wakeHooks, agentObserver };
}

/** The lifecycle of registered agents: linking, certificates, termination and doctor. */
export function openLifecycle(
  { config, ctx, platform, ports, certificates, shutdownSignal }: Foundation,
  lower: AskFeatures,
) {
  const { machine, paneObserver, pid, processes } = platform;
  const circle_boundary = config["daemon.circle_boundary"];
  const deps = {
    ...lower,
    certificates,
    circle_boundary,
    machine,
    paneObserver,
    pid,
    processes,
  };
  return {
    linking: new Linking(ctx, deps),
    identities: new Identities(ctx, deps),
    termination: new Termination(ctx, deps),
    interrupts: new Interrupts(ctx, { ...deps, shutdownSignal }),
    doctor: new Doctor(ctx, deps),
    panes: new Panes(ctx, { ...deps, typing_allowed: config["panes.allow_typing"] }),
    pruning: new Pruning(ctx, { ...deps, ports: ports.lifecycle }),
  };
}

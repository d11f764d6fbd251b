/** Builds what observes registered agents and keeps their records: hooks and lifecycle. */

import { Doctor } from "../../features/lifecycle/doctor.ts";
import { Identities } from "../../features/lifecycle/identities.ts";
import { Linking } from "../../features/lifecycle/linking.ts";
import { Pruning } from "../../features/lifecycle/pruning.ts";
import { PaneProof } from "../../features/lifecycle/panes/pane_proof.ts";
import { PaneScreens } from "../../features/lifecycle/panes/pane_screens.ts";
import { PaneTyping } from "../../features/lifecycle/panes/pane_typing.ts";
import { Termination } from "../../features/lifecycle/termination.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";
import { Approvals } from "../../features/asks/questions/approvals.ts";
import { AskReminders } from "../../features/asks/reminders.ts";
import { HookEvents } from "../../features/hooks/hook_events.ts";
import { AgentObserver } from "../../features/hooks/observer.ts";
import { StopReminders } from "../../features/hooks/stop_reminders.ts";
import { ToolCallMessages } from "../../features/hooks/tool_call_messages.ts";
import { WakeHooks } from "../../features/hooks/wake_hooks.ts";

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
  const { receipts, urgentMessages } = lower;
  const hookEvents = new HookEvents(ctx, {
    ...lower,
    hooks: platform.hooks,
    effects: effects.hooks,
    approvals,
    reminders: new StopReminders(ctx, new AskReminders(ctx, config["asks.reminders"])),
    toolCallMessages: new ToolCallMessages(ctx, receipts, urgentMessages),
  });
  const wakeHooks = new WakeHooks(ctx, {
    ...lower,
    wake: (peer_id) => lower.dispatcher.wake(peer_id),
    shutdownSignal,
  });
  const agentObserver = new AgentObserver(ctx, { ...lower, missingPanes, wakeHooks });
  return { hookEvents, wakeHooks, agentObserver };
}

/** The lifecycle of registered agents: linking, certificates, termination and doctor. */
export function openLifecycle(
  { config, ctx, platform, ports, certificates }: Foundation,
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
  const paneProof = new PaneProof(ctx, deps);
  return {
    linking: new Linking(ctx, deps),
    identities: new Identities(ctx, deps),
    termination: new Termination(ctx, deps),
    doctor: new Doctor(ctx, deps),
    paneScreens: new PaneScreens({ paneObserver, paneProof }),
    paneTyping: new PaneTyping({
      ...deps,
      paneProof,
      is_allowed: config["panes.allow_typing"],
    }),
    pruning: new Pruning(ctx, { ...deps, ports: ports.lifecycle }),
  };
}

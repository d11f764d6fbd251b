/** Builds the features of agents: spawns, lifecycle, hooks, jobs and schedules. */

import type { Backend } from "protocol/agents/contract.ts";
import { Approvals } from "../../features/asks/questions/approvals.ts";
import { AskReminders } from "../../features/asks/reminders.ts";
import { HookEvents } from "../../features/hooks/hook_events.ts";
import { AgentObserver } from "../../features/hooks/observer.ts";
import { StopReminders } from "../../features/hooks/stop_reminders.ts";
import { ToolCallMessages } from "../../features/hooks/tool_call_messages.ts";
import { WakeHooks } from "../../features/hooks/wake_hooks.ts";
import { Executors } from "../../features/jobs/executors.ts";
import { Jobs } from "../../features/jobs/jobs.ts";
import { Doctor } from "../../features/lifecycle/doctor.ts";
import { Identities } from "../../features/lifecycle/identities.ts";
import { Linking } from "../../features/lifecycle/linking.ts";
import { type Need, Pruning } from "../../features/lifecycle/pruning.ts";
import { PaneProof } from "../../features/lifecycle/panes/pane_proof.ts";
import { PaneScreens } from "../../features/lifecycle/panes/pane_screens.ts";
import { PaneTyping } from "../../features/lifecycle/panes/pane_typing.ts";
import { peerOfPrompt } from "../../features/lifecycle/prompt_linking.ts";
import { Termination } from "../../features/lifecycle/termination.ts";
import { RegistrationLocations } from "../../features/spawn/expected_registration.ts";
import { SPAWN_LOG_ENTRIES_MAX, SpawnLogRetention } from "../../features/spawn/log/retention.ts";
import { Restarts } from "../../features/spawn/restarts/restarts.ts";
import { Forks } from "../../features/spawn/sessions/forks.ts";
import { Resumptions } from "../../features/spawn/sessions/resumptions.ts";
import { Spawns } from "../../features/spawn/spawns.ts";
import { Reactions } from "../reactions.ts";
import type { Context } from "../../data/context.ts";
import * as askRows from "../../features/asks/store.ts";
import * as jobRows from "../../features/jobs/store.ts";
import * as templateRows from "../../features/jobs/templates/store.ts";
import { firstQueued } from "../../features/messages/ledger/queued.ts";
import * as scheduleRows from "../../features/schedules/store.ts";
import * as restartRows from "../../features/spawn/restarts/store.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";
import { secretsOf } from "./transcripts.ts";

/** Spawns and restarts of agents. */
export function openSpawns(foundation: Foundation, lower: AskFeatures, reactions: Reactions) {
  const { config, ctx, identity, platform, shutdownSignal, history_ms } = foundation;
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
    machine,
    processes,
    hooks,
    sessionFilesOf: (backend: Backend) => platform.sessionFilesOf(backend),
    shutdownSignal,
    linkSilentAgent: reactions.table.spawned,
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

/** What each feature may still need an offline peer for. */
function needsOf({ db }: Context): Need[] {
  return [
    ({ peer_id }) => askRows.hasOpen(db, peer_id) ? "open_asks" : undefined,
    ({ peer_id }) => firstQueued(db, peer_id) ? "queued_messages" : undefined,
    ({ peer_id }) => restartRows.openOf(db, peer_id) ? "restart" : undefined,
    ({ peer_id }) => jobRows.involves(db, peer_id) ? "jobs" : undefined,
    ({ peer_id }) => templateRows.involves(db, peer_id) ? "jobs" : undefined,
    (peer) => scheduleRows.involves(db, peer) ? "schedules" : undefined,
  ];
}

/** The lifecycle of registered agents: linking, certificates, termination and doctor. */
export function openLifecycle(
  { config, ctx, platform, certificates }: Foundation,
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
    pruning: new Pruning(ctx, { ...deps, needs: needsOf(ctx) }),
  };
}

export type SpawnFeatures = AskFeatures & ReturnType<typeof openSpawns>;

/** Reports of agents' hooks, and observation of agents. */
export function openAgents(
  { config, ctx, missingPanes, platform, shutdownSignal }: Foundation,
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
  const { peers, receipts, urgentMessages } = lower;
  const hookEvents = new HookEvents(ctx, {
    ...lower,
    hooks: platform.hooks,
    peerOfPrompt: (peer_id, prompt) => peerOfPrompt({ db: ctx.db, peers }, peer_id, prompt),
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

/** Jobs, and the peers that execute them. */
export function openJobs(foundation: Foundation, lower: SpawnFeatures) {
  const { config, ctx, platform, shutdownSignal, history_ms } = foundation;
  const { delivery, directory, notifications, peers, spawns } = lower;
  const { machine, processes } = platform;
  const executors = new Executors(ctx, {
    adapters: platform.adapters(),
    machine,
    peers,
    processes,
    shutdownSignal,
    spawns,
  });
  const jobs = new Jobs(ctx, {
    checks: config["jobs.checks"],
    delivery,
    directory,
    executors,
    folders: { allowed: config["spawn.allowed_paths"], home: platform.terminals.home },
    history_ms,
    notifications,
    programs: platform.programs,
    shutdownSignal,
    spawns,
  });
  return { jobs };
}

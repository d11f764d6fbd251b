/** Builds the features of agents: spawns, lifecycle, hooks, jobs and schedules. */

import type { AgentPeer } from "../../features/agents/adapter.ts";
import { Approvals } from "../../features/asks/questions/approvals.ts";
import { HookEvents } from "../../features/hooks/hook_events.ts";
import { AgentObserver } from "../../features/hooks/observer.ts";
import { WakeHooks } from "../../features/hooks/wake_hooks.ts";
import { Executors } from "../../features/jobs/executors.ts";
import { Jobs } from "../../features/jobs/jobs.ts";
import { Doctor } from "../../features/lifecycle/doctor.ts";
import { Identities } from "../../features/lifecycle/identities.ts";
import { Linking } from "../../features/lifecycle/linking.ts";
import { PromptLinking } from "../../features/lifecycle/prompt_linking.ts";
import { SilentAgents } from "../../features/lifecycle/silent_agents.ts";
import { Termination } from "../../features/lifecycle/termination.ts";
import { toOutgoing } from "../../features/messages/dispatch/outgoing_cache.ts";
import { isLive } from "../../features/peers/directory.ts";
import { nameOf, refuseReserved } from "../../features/peers/identity/naming.ts";
import * as peerRows from "../../features/peers/store.ts";
import { Schedules } from "../../features/schedules/schedules.ts";
import { RegistrationLocations } from "../../features/spawn/expected_registration.ts";
import { SPAWN_LOG_ENTRIES_MAX, SpawnLogRetention } from "../../features/spawn/log/retention.ts";
import { allowedFolder } from "../../features/spawn/paths.ts";
import { readSubject } from "../../features/spawn/restarts/replacement.ts";
import { Restarts } from "../../features/spawn/restarts/restarts.ts";
import { Spawns } from "../../features/spawn/spawns.ts";
import { Reactions } from "../reactions.ts";
import type { Foundation } from "./foundation.ts";
import type { AskFeatures } from "./asks.ts";

/** Spawns and restarts of agents. */
export function openSpawns(foundation: Foundation, lower: AskFeatures, reactions: Reactions) {
  const { config, ctx, platform, shutdownSignal, history_ms } = foundation;
  const { agentPeers, directory, notifications, peers, profiles, superseded, transports } = lower;
  const { machine, processes, terminals } = platform;
  const adapters = new Map(platform.adapters().map((one) => [String(one.backend), one]));
  const settings = {
    commands: config["spawn.commands"],
    profiles: config["spawn.profiles"],
    allowed_paths: config["spawn.allowed_paths"],
    env: config["spawn.env"],
    circle_boundary: config["daemon.circle_boundary"],
  };
  const shared = { terminals, processes, settings, shutdownSignal };
  const spawns = new Spawns(ctx, {
    ...shared,
    peers: {
      sender: (argument) => directory.sender(argument),
      get: (peer_id) => agentPeers.getRecord(peer_id),
      findByPane: (pane_id, tmux_socket) => peerRows.byPane(ctx.db, pane_id, tmux_socket)[0],
      nameOf: (path, backend) => nameOf({ path, backend }),
      refuseReserved: (name) => refuseReserved(ctx.db, name),
      reassign: (peer_id, asked) => profiles.reassign(peer_id, asked),
    },
    canDeliverTo: (backend) => transports.hasAdapter(backend),
    registersItself: (backend) => platform.hooks[backend] !== undefined,
    linkSilentAgent: reactions.table.spawned,
    notify: (note, by) => void notifications.notify(note, by),
  });
  const restarts = new Restarts(ctx, {
    ...shared,
    machine,
    adapter: (backend) => adapters.get(backend),
    profileOf: (peer_id) => spawns.profileOf(peer_id),
    mustBeEnabled: () => spawns.mustBeEnabled(),
    find: (argument, circle) => directory.find(argument, { circle }),
    sender: (argument) => directory.senderId(argument),
    subject: (peer_id) => readSubject(ctx.db, peer_id),
    registersItself: (backend) => backend in platform.hooks,
    peers: {
      offline: (peer_id, reason) =>
        peers.offline(peer_id, { reason, source: "daemon", terminal: false }),
      markSeen: (peer_id) => peers.markSeen(peer_id, "process"),
      register: (peer_id, agent_pid) => peers.registerRestarted(peer_id, agent_pid),
    },
    recordReplacement: (replacement) => superseded.add(replacement),
    notify: (note, by) => void notifications.notify(note, by),
  });
  const limits = { history_ms, entries_max: SPAWN_LOG_ENTRIES_MAX };
  const spawnLog = new SpawnLogRetention(ctx, limits, (peer_id) => directory.canReturn(peer_id));
  const registrationLocations = new RegistrationLocations(machine, spawns.circleOf.bind(spawns));
  return { spawns, restarts, spawnLog, registrationLocations };
}

/** The lifecycle of registered agents: linking, certificates, termination and doctor. */
export function openLifecycle({ ctx, platform, certificates }: Foundation, lower: AskFeatures) {
  const { directory, dispatcher, peers, reachability, records, transports } = lower;
  const { machine, paneObserver, pid, processes } = platform;
  const shared = { directory, peers, processes, paneObserver, machine, reachability };
  const probe = (peer: AgentPeer) => transports.probe(peer);
  const linking = new Linking(ctx, {
    ...shared,
    probe,
    wake: (peer_id) => dispatcher.wake(peer_id),
  });
  return {
    linking,
    silentAgents: new SilentAgents(ctx, linking),
    identities: new Identities(ctx, { ...shared, certificates }),
    termination: new Termination(ctx, { ...shared, pid }),
    doctor: new Doctor(ctx, { ...shared, records, probe }),
  };
}

export type SpawnFeatures = AskFeatures & ReturnType<typeof openSpawns>;

/** Reports of agents' hooks, and observation of agents. */
export function openAgents(
  { config, ctx, platform, shutdownSignal }: Foundation,
  lower: AskFeatures,
) {
  const {
    agentPeers,
    directory,
    dispatcher,
    handover,
    peers,
    questions,
    receipts,
    transports,
    turns,
  } = lower;
  const approvals = new Approvals(ctx, {
    gated_tools: config["approvals.gated_tools"],
    timeout_seconds: config["approvals.timeout_seconds"],
  }, {
    askBlocking: (body, request) => questions.askBlocking(body, request),
    nameOf: (peer_id) => directory.address(peer_id)?.name ?? peer_id,
    shutdownSignal,
  });
  const promptLinking = new PromptLinking(ctx, peers);
  const hookEvents = new HookEvents(ctx, {
    hooks: platform.hooks,
    peers: {
      register: (registration, evidence) => peers.register(registration, evidence),
      turn: (peer_id, turn) => turns.reportTurn(peer_id, turn),
      offline: (peer_id, cause) => peers.offline(peer_id, cause),
      peerOfPrompt: (peer_id, prompt) => promptLinking.peerOfPrompt(peer_id, prompt),
      findBySession: (session_id) => directory.findBySession(session_id),
    },
    delivery: {
      handToHook: (peer_id, limits) => handover.handToHook(peer_id, limits),
      nameUnproved: (peer_id, limit) => handover.nameUnproved(peer_id, limit),
      settle: (delivery_ids, status) => receipts.settle(delivery_ids, status),
    },
    outgoing: toOutgoing,
    approvals,
  });
  const reachableAgents = () => agentPeers.reachable();
  const wakeHooks = new WakeHooks(ctx, {
    transports,
    reachableAgents,
    wake: (peer_id) => dispatcher.wake(peer_id),
    shutdownSignal,
  });
  const agentObserver = new AgentObserver(ctx, {
    transports,
    wakeHooks,
    peers: {
      reachableAgents,
      unobservedAgents: () => agentPeers.unobserved(),
      markSeen: (peer_id, transport) => peers.markSeen(peer_id, transport),
      applyObservation: (peer, seen) => turns.applyObservation(peer, seen),
    },
  });
  return { hookEvents, wakeHooks, agentObserver };
}

/** Jobs, and the peers that execute them. */
export function openJobs(foundation: Foundation, lower: SpawnFeatures) {
  const { config, ctx, platform, shutdownSignal, history_ms } = foundation;
  const { delivery, directory, notifications, peers, spawns } = lower;
  const { machine, processes } = platform;
  const allowed = config["spawn.allowed_paths"];
  const executors = new Executors(ctx, {
    adapters: platform.adapters(),
    machine,
    peers,
    processes,
    shutdownSignal,
    spawns,
  });
  const jobs = new Jobs(ctx, {
    directory: {
      sender: (argument) => directory.sender(argument),
      find: (argument, scope) => directory.findNotRetired(argument, scope),
    },
    peers: {
      get: (peer_id) => executors.get(peer_id),
      isDead: (peer_id) => executors.isDead(peer_id),
      isUntraceable: (peer_id) => executors.isUntraceable(peer_id),
    },
    delivery: {
      send: ({ proven_human, ...note }) => {
        const { message } = notifications.notify(note, { proven_human }).ticket;
        return { delivery_id: message.delivery_id, state: message.state };
      },
      stateOf: (delivery_id) => delivery.findMessage(delivery_id)?.state,
      withdraw: (delivery_id, reason) => void delivery.release(delivery_id, reason),
    },
    spawns: {
      startExecutor: (request) => executors.start(request),
      status: (spawn_id) => spawns.status(spawn_id),
      cleanUp: (mark, from_peer) => spawns.cleanUp(mark, from_peer),
      release: (spawn_id, peer_id, how) => executors.release(spawn_id, peer_id, how),
    },
    notices: {
      orchestrator: (circle) => peerRows.orchestrators(ctx.db, circle).find(isLive)?.peer_id,
      notify: (to_peer, text) => notifications.notifyFromDaemon(to_peer, text),
    },
    checks: config["jobs.checks"],
    allows_paths: allowed.length > 0,
    folder: (path) => allowedFolder(path, { allowed, home: platform.terminals.home }),
    run: (argv, options) => platform.programs.run(argv, { ...options, signal: shutdownSignal }),
    history_ms,
  });
  return { executors, jobs };
}

/** Scheduled messages. */
export function openSchedules({ ctx, history_ms }: Foundation, lower: AskFeatures) {
  const { asks, directory, notifications } = lower;
  const schedules = new Schedules(ctx, {
    directory,
    senders: {
      ask: (message, by) => {
        const { ticket } = asks.open({ ...message, reply_delivery: "push" }, by);
        return ticket?.message.correlation_id ?? "";
      },
      notify: (message, by) => notifications.notify(message, by).ticket.message.delivery_id,
    },
    notify: (to_peer, text) => notifications.notifyFromDaemon(to_peer, text),
    history_ms,
  });
  return { schedules };
}

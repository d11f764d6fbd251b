/**
 * Builds the daemon's features in their order. Each is given the lower features that it uses; what
 * goes upward goes through the table of `reactions.ts`.
 */

import { EventLog } from "kit/data/events.ts";
import type { Context } from "kit/data/context.ts";
import { Database } from "kit/data/sqlite.ts";
import { AgentProcesses } from "../api/callers/agent_processes.ts";
import { Meters } from "../api/events/metrics.ts";
import type { AgentPeer } from "../features/agents/adapter.ts";
import { AgentTransports } from "../features/agents/transports.ts";
import { Asks } from "../features/asks/asks.ts";
import { MultiAsks } from "../features/asks/many/multi_asks.ts";
import { Approvals } from "../features/asks/questions/approvals.ts";
import { Questions } from "../features/asks/questions/questions.ts";
import { liveCandidates } from "../features/asks/routing/candidates.ts";
import { lastReplies } from "../features/asks/routing/load.ts";
import { Router } from "../features/asks/routing/router.ts";
import * as askRows from "../features/asks/store.ts";
import { HookEvents } from "../features/hooks/hook_events.ts";
import { AgentObserver } from "../features/hooks/observer.ts";
import { WakeHooks } from "../features/hooks/wake_hooks.ts";
import { Inbox } from "../features/inbox/inbox.ts";
import { InboxReplies } from "../features/inbox/replies.ts";
import { itemOfAsk } from "../features/inbox/store.ts";
import { inboxItemFrame, Surfaces } from "../features/inbox/surfaces.ts";
import { Executors } from "../features/jobs/executors.ts";
import { Jobs } from "../features/jobs/jobs.ts";
import { Doctor } from "../features/lifecycle/doctor.ts";
import { Identities } from "../features/lifecycle/identities.ts";
import { Linking } from "../features/lifecycle/linking.ts";
import { PromptLinking } from "../features/lifecycle/prompt_linking.ts";
import { SilentAgents } from "../features/lifecycle/silent_agents.ts";
import { Termination } from "../features/lifecycle/termination.ts";
import { Attachments } from "../features/messages/attachments/attachments.ts";
import { Delivery } from "../features/messages/delivery.ts";
import { DeliveryAudit } from "../features/messages/delivery_audit.ts";
import { Dispatcher } from "../features/messages/dispatch/dispatcher.ts";
import { toOutgoing } from "../features/messages/dispatch/outgoing_cache.ts";
import { Handover } from "../features/messages/handover.ts";
import { Leases } from "../features/messages/leases.ts";
import { Steps } from "../features/messages/ledger/steps.ts";
import { Limits } from "../features/messages/limits/limits.ts";
import { Messages } from "../features/messages/log/message_log.ts";
import { PeerReachability } from "../features/messages/reachability.ts";
import { Receipts } from "../features/messages/receipts.ts";
import { Sockets } from "../features/messages/websocket/sockets.ts";
import { Notifications } from "../features/notifications/notifications.ts";
import { Certificates } from "../features/peers/certificates.ts";
import { PeerChanges } from "../features/peers/changes.ts";
import { Directory, isLive } from "../features/peers/directory.ts";
import { Peers } from "../features/peers/peers.ts";
import { PeerProfiles } from "../features/peers/profiles.ts";
import { PeerRecords } from "../features/peers/records.ts";
import { nameOf, refuseReserved } from "../features/peers/registration.ts";
import * as peerRows from "../features/peers/store.ts";
import { Superseded } from "../features/peers/superseded.ts";
import { PeerTurns } from "../features/peers/turns.ts";
import { Schedules } from "../features/schedules/schedules.ts";
import {
  expectedRegistrations,
  RegistrationPlaces,
} from "../features/spawn/expected_registration.ts";
import { SPAWN_LOG_ENTRIES_MAX, SpawnLogRetention } from "../features/spawn/log/retention.ts";
import { allowedFolder } from "../features/spawn/paths.ts";
import { isSuperseded, readSubject } from "../features/spawn/restarts/replacement.ts";
import { Restarts } from "../features/spawn/restarts/restarts.ts";
import { Spawns } from "../features/spawn/spawns.ts";
import type { Config } from "./config.ts";
import { readIdentity } from "./identity.ts";
import { migrations } from "./migrations/migrations.ts";
import type { Platform } from "./platform.ts";
import { Reactions } from "./reactions.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

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
  const asks = openAsks(foundation, { ...peers, ...messages });
  const spawns = openSpawns(foundation, { ...peers, ...messages, ...asks }, reactions);
  const lifecycle = openLifecycle(foundation, { ...peers, ...messages, ...asks });
  const agents = openAgents(foundation, { ...peers, ...messages, ...asks });
  const jobs = openJobs(foundation, { ...peers, ...messages, ...asks, ...spawns });
  const schedules = openSchedules(foundation, { ...peers, ...messages, ...asks });
  const features = {
    ...foundation,
    ...peers,
    ...messages,
    ...asks,
    ...spawns,
    ...lifecycle,
    ...agents,
    ...jobs,
    ...schedules,
  };
  reactions.connect(features);
  features.meters.addGauges(() => ({
    peers: peerRows.count(features.ctx.db),
    sockets: features.sockets.size,
    commits: features.ctx.db.commits,
    queue: features.deliveryAudit.counts(),
    jobs: features.jobs.counts(),
  }));
  return features;
}

type Foundation = ReturnType<typeof openFoundation>;

/** What every feature uses: the database, the daemon's identity and keys, the configuration. */
function openFoundation(config: Config, db_path: string, platform: Platform) {
  const { clock, ids, log } = platform;
  const db = new Database(db_path, migrations, log, clock);
  const events = new EventLog(db, clock, log);
  const ctx: Context = { db, events, clock, ids, log };
  const identity = readIdentity(db, ids);
  const idCodec = platform.idCodec(identity.number_key);
  db.define("seq_of", (ident) => idCodec.seq(String(ident)));
  const certificates = new Certificates(identity.certificate_key, clock);
  const shutdown = new AbortController();
  return {
    config,
    platform,
    ctx,
    identity,
    idCodec,
    certificates,
    meters: new Meters(),
    shutdown,
    shutdownSignal: shutdown.signal,
    history_ms: config["daemon.history_days"] * DAY_MS,
  };
}

/** The registry of peers, and the sockets and transports that reach them. */
function openPeers({ ctx, platform, meters }: Foundation, reactions: Reactions) {
  const { machine, processes } = platform;
  const agentProcesses = new AgentProcesses({
    liveAgents: () => peerRows.livePeers(ctx.db),
    recordedProcesses: () => peerRows.provedProcesses(ctx.db),
    isAlive: (pid, started) => processes.isAlive(pid, started),
    parentOf: (pid) => processes.parentOf(pid),
    isUserFacing: (pid) => platform.callers.isUserFacing(pid),
    pid: platform.pid,
  });
  const transports = new AgentTransports(platform.adapters(), platform.knownFailures);
  const steps = new Steps(ctx, meters, reactions.table);
  const sockets = new Sockets(ctx, steps, {
    inboxItemFrame: (item_id, surface) => inboxItemFrame(ctx.db, item_id, surface),
  });
  const directory = new Directory(ctx, { machine });
  const reachability = new PeerReachability(ctx, { directory, sockets, agents: transports });
  const superseded = new Superseded();
  const changes = new PeerChanges(ctx, reactions.table);
  const peers = new Peers(ctx, {
    directory,
    processes,
    machine,
    superseded,
    changes,
    reachability,
    reactions: reactions.table,
    expectedRegistration: expectedRegistrations({ db: ctx.db, terminals: platform.terminals }),
    isSuperseded: (peer_id, agent_pid) => isSuperseded(ctx.db, peer_id, agent_pid),
  });
  const profiles = new PeerProfiles(ctx, { changes, peers });
  const turns = new PeerTurns(ctx, {
    changes,
    directory,
    machine,
    peers,
    reachability,
    reactions: reactions.table,
  });
  return {
    agentProcesses,
    transports,
    steps,
    sockets,
    directory,
    reachability,
    superseded,
    peers,
    profiles,
    turns,
  };
}

type PeerFeatures = ReturnType<typeof openPeers>;

/** Delivery of messages, and what is kept of them. */
function openMessages(
  { config, ctx, idCodec, identity }: Foundation,
  { directory, peers, reachability, sockets, steps, transports }: PeerFeatures,
  reactions: Reactions,
) {
  const { db } = ctx;
  const records = new PeerRecords(ctx, {
    daemon_id: identity.daemon_id,
    description_ttl_ms: config["daemon.description_ttl_seconds"] * 1000,
  }, {
    directory,
    reachability,
    pending: (peer_id) => askRows.pendingOf(db, peer_id),
    pendingOfAll: () => new Map(askRows.pendingOfAll(db).map((one) => [one.to_peer_id, one])),
  });
  const dispatcher = new Dispatcher(ctx, steps, { directory, peers, reachability, transports });
  const limits = new Limits(ctx, {
    max_per_peer: config["daemon.queue.max_per_peer"],
    hops: config["daemon.limits.hops"],
    pair_per_minute: config["daemon.limits.pair_per_minute"],
  }, () => directory.human()?.peer_id);
  const delivery = new Delivery(ctx, { steps, sockets, dispatcher, limits }, {
    idCodec,
    queue: { ttl_ms: config["daemon.queue.ttl_seconds"] * 1000 },
  });
  const deliveryAudit = new DeliveryAudit(ctx, {
    canQueueFor: (peer_id) => directory.canQueueFor(peer_id),
    human_id: () => directory.human()?.peer_id,
    isInInbox: (correlation_id) => itemOfAsk(db, correlation_id) !== undefined,
  });
  const receipts = new Receipts(ctx, { steps, sockets, reactions: reactions.table });
  const handover = new Handover(ctx, steps);
  const leases = new Leases(ctx, {
    delivery,
    handover,
    receipts,
    isAddressable: (peer_id) => Boolean(directory.resolve(peer_id).addressable),
    touch: (peer_id) => directory.touch(peer_id),
  });
  return {
    records,
    dispatcher,
    delivery,
    deliveryAudit,
    receipts,
    handover,
    leases,
  };
}

/** The log of messages, and their attachments. */
function openMessageLog(
  { config, ctx, idCodec, platform, shutdownSignal, history_ms }: Foundation,
  { directory }: PeerFeatures,
) {
  const messages = new Messages(ctx, {
    idCodec,
    resolve: (argument) => directory.resolve(argument),
    retention: { history_ms, messages_max: config["daemon.history_messages"] },
    shutdownSignal,
  });
  const attachments = new Attachments(ctx, {
    files: platform.files,
    limits: {
      file_bytes_max: config["daemon.attachments.file_bytes_max"],
      total_bytes_max: config["daemon.attachments.total_bytes_max"],
      ttl_ms: config["daemon.attachments.ttl_days"] * DAY_MS,
    },
    shutdownSignal,
  });
  return { messages, attachments };
}

type MessageFeatures =
  & PeerFeatures
  & ReturnType<typeof openMessages>
  & ReturnType<typeof openMessageLog>;

/** Asks and questions, the human's inbox, and notifications. */
function openAsks(foundation: Foundation, lower: MessageFeatures) {
  const { config, ctx, shutdownSignal, history_ms } = foundation;
  const { attachments, delivery, directory, sockets } = lower;
  const surfaces = new Surfaces(ctx, { sockets, delivery, receipts: lower.receipts });
  const inbox = new Inbox(ctx, { directory, surfaces, history_ms });
  const shared = {
    directory,
    delivery,
    human: inbox,
    attach: (ids: readonly string[] = []) => attachments.attach(ids),
    address: (peer_id: string) => directory.address(peer_id),
  };
  const asks = new Asks(ctx, {
    ...shared,
    ledger: askRows.askLedger(ctx.db),
    ask_ttl_ms: config["daemon.ask_ttl_hours"] * HOUR_MS,
  });
  const questions = new Questions(ctx, {
    ...shared,
    asks,
    wait_ms_max: config["approvals.timeout_seconds"] * 1000,
    shutdownSignal,
  });
  const inboxReplies = new InboxReplies(ctx, { asks, inbox, questions });
  const multiAsks = new MultiAsks(ctx, asks, history_ms);
  const router = openRouter(foundation, { asks, directory });
  const notifications = new Notifications(ctx, delivery, {
    directory,
    addToInbox: (message) => inbox.add(message),
    attach: shared.attach,
  });
  return { surfaces, inbox, inboxReplies, asks, questions, multiAsks, router, notifications };
}

type AskFeatures = MessageFeatures & ReturnType<typeof openAsks>;

/** Undefined with `routing.strategy: static`. */
function openRouter(
  { config, ctx, shutdownSignal }: Foundation,
  { asks, directory }: { asks: Asks; directory: Directory },
): Router | undefined {
  const strategy = config["routing.strategy"];
  if (strategy === "static") return undefined;
  const deps = {
    asks,
    directory,
    shutdownSignal,
    liveCandidates: () => liveCandidates(ctx),
    recentReplies: () => lastReplies(ctx.db),
  };
  return new Router(ctx, deps, {
    strategy,
    min_confidence: config["routing.min_confidence"],
    allow_service_targets: config["routing.allow_service_targets"],
    endpoint: config["routing.webhook"],
    description_ttl_seconds: config["daemon.description_ttl_seconds"],
  });
}

/** Agents that the daemon starts and restarts. */
function openSpawns(foundation: Foundation, lower: AskFeatures, reactions: Reactions) {
  const { config, ctx, platform, shutdownSignal, history_ms } = foundation;
  const { directory, notifications, peers, profiles, superseded, transports } = lower;
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
      get: (peer_id) => {
        const peer = peerRows.get(ctx.db, peer_id);
        return peer && directory.withLocalPane(peer);
      },
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
  const places = new RegistrationPlaces(machine, spawns.circleOf.bind(spawns));
  return { spawns, restarts, spawnLog, places };
}

/** The life of registered agents: links, certificates, termination, examination. */
function openLifecycle({ ctx, platform, certificates }: Foundation, lower: AskFeatures) {
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

type SpawnFeatures = AskFeatures & ReturnType<typeof openSpawns>;

/** What agents report by their hooks, and what is observed of them. */
function openAgents({ config, ctx, platform, shutdownSignal }: Foundation, lower: AskFeatures) {
  const { directory, dispatcher, handover, peers, questions, receipts, transports, turns } = lower;
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
  const reachableAgents = () => directory.reachableAgents();
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
      unobservedAgents: () => directory.unobservedAgents(),
      markSeen: (peer_id, transport) => peers.markSeen(peer_id, transport),
      applyObservation: (peer, seen) => turns.applyObservation(peer, seen),
    },
  });
  return { hookEvents, wakeHooks, agentObserver };
}

/** Jobs, and the agents that execute them. */
function openJobs(foundation: Foundation, lower: SpawnFeatures) {
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
function openSchedules({ ctx, history_ms }: Foundation, lower: AskFeatures) {
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

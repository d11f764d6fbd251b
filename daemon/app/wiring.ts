/** How each room is opened: what it needs of the house, and which neighbour meets that. */

import { DAY_MS } from "kit/core/duration.ts";
import * as z from "zod";
import { type Call, client } from "kit/http/client.ts";
import type { Daemon } from "./daemon.ts";
import { Agents } from "../features/hooks/agents.ts";
import { Asks } from "../features/asks/asks.ts";
import { Approvals } from "../features/asks/questions/approvals.ts";
import { Questions } from "../features/asks/questions/questions.ts";
import { Attachments } from "../features/messages/attachments/attachments.ts";
import { Router } from "../features/asks/routing/router.ts";
import { Dispatcher } from "../features/messages/dispatch/dispatcher.ts";
import { Delivery } from "../features/messages/delivery.ts";
import { Leases } from "../features/messages/leases.ts";
import { Messages } from "../features/messages/log/message_log.ts";
import * as askRows from "../features/asks/store.ts";
import { idsIn } from "../features/messages/dispatch/framing.ts";
import { toOutgoing } from "../features/messages/dispatch/outgoing_cache.ts";
import * as ledger from "../features/messages/ledger/ledger.ts";
import { firstQueued } from "../features/messages/ledger/queued.ts";
import { Limits } from "../features/messages/limits/limits.ts";
import * as load from "../features/asks/routing/load.ts";
import { Notifications } from "../features/notifications/notifications.ts";
import { Steps } from "../features/messages/ledger/steps.ts";
import { Inbox } from "../features/inbox/inbox.ts";
import { attemptIdsIn } from "./jobs_wiring.ts";
import { Surfaces } from "../features/inbox/surfaces.ts";
import type { CallEvidence } from "../features/agents/adapter.ts";
import { identifyByHeaders } from "../api/mcp/identify.ts";
import type { Mcp } from "../api/mcp/mcp.ts";
import { mustMatchPeer } from "../features/peers/certificates.ts";
import { Peer } from "../features/peers/contract.ts";
import { Directory } from "../features/peers/directory.ts";
import { Peers } from "../features/peers/peers.ts";
import * as peerRows from "../features/peers/store.ts";
import { expectedRegistrationOf, peerOfPrompt } from "./spawn_wiring.ts";

/** How far above a tool's process its agent is looked for. */
const ANCESTORS_MAX = 16;

export function openDirectory(house: Daemon): Directory {
  const { db } = house.ctx;
  const options = {
    daemon_id: house.identity.daemon_id,
    machine: house.platform.machine,
    description_ttl_ms: house.config["daemon.description_ttl_seconds"] * 1000,
  };
  return new Directory(house.ctx, options, {
    transport: (peer_id) => {
      if (house.sockets.isCarrying(peer_id)) return "websocket";
      const addressee = house.directory.addressee(peer_id);
      return addressee ? house.agents.transport(addressee) : "none";
    },
    hasSocket: (peer_id) => house.sockets.getSession(peer_id) !== undefined,
    isDegraded: ({ backend }, transport) => house.agents.degraded(backend, transport) !== undefined,
    blockedReason: (peer_id) => firstQueued(db, peer_id)?.reason ?? null,
    pending: (peer_id) => askRows.pendingOf(db, peer_id),
    pendingOfAll: () => new Map(askRows.pendingOfAll(db).map((one) => [one.to_peer_id, one])),
  });
}

export function openPeers(house: Daemon): Peers {
  return new Peers(house.ctx, {
    directory: house.directory,
    processes: house.platform.processes,
    machine: house.platform.machine,
    superseded: house.superseded,
    reactions: {
      unreachable: ({ peer_id }, why) => {
        house.jobs.unreachable(peer_id, why);
        const dropped_deliveries = house.delivery.dropQueue(peer_id, why);
        return { dropped_deliveries, closed_asks: house.asks.closeAllTo(peer_id, why) };
      },
      promptSeen: (peer_id, prompt) => {
        const ids = idsIn(prompt);
        house.delivery.prove(peer_id, ids);
        house.jobs.promptSeen(peer_id, attemptIdsIn(prompt, ids));
      },
      finalMessageSeen: (peer_id, last_message) =>
        house.jobs.finalMessageSeen(peer_id, last_message),
      processProven: (process) => house.agent_processes.remember(process),
      availabilityChanged: (peer_id) => {
        house.sockets.resume(peer_id);
        house.dispatcher.wake(peer_id);
      },
      wentOffline: (peer_id) => house.sockets.suspend(peer_id),
      recordUpdated: (peer_id) => {
        const session = house.sockets.getSession(peer_id);
        if (!session || !house.directory.isRegistered(peer_id)) return;
        const peer = z.encode(Peer, house.directory.record(peer_id));
        session.send({ type: "peer_update", peer_id, peer });
      },
      closeSocket: (peer_id, why) => house.sockets.getSession(peer_id)?.close(why),
    },
    expectedRegistration: expectedRegistrationOf(house),
    isSuperseded: (peer_id, agent_pid) => house.restarts.isSuperseded(peer_id, agent_pid),
  });
}

export function openDispatcher(house: Daemon, steps: Steps): Dispatcher {
  return new Dispatcher(house.ctx, steps, {
    lookup: {
      addressee: (peer_id) => house.directory.addressee(peer_id),
      transports: (peer, outgoing) => house.agents.transports(peer, outgoing),
    },
    isConnected: (peer_id) => house.sockets.getSession(peer_id) !== undefined,
    recordDelivery: (peer_id) => house.peers.recordDelivery(peer_id),
    canQueueFor: (peer_id) => {
      const found = peerRows.address(house.ctx.db, peer_id); // One that unregistered sleeps.
      return found !== undefined && found.status !== "retired" && Boolean(found.addressable);
    },
  });
}

export function openDelivery(house: Daemon, steps: Steps): Delivery {
  const limits = openLimits(house);
  const parts = { steps, sockets: house.sockets, dispatcher: house.dispatcher, limits };
  return new Delivery(house.ctx, parts, {
    idCodec: house.idCodec,
    queue: { ttl_ms: house.config["daemon.queue.ttl_seconds"] * 1000 },
    auditLookups: {
      canQueueFor: (peer_id) => {
        const found = peerRows.address(house.ctx.db, peer_id);
        return found !== undefined && found.status !== "retired" && Boolean(found.addressable);
      },
      human_id: () => house.directory.human()?.peer_id,
      isInInbox: (correlation_id) => house.inbox.hasAsk(correlation_id),
    },
    onUndeliverable: ({ correlation_id, reason }) => {
      if (correlation_id) house.asks.sendFailed(correlation_id, reason ?? "failed");
    },
    onItemReceipt: (surface, item_id, fields) => house.surfaces.receipt(surface, item_id, fields),
  });
}

function openLimits({ ctx, config, directory }: Daemon): Limits {
  const options = {
    max_per_peer: config["daemon.queue.max_per_peer"],
    hops: config["daemon.limits.hops"],
    pair_per_minute: config["daemon.limits.pair_per_minute"],
  };
  return new Limits(ctx, options, () => directory.human()?.peer_id);
}

export function openLeases(house: Daemon): Leases {
  return new Leases(house.ctx, house.delivery, {
    isAddressable: (peer_id) => Boolean(house.directory.resolve(peer_id).addressable),
    touch: (peer_id) => house.directory.touch(peer_id),
  });
}

export function openMessages(house: Daemon): Messages {
  return new Messages(house.ctx, {
    idCodec: house.idCodec,
    resolve: (argument) => house.directory.resolve(argument),
    retention: {
      history_ms: house.config["daemon.history_days"] * DAY_MS,
      messages_max: house.config["daemon.history_messages"],
    },
    shutdownSignal: house.shutdownSignal,
  });
}

export function openAttachments(house: Daemon): Attachments {
  const { config, shutdownSignal } = house;
  return new Attachments(house.ctx, {
    files: house.platform.files,
    limits: {
      file_bytes_max: config["daemon.attachments.file_bytes_max"],
      total_bytes_max: config["daemon.attachments.total_bytes_max"],
      ttl_ms: config["daemon.attachments.ttl_days"] * DAY_MS,
    },
    shutdownSignal,
  });
}

export function openSurfaces(house: Daemon): Surfaces {
  const { db } = house.ctx;
  return new Surfaces(house.ctx, {
    connectedSurfaces: () =>
      house.sockets.surfaces().flatMap(({ peer_id, identity: { surface } }) =>
        surface ? { ...surface, peer_id } : []
      ),
    write: (peer_id, message) => house.sockets.write(peer_id, message),
    address: (peer_id) => peerRows.address(db, peer_id),
    delivery: {
      offerAgain: (delivery_id, peer_id) => house.delivery.offerAgain(delivery_id, peer_id),
      send: (to, { item_id, from: name, from_peer_id: peer_id, correlation_id, text }, ttl_ms) => {
        const { message } = house.delivery.send({
          kind: "inbox_item",
          from: { peer_id, name },
          to,
          voice: "peer",
          circle: to.circle,
          item_id,
          correlation_id,
          text,
          ttl_ms,
        });
        return message.delivery_id;
      },
    },
  });
}

export function openInbox(house: Daemon): Inbox {
  const { db } = house.ctx;
  return new Inbox(house.ctx, {
    mustHuman: () => house.directory.mustHuman(),
    offer: (item, message) => house.surfaces.offer(item, message),
    history_ms: house.config["daemon.history_days"] * DAY_MS,
    ask: (correlation_id) => askRows.ask(db, correlation_id),
    ack: (correlation_id, fields, by) => {
      const from_peer = house.directory.mustHuman().peer_id;
      house.asks.ack({ correlation_id, from_peer, ...fields }, by);
    },
    answer: (correlation_id, fields, by) => {
      const from_peer = house.directory.mustHuman().peer_id;
      house.questions.refuseAgents(correlation_id, () => !by.proven_human);
      house.questions.answer({ correlation_id, from_peer, ...fields }, by);
    },
    openAsk: (to_peer, { text, attachments, origin }, reply_to, by) => {
      const from_peer = house.directory.mustHuman().peer_id;
      const draft = { from_peer, to_peer, text, attachments, reply_delivery: "push" as const };
      const references = { ...(reply_to && { reply_to }), ...(origin && { origin }) };
      const { ticket } = house.asks.open({ ...draft, ...references }, by);
      return ticket?.message.correlation_id ?? "";
    },
  });
}

export function openAsks(house: Daemon): Asks {
  const { db } = house.ctx;
  return new Asks(house.ctx, {
    directory: house.directory,
    delivery: house.delivery,
    human: house.inbox,
    attach: (ids) => house.attachments.attach(ids),
    address: (peer_id) => peerRows.address(db, peer_id),
    ask_ttl_ms: house.config["daemon.ask_ttl_hours"] * 3_600_000,
    ledger: {
      ask: (correlation_id) => askRows.ask(db, correlation_id),
      openTo: (peer_id) => askRows.openTo(db, peer_id),
      openFrom: (sender) => askRows.openFrom(db, sender),
      stale: (before, human_id, limit) => askRows.stale(db, { before, human_id, limit }),
      close: (closed, at) => db.transact((tx) => ledger.closeAsk(tx, closed, at)),
      pull: (correlation_id) => db.transact((tx) => ledger.setPull(tx, correlation_id)),
      page: (filter) => askRows.page(db, filter),
      threads: (of) => askRows.threads(db, of),
    },
  });
}

export function openQuestions(house: Daemon): Questions {
  return new Questions(house.ctx, {
    asks: house.asks,
    directory: house.directory,
    delivery: house.delivery,
    human: house.inbox,
    address: (peer_id) => peerRows.address(house.ctx.db, peer_id),
    attach: (ids) => house.attachments.attach(ids),
    wait_ms_max: house.config["approvals.timeout_seconds"] * 1000,
    shutdownSignal: house.shutdownSignal,
  });
}

/** Under `routing.strategy: static` there is none. */
export function openRouter(house: Daemon): Router | undefined {
  const { config, ctx: { clock, db } } = house;
  const strategy = config["routing.strategy"];
  if (strategy === "static") return undefined;
  const deps = {
    asks: house.asks,
    directory: house.directory,
    shutdownSignal: house.shutdownSignal,
    liveCandidates: () => {
      const open = load.openCountByPeer(db),
        closed = load.lastClosedAtByPeer(db),
        now = clock.now();
      return peerRows.livePeers(db).filter(({ addressable, initiator }) =>
        addressable && initiator !== "system"
      ).map((peer) => ({
        peer_id: peer.peer_id,
        name: peer.name,
        circle: peer.circle,
        backend: peer.backend,
        role: peer.role,
        status: peer.status,
        turn_state: peer.turn_state,
        path: peer.path,
        description: peer.description,
        description_age_seconds: peer.described_at && (now - peer.described_at) / 1000,
        open_asks: open.get(peer.peer_id) ?? 0,
        last_closed_at: closed.get(peer.peer_id) ?? null,
      }));
    },
    recentReplies: () => load.lastReplies(db),
  };
  return new Router(house.ctx, deps, {
    strategy,
    min_confidence: config["routing.min_confidence"],
    allow_service_targets: config["routing.allow_service_targets"],
    endpoint: config["routing.webhook"],
    description_ttl_seconds: config["daemon.description_ttl_seconds"],
  });
}

export function openNotifications(house: Daemon): Notifications {
  return new Notifications(house.ctx, house.delivery, {
    directory: house.directory,
    addToInbox: (message) => house.inbox.add(message),
    attach: (ids) => house.attachments.attach(ids),
  });
}

export function openAgents(house: Daemon): Agents {
  return new Agents(house.ctx, {
    adapters: house.platform.adapters(),
    hooks: house.platform.hooks,
    knownFailures: house.platform.knownFailures,
    peers: {
      register: (registration, entrance) => house.peers.register(registration, entrance),
      turn: (peer_id, turn) => house.peers.reportTurn(peer_id, turn),
      offline: (peer_id, cause) => house.peers.offline(peer_id, cause),
      peerOfPrompt: (peer_id, prompt) => peerOfPrompt(house, peer_id, prompt),
      findBySession: (session_id) => house.directory.findBySession(session_id),
      reachableAgents: () => house.directory.reachableAgents(),
      unobservedAgents: () => house.directory.unobservedAgents(),
      markSeen: (peer_id, transport) => house.peers.markSeen(peer_id, transport),
      applyObservation: (peer, seen) => house.peers.applyObservation(peer, seen),
    },
    delivery: house.delivery,
    wake: (peer_id) => house.dispatcher.wake(peer_id),
    shutdownSignal: house.shutdownSignal,
    outgoing: toOutgoing,
    approvals: openApprovals(house),
  });
}

function openApprovals({ ctx, config, questions, shutdownSignal }: Daemon): Approvals {
  const options = {
    gated_tools: config["approvals.gated_tools"],
    timeout_seconds: config["approvals.timeout_seconds"],
  };
  return new Approvals(ctx, options, {
    askBlocking: (body, request) => questions.askBlocking(body, request),
    nameOf: (peer_id) => peerRows.address(ctx.db, peer_id)?.name ?? peer_id,
    shutdownSignal,
  });
}

export async function openMcp(house: Daemon): Promise<Mcp> {
  const { Mcp } = await import("../api/mcp/mcp.ts");
  return new Mcp({
    call: (contract, input) => house.call(contract, input),
    allow_admin_tools: house.config["daemon.mcp.allow_admin_tools"],
    onError: (error) => house.ctx.log.error("A tool failed", { error }),
    identify: identifyByHeaders({
      peerOfCall: (evidence) => Promise.resolve(peerOfCall(house, evidence)),
      identifiesCalls: (backend) => house.agents.identifiesCalls(backend),
      peerOfProcess: (pid) => Promise.resolve(peerOfProcess(house, pid)),
      peerOfCertificate: async (peer_id, certificate) => {
        const claims = await house.certificates.verify(certificate);
        const peer = peerRows.get(house.ctx.db, peer_id);
        if (claims.peer_id !== peer_id || !peer || peer.status === "retired") return undefined;
        mustMatchPeer(claims, peer);
        return house.directory.find(peer_id);
      },
    }),
  });
}

/**
 * The peer of the session that a call proves to come from; `peer` undefined for an unknown one. A
 * session whose process runs speaks through that, so that no other agent of its kind is believed.
 */
function peerOfCall(house: Daemon, evidence: CallEvidence) {
  const session = house.agents.sessionOfCall(evidence);
  if (session === undefined) return undefined;
  const [found] = peerRows.bySession(house.ctx.db, session);
  const { agent_pid = null, agent_started = null } = found ?? {};
  const { processes } = house.platform;
  const isRunning = agent_pid !== null && agent_started !== null &&
    processes.isAlive(agent_pid, agent_started);
  const isElsewhere = isRunning &&
    !ancestorsOf(house, evidence.pid).some(({ pid }) => pid === agent_pid);
  return { peer: isElsewhere ? undefined : house.directory.findBySession(session) };
}

/** The peer whose agent is this process, or started it. */
function peerOfProcess(house: Daemon, pid: number) {
  return house.directory.findByProcesses(ancestorsOf(house, pid));
}

/** A process and those above it, as far as they are told. */
function ancestorsOf({ platform }: Daemon, pid: number | undefined) {
  const { startTimeOf, parentOf } = platform.processes;
  const ancestors: { pid: number; started: string }[] = [];
  for (let at = pid; at && ancestors.length < ANCESTORS_MAX; at = parentOf(at)) {
    const started = startTimeOf(at);
    if (started) ancestors.push({ pid: at, started });
  }
  return ancestors;
}

export function openCall(house: Daemon): Call {
  const token = house.config["daemon.auth_token"]?.reveal();
  const headers = token ? { authorization: `Bearer ${token}` } : undefined;
  return (contract, input) => {
    const base = `http://127.0.0.1:${house.port ?? house.config["daemon.port"]}`;
    return client(base, (request) => house.fetch(request), headers)(contract, input);
  };
}

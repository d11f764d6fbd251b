/** How each room is opened: what it needs of the house, and which neighbour meets that. */

import * as z from "zod";
import { type Call, client } from "kit/http/client.ts";
import type { Daemon } from "./daemon.ts";
import { Agents } from "../features/hooks/agents.ts";
import { Asks } from "../features/asks/asks.ts";
import { Approvals } from "../features/asks/questions/approvals.ts";
import { Questions } from "../features/asks/questions/questions.ts";
import { Attachments } from "../features/messages/attachments/attachments.ts";
import { Router } from "../features/asks/routing/router.ts";
import { Courier } from "../features/messages/dispatch/dispatcher.ts";
import { Delivery } from "../features/messages/delivery.ts";
import { Drains } from "../features/messages/leases.ts";
import { Messages } from "../features/messages/log/message_log.ts";
import * as askRows from "../features/asks/store.ts";
import { idsIn } from "../features/messages/dispatch/framing.ts";
import { toParcel } from "../features/messages/dispatch/outgoing.ts";
import * as ledger from "../features/messages/ledger/ledger.ts";
import { firstWaiting } from "../features/messages/ledger/waiting.ts";
import { Limits } from "../features/messages/limits/limits.ts";
import * as load from "../features/asks/routing/load.ts";
import { Notes } from "../features/notifications/notifications.ts";
import { Steps } from "../features/messages/ledger/steps.ts";
import { Inbox } from "../features/inbox/inbox.ts";
import { firesIn } from "./jobs_wiring.ts";
import { Surfaces } from "../features/inbox/surfaces.ts";
import type { CallSigns } from "../features/agents/adapter.ts";
import { identifyByHeaders } from "../api/mcp/identify.ts";
import type { Mcp } from "../api/mcp/mcp.ts";
import { refuseMoved } from "../features/peers/certificate.ts";
import { Peer } from "../features/peers/contract.ts";
import { Directory } from "../features/peers/directory.ts";
import { Peers } from "../features/peers/peers.ts";
import * as peerRows from "../features/peers/store.ts";
import { awaitedBy, typedInto } from "./spawn_wiring.ts";

/** How far above a tool's process its agent is looked for. */
const GENERATIONS_MAX = 16;
const DAY_MS = 86_400_000;

export function openDirectory(house: Daemon): Directory {
  const { db } = house.ground;
  const options = {
    daemon_id: house.identity.daemon_id,
    machine: house.outside.machine,
    description_ttl_ms: house.config["daemon.description_ttl_seconds"] * 1000,
  };
  return new Directory(house.ground, options, {
    transport: (peer_id) => {
      if (house.sockets.carries(peer_id)) return "websocket";
      const addressee = house.directory.addressee(peer_id);
      return addressee ? house.agents.transport(addressee) : "none";
    },
    socket: (peer_id) => house.sockets.of(peer_id) !== undefined,
    degraded: ({ backend }, transport) => house.agents.degraded(backend, transport) !== undefined,
    blocked: (peer_id) => firstWaiting(db, peer_id)?.reason ?? null,
    pending: (peer_id) => askRows.pendingOf(db, peer_id),
    pendingOfAll: () => new Map(askRows.pendingOfAll(db).map((one) => [one.to_peer_id, one])),
  });
}

export function openPeers(house: Daemon): Peers {
  return new Peers(house.ground, {
    directory: house.directory,
    processes: house.outside.processes,
    machine: house.outside.machine,
    replaced: house.replaced,
    reactions: {
      unreachable: ({ peer_id }, why) => {
        house.jobs.unreachable(peer_id, why);
        const dropped_deliveries = house.delivery.dropQueue(peer_id, why);
        return { dropped_deliveries, closed_asks: house.asks.closeAllTo(peer_id, why) };
      },
      prompted: (peer_id, prompt) => {
        const ids = idsIn(prompt);
        house.delivery.prove(peer_id, ids);
        house.jobs.prompted(peer_id, firesIn(prompt, ids));
      },
      answered: (peer_id, last_message) => house.jobs.answered(peer_id, last_message),
      proved: (process) => house.agent_processes.remember(process),
      changed: (peer_id) => {
        house.sockets.release(peer_id);
        house.courier.wake(peer_id);
      },
      lost: (peer_id) => house.sockets.hold(peer_id),
      updated: (peer_id) => {
        const session = house.sockets.of(peer_id);
        if (!session || !house.directory.isOpen(peer_id)) return;
        const peer = z.encode(Peer, house.directory.record(peer_id));
        session.send({ type: "peer_update", peer_id, peer });
      },
      sever: (peer_id, why) => house.sockets.of(peer_id)?.end(why),
    },
    awaited: awaitedBy(house),
    isReplaced: (peer_id, agent_pid) => house.restarts.isReplaced(peer_id, agent_pid),
  });
}

export function openCourier(house: Daemon, steps: Steps): Courier {
  return new Courier(house.ground, steps, {
    ladder: {
      addressee: (peer_id) => house.directory.addressee(peer_id),
      rungs: (peer, parcel) => house.agents.rungs(peer, parcel),
    },
    connected: (peer_id) => house.sockets.of(peer_id) !== undefined,
    delivered: (peer_id) => house.peers.delivered(peer_id),
    mayWait: (peer_id) => {
      const found = peerRows.address(house.ground.db, peer_id); // One that unregistered sleeps.
      return found !== undefined && found.status !== "retired" && Boolean(found.addressable);
    },
  });
}

export function openDelivery(house: Daemon, steps: Steps): Delivery {
  const limits = openLimits(house);
  const parts = { steps, sockets: house.sockets, courier: house.courier, limits };
  return new Delivery(house.ground, parts, {
    numbers: house.numbers,
    queue: { ttl_ms: house.config["daemon.queue.ttl_seconds"] * 1000 },
    neighbours: {
      mayWait: (peer_id) => {
        const found = peerRows.address(house.ground.db, peer_id);
        return found !== undefined && found.status !== "retired" && Boolean(found.addressable);
      },
      human_id: () => house.directory.human()?.peer_id,
      inInbox: (correlation_id) => house.inbox.holds(correlation_id),
    },
    undeliverable: ({ correlation_id, reason }) => {
      if (correlation_id) house.asks.sendFailed(correlation_id, reason ?? "failed");
    },
    rendered: (surface, item_id, said) => house.surfaces.receipt(surface, item_id, said),
  });
}

function openLimits({ ground, config, directory }: Daemon): Limits {
  const options = {
    max_per_peer: config["daemon.queue.max_per_peer"],
    hops: config["daemon.limits.hops"],
    pair_per_minute: config["daemon.limits.pair_per_minute"],
  };
  return new Limits(ground, options, () => directory.human()?.peer_id);
}

export function openDrains(house: Daemon): Drains {
  return new Drains(house.ground, house.delivery, {
    addressable: (peer_id) => Boolean(house.directory.resolve(peer_id).addressable),
    touch: (peer_id) => house.directory.touch(peer_id),
  });
}

export function openMessages(house: Daemon): Messages {
  return new Messages(house.ground, {
    numbers: house.numbers,
    resolve: (argument) => house.directory.resolve(argument),
    retention: {
      history_ms: house.config["daemon.history_days"] * DAY_MS,
      messages_max: house.config["daemon.history_messages"],
    },
    ending: house.ending,
  });
}

export function openAttachments(house: Daemon): Attachments {
  const { config, ending } = house;
  return new Attachments(house.ground, {
    files: house.outside.files,
    limits: {
      file_bytes_max: config["daemon.attachments.file_bytes_max"],
      total_bytes_max: config["daemon.attachments.total_bytes_max"],
      ttl_ms: config["daemon.attachments.ttl_days"] * DAY_MS,
    },
    ending,
  });
}

export function openSurfaces(house: Daemon): Surfaces {
  const { db } = house.ground;
  return new Surfaces(house.ground, {
    screens: () =>
      house.sockets.surfaces().flatMap(({ peer_id, identity: { surface } }) =>
        surface ? { ...surface, peer_id } : []
      ),
    write: (peer_id, message) => house.sockets.write(peer_id, message),
    address: (peer_id) => peerRows.address(db, peer_id),
    post: {
      again: (delivery_id, peer_id) => house.delivery.again(delivery_id, peer_id),
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
  const { db } = house.ground;
  return new Inbox(house.ground, {
    mustHuman: () => house.directory.mustHuman(),
    offer: (item, message) => house.surfaces.offer(item, message),
    history_ms: house.config["daemon.history_days"] * DAY_MS,
    ask: (correlation_id) => askRows.ask(db, correlation_id),
    ack: (correlation_id, said, by) => {
      const from_peer = house.directory.mustHuman().peer_id;
      house.asks.ack({ correlation_id, from_peer, ...said }, by);
    },
    answer: (correlation_id, said, by) => {
      const from_peer = house.directory.mustHuman().peer_id;
      house.questions.refuseAgents(correlation_id, () => !by.proven_human);
      house.questions.answer({ correlation_id, from_peer, ...said }, by);
    },
    openAsk: (to_peer, { text, attachments, origin }, reply_to, by) => {
      const from_peer = house.directory.mustHuman().peer_id;
      const asked = { from_peer, to_peer, text, attachments, reply_delivery: "push" as const };
      const about = { ...(reply_to && { reply_to }), ...(origin && { origin }) };
      const { ticket } = house.asks.open({ ...asked, ...about }, by);
      return ticket?.message.correlation_id ?? "";
    },
  });
}

export function openAsks(house: Daemon): Asks {
  const { db } = house.ground;
  return new Asks(house.ground, {
    directory: house.directory,
    post: house.delivery,
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
      pull: (correlation_id) => db.transact((tx) => ledger.pull(tx, correlation_id)),
      page: (filter) => askRows.page(db, filter),
      threads: (of) => askRows.threads(db, of),
    },
  });
}

export function openQuestions(house: Daemon): Questions {
  return new Questions(house.ground, {
    asks: house.asks,
    directory: house.directory,
    post: house.delivery,
    human: house.inbox,
    address: (peer_id) => peerRows.address(house.ground.db, peer_id),
    attach: (ids) => house.attachments.attach(ids),
    hold_ms_max: house.config["approvals.timeout_seconds"] * 1000,
    ending: house.ending,
  });
}

/** Under `routing.strategy: static` there is none. */
export function openRouter(house: Daemon): Router | undefined {
  const { config, ground: { clock, db } } = house;
  const arm = config["routing.strategy"];
  if (arm === "static") return undefined;
  const needs = {
    asks: house.asks,
    directory: house.directory,
    ending: house.ending,
    live: () => {
      const open = load.openByPeer(db), closed = load.lastClosed(db), now = clock.now();
      return peerRows.alive(db).filter(({ addressable, initiator }) =>
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
    answers: () => load.lastReplies(db),
  };
  return new Router(house.ground, needs, {
    arm,
    min_confidence: config["routing.min_confidence"],
    allow_service_targets: config["routing.allow_service_targets"],
    endpoint: config["routing.webhook"],
    description_ttl_seconds: config["daemon.description_ttl_seconds"],
  });
}

export function openNotes(house: Daemon): Notes {
  return new Notes(house.ground, house.delivery, {
    directory: house.directory,
    take: (message) => house.inbox.take(message),
    attach: (ids) => house.attachments.attach(ids),
  });
}

export function openAgents(house: Daemon): Agents {
  return new Agents(house.ground, {
    adapters: house.outside.adapters(),
    hooks: house.outside.hooks,
    marks: house.outside.marks,
    peers: {
      register: (registration, entrance) => house.peers.register(registration, entrance),
      turn: (peer_id, turn) => house.peers.turn(peer_id, turn),
      offline: (peer_id, cause) => house.peers.offline(peer_id, cause),
      typedInto: (peer_id, prompt) => typedInto(house, peer_id, prompt),
      ofSession: (session_id) => house.directory.ofSession(session_id),
      addressees: () => house.directory.addressees(),
      unseen: () => house.directory.unseen(),
      sighted: (peer_id, transport) => house.peers.sighted(peer_id, transport),
      observed: (peer, seen) => house.peers.observed(peer, seen),
    },
    delivery: house.delivery,
    wake: (peer_id) => house.courier.wake(peer_id),
    ending: house.ending,
    parcel: toParcel,
    approvals: openApprovals(house),
  });
}

function openApprovals({ ground, config, questions, ending }: Daemon): Approvals {
  const options = {
    gated_tools: config["approvals.gated_tools"],
    timeout_seconds: config["approvals.timeout_seconds"],
  };
  return new Approvals(ground, options, {
    askBlocking: (body, line) => questions.askBlocking(body, line),
    nameOf: (peer_id) => peerRows.address(ground.db, peer_id)?.name ?? peer_id,
    ending,
  });
}

export async function openMcp(house: Daemon): Promise<Mcp> {
  const { Mcp } = await import("../api/mcp/mcp.ts");
  return new Mcp({
    call: (contract, given) => house.call(contract, given),
    allow_admin_tools: house.config["daemon.mcp.allow_admin_tools"],
    fault: (fault) => house.ground.log.error("A tool failed", { fault }),
    identify: identifyByHeaders({
      peerOfCall: (signs) => Promise.resolve(peerOfCall(house, signs)),
      speaksFor: (backend) => house.agents.speaksFor(backend),
      peerOfProcess: (pid) => Promise.resolve(peerOfProcess(house, pid)),
      peerOfCertificate: async (peer_id, certificate) => {
        const claims = await house.registry.check(certificate);
        const peer = peerRows.get(house.ground.db, peer_id);
        if (claims.peer_id !== peer_id || !peer || peer.status === "retired") return undefined;
        refuseMoved(claims, peer);
        return house.directory.find(peer_id);
      },
    }),
  });
}

/**
 * The peer of the session that a call proves to come from; `peer` undefined for an unknown one. A
 * session whose process runs speaks through that, so that no other agent of its kind is believed.
 */
function peerOfCall(house: Daemon, signs: CallSigns) {
  const session = house.agents.callingSession(signs);
  if (session === undefined) return undefined;
  const [found] = peerRows.bySession(house.ground.db, session);
  const { agent_pid = null, agent_started = null } = found ?? {};
  const { processes } = house.outside;
  const runs = agent_pid !== null && agent_started !== null &&
    processes.isAlive(agent_pid, agent_started);
  const elsewhere = runs && !lineOf(house, signs.pid).some(({ pid }) => pid === agent_pid);
  return { peer: elsewhere ? undefined : house.directory.ofSession(session) };
}

/** The peer whose agent is this process, or started it. */
function peerOfProcess(house: Daemon, pid: number) {
  return house.directory.ofProcesses(lineOf(house, pid));
}

/** A process and those above it, as far as they are told. */
function lineOf({ outside }: Daemon, pid: number | undefined) {
  const { startOf, parentOf } = outside.processes;
  const line: { pid: number; started: string }[] = [];
  for (let at = pid; at && line.length < GENERATIONS_MAX; at = parentOf(at)) {
    const started = startOf(at);
    if (started) line.push({ pid: at, started });
  }
  return line;
}

export function openCall(house: Daemon): Call {
  const token = house.config["daemon.auth_token"]?.reveal();
  const headers = token ? { authorization: `Bearer ${token}` } : undefined;
  return (contract, given) => {
    const base = `http://127.0.0.1:${house.port ?? house.config["daemon.port"]}`;
    return client(base, (request) => house.fetch(request), headers)(contract, given);
  };
}

/** How each room is opened: what it needs of the house, and which neighbour meets that. */

import { type Call, client } from "kit/client.ts";
import type { Daemon } from "./app.ts";
import { Agents } from "./agents/agents.ts";
import { Asks } from "./asks/asks.ts";
import { Courier } from "./delivery/ladder/courier.ts";
import { Delivery } from "./delivery/delivery.ts";
import { Drains } from "./delivery/drains.ts";
import { frame } from "./delivery/ladder/framing.ts";
import * as ledger from "./delivery/ledger/ledger.ts";
import { Notes } from "./delivery/notes.ts";
import { Steps } from "./delivery/ledger/steps.ts";
import { Gate } from "./door.ts";
import { Inbox } from "./inbox/inbox.ts";
import { identifyByHeaders } from "./mcp/identify.ts";
import type { Mcp } from "./mcp/mcp.ts";
import { Directory } from "./peers/directory.ts";
import { Peers } from "./peers/peers.ts";
import * as peerRows from "./peers/store.ts";

/** How far above a tool's process its agent is looked for. */
const GENERATIONS_MAX = 16;

export function openDirectory(house: Daemon): Directory {
  const { db } = house.ground;
  const options = {
    daemon_id: house.identity.daemon_id,
    description_ttl_ms: house.config["daemon.description_ttl_seconds"] * 1000,
  };
  return new Directory(house.ground, options, {
    transport: (peer_id) => {
      if (house.sockets.of(peer_id)) return "websocket";
      const addressee = house.peers.addressee(peer_id);
      return addressee ? house.agents.transport(addressee) : "none";
    },
    socket: (peer_id) => house.sockets.of(peer_id) !== undefined,
    blocked: (peer_id) => house.delivery.waiting(peer_id, 1)[0]?.reason ?? null,
    pending: (peer_id) => ledger.pendingOf(db, peer_id),
  });
}

export function openPeers(house: Daemon): Peers {
  return new Peers(house.ground, {
    directory: house.directory,
    processes: house.outside.processes,
    machine: house.outside.machine,
    reactions: {
      unreachable: ({ peer_id }, why) => {
        const dropped_deliveries = house.delivery.dropQueue(peer_id, why);
        return { dropped_deliveries, closed_asks: house.asks.closeAllTo(peer_id, why) };
      },
      prompted: (peer_id, prompt) => void house.delivery.prove(peer_id, prompt),
      changed: (peer_id) => house.courier.wake(peer_id),
      sever: (peer_id, why) => house.sockets.of(peer_id)?.end(why),
    },
  });
}

export function openCourier(house: Daemon, steps: Steps): Courier {
  return new Courier(house.ground, steps, {
    ladder: {
      addressee: (peer_id) => house.peers.addressee(peer_id),
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
  const parts = { steps, sockets: house.sockets, courier: house.courier };
  return new Delivery(house.ground, parts, {
    numbers: house.numbers,
    queue: {
      ttl_ms: house.config["daemon.queue.ttl_seconds"] * 1000,
      max_per_peer: house.config["daemon.queue.max_per_peer"],
    },
    undeliverable: ({ correlation_id, reason }) => {
      if (correlation_id) house.asks.sendFailed(correlation_id, reason ?? "failed");
    },
  });
}

export function openDrains(house: Daemon): Drains {
  return new Drains(house.ground, house.delivery, {
    addressable: (peer_id) => Boolean(house.directory.resolve(peer_id).addressable),
    touch: (peer_id) => house.directory.touch(peer_id),
  });
}

export function openInbox(house: Daemon): Inbox {
  const { db } = house.ground;
  return new Inbox(house.ground, {
    mustHuman: () => house.directory.mustHuman(),
    surfaces: () => house.surfaces(),
    ask: (correlation_id) => ledger.ask(db, correlation_id),
    answer: (correlation_id, message) => {
      const from_peer = house.directory.mustHuman().peer_id;
      house.asks.ack({ correlation_id, message, from_peer }, { proven_human: true });
    },
    openAsk: (to_peer, text, reply_to) => {
      const from_peer = house.directory.mustHuman().peer_id;
      const asked = { from_peer, to_peer, text, reply_delivery: "push" as const };
      const manner = { proven_human: true };
      const { ticket } = house.asks.open({ ...asked, ...(reply_to && { reply_to }) }, manner);
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
    address: (peer_id) => peerRows.address(db, peer_id),
    ask_ttl_ms: house.config["daemon.ask_ttl_hours"] * 3_600_000,
    ledger: {
      ask: (correlation_id) => ledger.ask(db, correlation_id),
      openTo: (peer_id) => ledger.openTo(db, peer_id),
      openFrom: (sender) => ledger.openFrom(db, sender),
      stale: (before, human_id, limit) => ledger.stale(db, { before, human_id, limit }),
      close: (closed, at) => ledger.closeAsk(db, closed, at),
      pull: (correlation_id) => ledger.pull(db, correlation_id),
      page: (filter) => ledger.asks(db, filter),
    },
  });
}

export function openNotes(house: Daemon): Notes {
  return new Notes(house.ground, house.delivery, {
    directory: house.directory,
    take: (message) => house.inbox.take(message),
  });
}

export function openAgents(house: Daemon): Agents {
  return new Agents(house.ground, {
    adapters: house.outside.adapters(),
    hooks: house.outside.hooks,
    peers: {
      register: (registration) => house.peers.register(registration),
      turn: (peer_id, turn) => house.peers.turn(peer_id, turn),
      offline: (peer_id, cause) => house.peers.offline(peer_id, cause),
      ofSession: (session_id) => house.directory.ofSession(session_id),
      addressees: () => house.peers.addressees(),
      observed: (peer_id, turn_state) => house.peers.observed(peer_id, turn_state),
    },
    delivery: house.delivery,
    frame,
  });
}

export async function openMcp(house: Daemon): Promise<Mcp> {
  const { Mcp } = await import("./mcp/mcp.ts");
  return new Mcp({
    call: (contract, given) => house.call(contract, given),
    fault: (fault) => house.ground.log.error("A tool failed", { fault }),
    identify: identifyByHeaders({
      peerOfProcess: (pid) => Promise.resolve(peerOfProcess(house, pid)),
      peerOfCertificate: async (peer_id, certificate) => {
        const claims = await house.registry.check(certificate);
        return claims.peer_id === peer_id ? house.directory.find(peer_id) : undefined;
      },
    }),
  });
}

/** The peer whose agent is this process, or started it. */
function peerOfProcess(house: Daemon, pid: number) {
  const { startOf, parentOf } = house.outside.processes;
  const line: { pid: number; started: string }[] = [];
  for (let at: number | undefined = pid; at && line.length < GENERATIONS_MAX; at = parentOf(at)) {
    const started = startOf(at);
    if (started) line.push({ pid: at, started });
  }
  return house.directory.ofProcesses(line);
}

export function openGate(house: Daemon): Gate {
  return new Gate({
    host: house.config["daemon.host"],
    allowed_hosts: house.config["daemon.allowed_hosts"],
    auth_token: house.config["daemon.auth_token"]?.reveal(),
    port: () => house.port,
  });
}

export function openCall(house: Daemon): Call {
  const token = house.config["daemon.auth_token"]?.reveal();
  const headers = token ? { authorization: `Bearer ${token}` } : undefined;
  return (contract, given) => {
    const base = `http://127.0.0.1:${house.port ?? house.config["daemon.port"]}`;
    return client(base, (request) => house.fetch(request), headers)(contract, given);
  };
}

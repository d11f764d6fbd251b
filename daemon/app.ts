/** The composition root: the one place that knows every room. */

import { type Call, client } from "kit/client.ts";
import type { Clock, Ids } from "kit/clock.ts";
import { EventLog, type MeshEvent } from "kit/events.ts";
import type { Ground } from "kit/ground.ts";
import type { Log } from "kit/log.ts";
import { Problem } from "kit/problem.ts";
import { type Caller, serve } from "kit/route.ts";
import { Database } from "kit/sqlite.ts";
import type { Adapter, Hooks } from "./agents/contract.ts";
import { Agents } from "./agents/agents.ts";
import { Asks } from "./asks/asks.ts";
import type { Config } from "./config.ts";
import { Courier } from "./delivery/ladder/courier.ts";
import { Delivery } from "./delivery/delivery.ts";
import { Drains } from "./delivery/drains.ts";
import { frame } from "./delivery/ladder/framing.ts";
import * as ledger from "./delivery/ledger/ledger.ts";
import { Notes } from "./delivery/notes.ts";
import { Steps } from "./delivery/ledger/steps.ts";
import { Sockets } from "./delivery/ws/sockets.ts";
import { Gate } from "./door.ts";
import { Meters } from "./events/meters.ts";
import { type Identity, readIdentity } from "./identity.ts";
import { Inbox } from "./inbox/inbox.ts";
import { identifyByHeaders } from "./mcp/identify.ts";
import type { Mcp } from "./mcp/mcp.ts";
import { migrations } from "./migrations.ts";
import type { Numbers } from "./numbers.ts";
import type { Processes } from "./peers/admission.ts";
import { Registry } from "./peers/certificate.ts";
import { Directory } from "./peers/directory.ts";
import { Peers } from "./peers/peers.ts";
import * as peerRows from "./peers/store.ts";
import { routesOf } from "./routes.ts";

const BEAT_MS = 1000;
const DAY_MS = 86_400_000;
/** How far above a tool's process its agent is looked for. */
const GENERATIONS_MAX = 16;
/** Events that retention drops in one beat. */
const FORGET_ROWS_MAX = 500;

/** Everything outside of the daemon: production passes the real ones, tests their own. */
export interface Outside {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly machine: string;
  /** Ids of messages, by the daemon's own key. */
  numbers(key: string): Numbers;
  readonly processes: Processes & { parentOf(pid: number): number | undefined };
  readonly pid: number;
  adapters(): readonly Adapter[];
  readonly hooks: Hooks;
  /** Whether the request came from a person at a terminal (contract 2). */
  atTerminal(claim: { pid: number; remote: Deno.NetAddr; agents: readonly number[] }): boolean;
  /** The name of a pane's tmux session. */
  sessionOf(tmux_socket: string, pane_id: string): Promise<string | undefined>;
}

export class Daemon implements AsyncDisposable {
  readonly config: Config;
  readonly outside: Outside;
  readonly ground: Ground;
  readonly identity: Identity;
  readonly directory: Directory;
  readonly registry: Registry;
  readonly peers: Peers;
  readonly sockets: Sockets;
  readonly delivery: Delivery;
  readonly drains: Drains;
  readonly notes: Notes;
  readonly courier: Courier;
  readonly asks: Asks;
  readonly inbox: Inbox;
  readonly agents: Agents;
  readonly meters: Meters;
  readonly gate: Gate;
  readonly started_at: number;
  /** Answers a request; `remote` is the other end of its socket, where there is one. */
  readonly fetch: (request: Request, remote?: Deno.NetAddr) => Promise<Response>;
  /** Calls a contract in this very process, as the operator. */
  readonly call: Call;
  readonly #numbers: Numbers;
  readonly #ending = new AbortController();
  /** Aborts as the daemon goes down. */
  readonly ending = this.#ending.signal;
  #dashboards = 0;
  #mcp: Promise<Mcp> | undefined;
  /** The port that is listened on, once it is known. */
  port: number | undefined;

  constructor(config: Config, db_path: string, outside: Outside) {
    this.config = config;
    this.outside = outside;
    const { clock, ids, log } = outside;
    const db = new Database(db_path, migrations, log);
    const events = new EventLog(db, clock, log);
    this.ground = { db, events, clock, ids, log };
    this.started_at = clock.now();
    this.identity = readIdentity(db, ids);
    this.#numbers = outside.numbers(this.identity.number_key);
    db.define("seq_of", (ident) => this.#numbers.seq(String(ident)));
    this.registry = new Registry(this.identity.certificate_key, clock);
    this.meters = new Meters(() => this.#levels());
    this.directory = this.#openDirectory();
    this.peers = this.#openPeers();
    const steps = new Steps(this.ground, this.meters);
    this.sockets = new Sockets(this.ground, steps);
    this.courier = this.#openCourier(steps);
    this.delivery = this.#openDelivery(steps);
    this.drains = this.#openDrains();
    this.inbox = this.#openInbox();
    this.asks = this.#openAsks();
    this.notes = this.#openNotes();
    this.agents = this.#openAgents();
    this.gate = this.#openGate();
    this.fetch = serve(routesOf(this), {
      admit: (request) => {
        this.gate.admit(request);
        if (this.ending.aborted) throw new Problem("shutting_down", {});
      },
      authorize: (request, contract, remote) => this.gate.authorize(request, contract, remote),
      durable: () => db.durable(),
      fault: (fault) => log.error("A route failed", { fault }),
    });
    this.call = this.#openCall();
  }

  /** After a start: nothing is believed of the peers, and what was under way is looked at. */
  wakeUp(): void {
    const { db } = this.ground;
    db.transactNow(() => {
      this.peers.wakeUp();
      this.delivery.reconcile();
      const human = this.config["human.name"];
      if (human) this.peers.welcomeHuman(human, "/");
    });
  }

  /** Beats once a second until the daemon ends. */
  async run(): Promise<void> {
    const { clock, log } = this.ground;
    const signal = this.ending;
    for (let due = clock.now() + BEAT_MS; !signal.aborted; due += BEAT_MS) {
      await clock.sleep(Math.max(0, due - clock.now()), signal).catch(() => undefined);
      if (signal.aborted) return;
      this.meters.lagged(clock.now() - due);
      due = Math.max(due, clock.now() - BEAT_MS);
      try {
        this.beat();
      } catch (fault) {
        log.error("A beat failed", { fault });
      }
    }
  }

  /** What happens with time: who is gone, what is due, what is old. */
  beat(): void {
    const { clock, db, events } = this.ground;
    const now = clock.now();
    this.peers.beat(now);
    this.asks.beat(now);
    this.delivery.beat(now);
    this.agents.beat(now);
    events.forget(now - this.config["daemon.history_days"] * DAY_MS, FORGET_ROWS_MAX);
    db.checkpoint();
  }

  /** Takes no new work: what is accepted goes to the disk, those who wait and listen are told. */
  async goDown(): Promise<void> {
    this.ground.db.flush();
    this.#ending.abort();
    this.asks.dismiss();
    this.sockets.endAll();
    await this.courier.close();
    await (await this.#mcp)?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.goDown();
    this.ground.db[Symbol.dispose]();
  }

  /** Whether a request came through a door that only the human opens (contract 2). */
  provenHuman(caller: Caller, headers: Headers): boolean {
    if (caller.dashboard) return true;
    const pid = Number(headers.get("x-mesh-terminal") ?? NaN);
    if (!Number.isSafeInteger(pid) || !caller.remote) return false;
    const agents = peerRows.alive(this.ground.db).flatMap(({ agent_pid }) => agent_pid ?? []);
    return this.outside.atTerminal({ pid, remote: caller.remote, agents });
  }

  /** The tools for agents. Loaded when the first one calls: their SDK is a third of our memory. */
  mcp(): Promise<Mcp> {
    return this.#mcp ??= this.#openMcp();
  }

  /** A dashboard's stream, while it is open. */
  dashboard(): Disposable & { taken(event: MeshEvent): void } {
    this.#dashboards++;
    return {
      taken: (event) => {
        if (event.type === "inbox_item") this.inbox.shown(event.data.item_id, String(event.id));
      },
      [Symbol.dispose]: () => void this.#dashboards--,
    };
  }

  #levels() {
    return {
      peers: peerRows.count(this.ground.db),
      sockets: this.sockets.size,
      commits: this.ground.db.commits,
      queue: this.delivery.counts(),
    };
  }

  #openDirectory(): Directory {
    const { db } = this.ground;
    const options = {
      daemon_id: this.identity.daemon_id,
      description_ttl_ms: this.config["daemon.description_ttl_seconds"] * 1000,
    };
    return new Directory(this.ground, options, {
      transport: (peer_id) => {
        if (this.sockets.of(peer_id)) return "websocket";
        const addressee = this.peers.addressee(peer_id);
        return addressee ? this.agents.transport(addressee) : "none";
      },
      socket: (peer_id) => this.sockets.of(peer_id) !== undefined,
      blocked: (peer_id) => this.delivery.waiting(peer_id, 1)[0]?.reason ?? null,
      pending: (peer_id) => ledger.pendingOf(db, peer_id),
    });
  }

  #openPeers(): Peers {
    return new Peers(this.ground, {
      directory: this.directory,
      processes: this.outside.processes,
      machine: this.outside.machine,
      reactions: {
        unreachable: ({ peer_id }, why) => {
          const dropped_deliveries = this.delivery.dropQueue(peer_id, why);
          return { dropped_deliveries, closed_asks: this.asks.closeAllTo(peer_id, why) };
        },
        prompted: (peer_id, prompt) => void this.delivery.prove(peer_id, prompt),
        changed: (peer_id) => this.courier.wake(peer_id),
        sever: (peer_id, why) => this.sockets.of(peer_id)?.end(why),
      },
    });
  }

  #openCourier(steps: Steps): Courier {
    return new Courier(this.ground, steps, {
      ladder: {
        addressee: (peer_id) => this.peers.addressee(peer_id),
        rungs: (peer, parcel) => this.agents.rungs(peer, parcel),
      },
      connected: (peer_id) => this.sockets.of(peer_id) !== undefined,
      delivered: (peer_id) => this.peers.delivered(peer_id),
      mayWait: (peer_id) => {
        const { status, addressable } = this.directory.resolve(peer_id);
        return status !== "retired" && Boolean(addressable);
      },
    });
  }

  #openDelivery(steps: Steps): Delivery {
    const parts = { steps, sockets: this.sockets, courier: this.courier };
    return new Delivery(this.ground, parts, {
      numbers: this.#numbers,
      queue: {
        ttl_ms: this.config["daemon.queue.ttl_seconds"] * 1000,
        max_per_peer: this.config["daemon.queue.max_per_peer"],
      },
      undeliverable: ({ correlation_id, reason }) => {
        if (correlation_id) this.asks.sendFailed(correlation_id, reason ?? "failed");
      },
    });
  }

  #openDrains(): Drains {
    return new Drains(this.ground, this.delivery, {
      addressable: (peer_id) => Boolean(this.directory.resolve(peer_id).addressable),
      touch: (peer_id) => this.directory.touch(peer_id),
    });
  }

  #openInbox(): Inbox {
    const { db } = this.ground;
    return new Inbox(this.ground, {
      mustHuman: () => this.directory.mustHuman(),
      surfaces: () => this.#dashboards > 0 ? ["dashboard"] : [],
      ask: (correlation_id) => ledger.ask(db, correlation_id),
      answer: (correlation_id, message) => {
        const from_peer = this.directory.mustHuman().peer_id;
        this.asks.ack({ correlation_id, message, from_peer }, { proven_human: true });
      },
      openAsk: (to_peer, text, reply_to) => {
        const from_peer = this.directory.mustHuman().peer_id;
        const asked = { from_peer, to_peer, text, reply_delivery: "push" as const };
        const manner = { proven_human: true };
        const { ticket } = this.asks.open({ ...asked, ...(reply_to && { reply_to }) }, manner);
        return ticket?.message.correlation_id ?? "";
      },
    });
  }

  #openAsks(): Asks {
    const { db } = this.ground;
    return new Asks(this.ground, {
      directory: this.directory,
      post: this.delivery,
      human: this.inbox,
      address: (peer_id) => peerRows.address(db, peer_id),
      ask_ttl_ms: this.config["daemon.ask_ttl_hours"] * 3_600_000,
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

  #openNotes(): Notes {
    return new Notes(this.ground, this.delivery, {
      directory: this.directory,
      take: (message) => this.inbox.take(message),
    });
  }

  #openAgents(): Agents {
    return new Agents(this.ground, {
      adapters: this.outside.adapters(),
      hooks: this.outside.hooks,
      peers: {
        register: (registration) => this.peers.register(registration),
        turn: (peer_id, turn) => this.peers.turn(peer_id, turn),
        offline: (peer_id, cause) => this.peers.offline(peer_id, cause),
        ofSession: (session_id) => this.directory.ofSession(session_id),
        addressees: () => this.peers.addressees(),
        observed: (peer_id, turn_state) => this.peers.observed(peer_id, turn_state),
      },
      delivery: this.delivery,
      frame,
    });
  }

  async #openMcp(): Promise<Mcp> {
    const { Mcp } = await import("./mcp/mcp.ts");
    return new Mcp({
      call: (contract, given) => this.call(contract, given),
      fault: (fault) => this.ground.log.error("A tool failed", { fault }),
      identify: identifyByHeaders({
        peerOfProcess: (pid) => Promise.resolve(this.#peerOfProcess(pid)),
        peerOfCertificate: async (peer_id, certificate) => {
          const claims = await this.registry.check(certificate);
          return claims.peer_id === peer_id ? this.directory.find(peer_id) : undefined;
        },
      }),
    });
  }

  /** The peer whose agent is this process, or started it. */
  #peerOfProcess(pid: number) {
    const { startOf, parentOf } = this.outside.processes;
    const line: { pid: number; started: string }[] = [];
    for (let at: number | undefined = pid; at && line.length < GENERATIONS_MAX; at = parentOf(at)) {
      const started = startOf(at);
      if (started) line.push({ pid: at, started });
    }
    return this.directory.ofProcesses(line);
  }

  #openGate(): Gate {
    return new Gate({
      host: this.config["daemon.host"],
      allowed_hosts: this.config["daemon.allowed_hosts"],
      auth_token: this.config["daemon.auth_token"]?.reveal(),
      port: () => this.port,
    });
  }

  #openCall(): Call {
    const token = this.config["daemon.auth_token"]?.reveal();
    const headers = token ? { authorization: `Bearer ${token}` } : undefined;
    return (contract, given) => {
      const base = `http://127.0.0.1:${this.port ?? this.config["daemon.port"]}`;
      return client(base, (request) => this.fetch(request), headers)(contract, given);
    };
  }
}

/** The composition root: the one place that knows every room. */

import { DAY_MS } from "kit/core/duration.ts";
import type { Call } from "kit/http/client.ts";
import type { Clock, Ids } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { EventLog } from "kit/data/events.ts";
import type { Context } from "kit/data/context.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";
import { serve } from "kit/http/route.ts";
import { Database } from "kit/data/sqlite.ts";
import type { Adapter, Hooks } from "../features/agents/adapter.ts";
import type { KnownFailures } from "../features/agents/selftest/known_failures.ts";
import { Agents } from "../features/hooks/agents.ts";
import { Asks } from "../features/asks/asks.ts";
import { MultiAsks } from "../features/asks/many/multi_asks.ts";
import type { Questions } from "../features/asks/questions/questions.ts";
import type { Attachments } from "../features/messages/attachments/attachments.ts";
import type { Router } from "../features/asks/routing/router.ts";
import type { Config } from "./config.ts";
import { Dispatcher } from "../features/messages/dispatch/dispatcher.ts";
import { Delivery } from "../features/messages/delivery.ts";
import { Leases } from "../features/messages/leases.ts";
import type { Messages } from "../features/messages/log/message_log.ts";
import { Notifications } from "../features/notifications/notifications.ts";
import { Steps } from "../features/messages/ledger/steps.ts";
import { Sockets } from "../features/messages/websocket/sockets.ts";
import type { AgentProcesses } from "../api/callers/agent_processes.ts";
import type { Callers } from "../api/callers/callers.ts";
import type { CallerFacts } from "../host/sockets/caller_facts.ts";
import { Pages } from "../api/pages/pages.ts";
import { UnauthenticatedSockets } from "../api/callers/unauthenticated_sockets.ts";
import type { Guard } from "../api/guard.ts";
import type { Files } from "../host/files.ts";
import { registerHuman } from "./handshake.ts";
import { Meters } from "../api/events/metrics.ts";
import { Idempotency } from "../api/idempotency.ts";
import { type Identity, readIdentity } from "./identity.ts";
import { Inbox } from "../features/inbox/inbox.ts";
import { Surfaces } from "../features/inbox/surfaces.ts";
import type { Mcp } from "../api/mcp/mcp.ts";
import { migrations } from "./migrations/migrations.ts";
import type { IdCodec } from "../features/messages/id_codec.ts";
import type { ProgramRunner } from "../host/programs.ts";
import type { PaneObserver } from "../host/tmux/pane_observer.ts";
import type { Terminals } from "../host/tmux/terminals.ts";
import { Certificates } from "../features/peers/certificates.ts";
import { Directory } from "../features/peers/directory.ts";
import type { ProcessTable } from "../features/lifecycle/termination.ts";
import { Superseded } from "../features/peers/superseded.ts";
import type { Lifecycle } from "../features/lifecycle/routes.ts";
import { Peers } from "../features/peers/peers.ts";
import type { Shares } from "../features/shares/shares.ts";
import * as peerRows from "../features/peers/store.ts";
import type { Jobs } from "../features/jobs/jobs.ts";
import { openJobs } from "./jobs_wiring.ts";
import type { Schedules } from "../features/schedules/schedules.ts";
import { routesOf } from "./routes.ts";
import type { SpawnLogRetention } from "../features/spawn/log/retention.ts";
import type { Restarts } from "../features/spawn/restarts/restarts.ts";
import type { Spawns } from "../features/spawn/spawns.ts";
import {
  openAgents,
  openAsks,
  openAttachments,
  openCall,
  openDelivery,
  openDirectory,
  openDispatcher,
  openInbox,
  openLeases,
  openMcp,
  openMessages,
  openNotifications,
  openPeers,
  openQuestions,
  openRouter,
  openSurfaces,
} from "./wiring.ts";
import { openAgentProcesses, openCallers, openGuard } from "./wiring_callers.ts";
import { openLifecycle } from "./wiring_lives.ts";
import { openSchedules } from "./wiring_schedules.ts";
import { openRestarts, openSpawnLog, openSpawns } from "./spawn_wiring.ts";
import type { OpenSocket, RelayClient } from "../api/relay/relay_client.ts";
import { openRelayClient, openShares } from "./wiring_relay.ts";

const TICK_MS = 1000;
/** Events that retention drops in one beat. */
const FORGET_ROWS_MAX = 500;

/** Everything outside of the daemon: production passes the real ones, tests their own. */
export interface Platform {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly machine: string;
  /** Ids of messages, by the daemon's own key. */
  idCodec(key: string): IdCodec;
  readonly processes: ProcessTable;
  /** What is in the panes of this machine's tmux servers. */
  readonly paneObserver: PaneObserver;
  readonly pid: number;
  adapters(): readonly Adapter[];
  readonly hooks: Hooks;
  /** The rungs that were seen to fail. */
  readonly knownFailures: KnownFailures;
  /** tmux, for agents that we start. */
  readonly terminals: Terminals;
  /** Where attachments are kept. */
  readonly files: Files;
  /** Runs acceptance checks of jobs. */
  readonly programs: ProgramRunner;
  /** A socket to the relay; undefined where none is to be dialled. */
  readonly openSocket: OpenSocket | undefined;
  /** A request to the relay. */
  readonly send: (request: Request) => Promise<Response>;
  /** Who calls, as the kernel knows it. */
  readonly callers: CallerFacts;
  /** The name of a pane's tmux session. */
  sessionOf(tmux_socket: string, pane_id: string): Promise<string | undefined>;
}

export class Daemon implements AsyncDisposable {
  readonly config: Config;
  readonly platform: Platform;
  readonly ctx: Context;
  readonly identity: Identity;
  readonly directory: Directory;
  readonly certificates: Certificates;
  readonly peers: Peers;
  /** What restarts have replaced; it is noted by whoever restarts. */
  readonly superseded = new Superseded();
  readonly lifecycle: Lifecycle;
  readonly sockets: Sockets;
  readonly delivery: Delivery;
  readonly leases: Leases;
  readonly messages: Messages;
  readonly notifications: Notifications;
  readonly dispatcher: Dispatcher;
  readonly asks: Asks;
  readonly questions: Questions;
  readonly multiAsks: MultiAsks;
  readonly attachments: Attachments;
  readonly router: Router | undefined;
  readonly surfaces: Surfaces;
  readonly inbox: Inbox;
  readonly agents: Agents;
  readonly spawns: Spawns;
  readonly restarts: Restarts;
  readonly jobs: Jobs;
  readonly schedules: Schedules;
  readonly spawnLog: SpawnLogRetention;
  readonly meters: Meters;
  readonly agent_processes: AgentProcesses;
  readonly callers: Callers;
  readonly unauthenticatedSockets = new UnauthenticatedSockets();
  readonly pages: Pages;
  readonly guard: Guard;
  readonly idempotency: Idempotency;
  readonly started_at: number;
  /** Answers a request; `remote` is the other end of its socket, where there is one. */
  readonly fetch: (request: Request, remote?: Deno.NetAddr) => Promise<Response>;
  /** Calls a contract in this very process, as the operator. */
  readonly call: Call;
  readonly idCodec: IdCodec;
  /** The tunnel to the relay, where one is configured. */
  readonly relayClient: RelayClient | undefined;
  readonly shares: Shares;
  readonly #shutdown = new AbortController();
  /** Aborts as the daemon goes down. */
  readonly shutdownSignal = this.#shutdown.signal;
  #mcp: Promise<Mcp> | undefined;
  /** The port that is listened on, once it is known. */
  port: number | undefined;

  constructor(config: Config, db_path: string, platform: Platform) {
    this.config = config;
    this.platform = platform;
    const { clock, ids, log } = platform;
    const db = new Database(db_path, migrations, log, clock);
    const events = new EventLog(db, clock, log);
    this.ctx = { db, events, clock, ids, log };
    this.started_at = clock.now();
    this.identity = readIdentity(db, ids);
    this.idCodec = platform.idCodec(this.identity.number_key);
    db.define("seq_of", (ident) => this.idCodec.seq(String(ident)));
    this.certificates = new Certificates(this.identity.certificate_key, clock);
    this.meters = new Meters(() => this.#currentCounts());
    this.directory = openDirectory(this);
    this.peers = openPeers(this);
    const steps = new Steps(this.ctx, this.meters, {
      stepped: (delivery_id, state) => this.jobs.stepped(delivery_id, state),
    });
    this.sockets = new Sockets(this.ctx, steps, {
      inboxItemFrame: (item_id, surface) => this.surfaces.frame(item_id, surface),
    });
    this.dispatcher = openDispatcher(this, steps);
    this.delivery = openDelivery(this, steps);
    this.leases = openLeases(this);
    this.messages = openMessages(this);
    this.attachments = openAttachments(this);
    this.surfaces = openSurfaces(this);
    this.inbox = openInbox(this);
    this.asks = openAsks(this);
    this.questions = openQuestions(this);
    this.multiAsks = new MultiAsks(this.ctx, this.asks, config["daemon.history_days"] * DAY_MS);
    this.router = openRouter(this);
    this.notifications = openNotifications(this);
    this.spawns = openSpawns(this);
    this.restarts = openRestarts(this);
    this.jobs = openJobs(this);
    this.schedules = openSchedules(this);
    this.spawnLog = openSpawnLog(this);
    this.agents = openAgents(this);
    this.lifecycle = openLifecycle(this);
    this.agent_processes = openAgentProcesses(this);
    this.callers = openCallers(this);
    this.pages = new Pages(this.ctx);
    this.guard = openGuard(this);
    this.idempotency = new Idempotency(this.ctx);
    this.shares = openShares(this);
    const routes = routesOf(this);
    this.relayClient = openRelayClient(this, routes);
    this.fetch = serve(routes, {
      admit: (request) => {
        this.guard.admit(request);
        if (this.shutdownSignal.aborted) throw new Problem("shutting_down", {});
      },
      authorize: (request, contract, remote) => this.guard.authorize(request, contract, remote),
      whenDurable: () => db.whenDurable(),
      idempotencyStore: this.idempotency,
      error: (error) => log.error("A route failed", { error }),
    });
    this.call = openCall(this);
  }

  /** After a start: nothing is believed of the peers, and what was under way is looked at. */
  start(): void {
    const { db } = this.ctx;
    db.transactNow(() => {
      this.peers.start();
      this.delivery.reconcile();
      this.questions.start();
      const human = this.config["human.name"];
      if (human) registerHuman(this, human);
      this.restarts.start();
      this.spawns.start();
      this.jobs.start();
    });
    this.attachments.start();
    this.relayClient?.start();
  }

  /** Beats once a second until the daemon ends; `rest` is for what has to do with the process. */
  async run(onTick: () => void = () => undefined): Promise<void> {
    const { clock, log } = this.ctx;
    const signal = this.shutdownSignal;
    for (let due = clock.now() + TICK_MS; !signal.aborted; due += TICK_MS) {
      await pause(clock, Math.max(0, due - clock.now()), signal);
      if (signal.aborted) return;
      this.meters.setLag(clock.now() - due);
      due = Math.max(due, clock.now() - TICK_MS);
      try {
        this.tick();
        onTick();
      } catch (error) {
        log.error("A beat failed", { error });
      }
    }
  }

  /** What happens with time: who is gone, what is due, what is old. */
  tick(): void {
    const { clock, db, events } = this.ctx;
    const now = clock.now();
    this.peers.tick(now);
    this.asks.tick(now);
    this.multiAsks.tick(now);
    this.delivery.tick(now);
    this.agents.tick(now);
    this.spawns.tick(now);
    this.jobs.tick(now);
    this.schedules.tick(now);
    this.spawnLog.tick(now);
    this.idempotency.tick(now);
    this.messages.tick(now);
    this.inbox.tick(now);
    this.attachments.tick(now);
    this.relayClient?.tick(now);
    events.prune(now - this.config["daemon.history_days"] * DAY_MS, FORGET_ROWS_MAX);
    db.checkpoint();
  }

  /** Takes no new work: what is accepted goes to the disk, those who wait and listen are told. */
  async shutDown(): Promise<void> {
    this.questions.shutDown();
    this.ctx.db.flush();
    this.relayClient?.close();
    this.#shutdown.abort();
    this.asks.releaseWaiters();
    this.sockets.closeAll();
    await this.dispatcher.close();
    await this.jobs.close();
    await this.restarts.close();
    await this.spawns.close();
    // Whoever called while it could not be loaded has been told so.
    await (await this.#mcp?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutDown();
    this.ctx.db[Symbol.dispose]();
  }

  /** The tools for agents. Loaded when the first one calls: their SDK is a third of our memory. */
  mcp(): Promise<Mcp> {
    return this.#mcp ??= openMcp(this).catch((error) => {
      this.#mcp = undefined; // The next one who calls may have more luck.
      throw error;
    });
  }

  #currentCounts() {
    return {
      peers: peerRows.count(this.ctx.db),
      sockets: this.sockets.size,
      commits: this.ctx.db.commits,
      queue: this.delivery.counts(),
      jobs: this.jobs.counts(),
    };
  }
}

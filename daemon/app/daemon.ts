/** The composition root: the one place that knows every room. */

import type { Call } from "kit/http/client.ts";
import type { Clock, Ids } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { EventLog } from "kit/data/events.ts";
import type { Ground } from "kit/data/context.ts";
import type { Log } from "kit/core/log.ts";
import { Problem } from "kit/core/problem.ts";
import { serve } from "kit/http/route.ts";
import { Database } from "kit/data/sqlite.ts";
import type { Adapter, Hooks } from "../features/agents/adapter.ts";
import type { Marks } from "../features/agents/selftest/marks.ts";
import { Agents } from "../features/hooks/agents.ts";
import { Asks } from "../features/asks/asks.ts";
import { Many } from "../features/asks/many/many.ts";
import type { Questions } from "../features/asks/questions/questions.ts";
import type { Attachments } from "../features/messages/attachments/attachments.ts";
import type { Router } from "../features/asks/routing/router.ts";
import type { Config } from "./config.ts";
import { Courier } from "../features/messages/dispatch/dispatcher.ts";
import { Delivery } from "../features/messages/delivery.ts";
import { Drains } from "../features/messages/leases.ts";
import type { Messages } from "../features/messages/log/message_log.ts";
import { Notes } from "../features/notifications/notifications.ts";
import { Steps } from "../features/messages/ledger/steps.ts";
import { Sockets } from "../features/messages/websocket/sockets.ts";
import type { AgentProcesses } from "../api/callers/agent_processes.ts";
import type { Callers } from "../api/callers/callers.ts";
import type { CallerFacts } from "../host/sockets/caller_facts.ts";
import { Pages } from "../api/pages/pages.ts";
import { Strangers } from "../api/callers/unknown_senders.ts";
import type { Gate } from "../api/guard.ts";
import type { Files } from "../host/files.ts";
import { welcomeHuman } from "./handshake.ts";
import { Meters } from "../api/events/metrics.ts";
import { Idempotency } from "../api/idempotency.ts";
import { type Identity, readIdentity } from "./identity.ts";
import { Inbox } from "../features/inbox/inbox.ts";
import { Surfaces } from "../features/inbox/surfaces.ts";
import type { Mcp } from "../api/mcp/mcp.ts";
import { migrations } from "./migrations/migrations.ts";
import type { Numbers } from "../features/messages/id_codec.ts";
import type { Programs } from "../host/programs.ts";
import type { PaneSights } from "../host/tmux/observations.ts";
import type { Terminals } from "../host/tmux/terminals.ts";
import { Registry } from "../features/peers/certificate.ts";
import { Directory } from "../features/peers/directory.ts";
import type { Mortals } from "../features/lifecycle/termination.ts";
import { Replaced } from "../features/peers/superseded.ts";
import type { Lives } from "../features/lifecycle/routes.ts";
import { Peers } from "../features/peers/peers.ts";
import type { Shares } from "../features/shares/shares.ts";
import * as peerRows from "../features/peers/store.ts";
import type { Jobs } from "../features/jobs/jobs.ts";
import { openJobs } from "./jobs_wiring.ts";
import type { Schedules } from "../features/schedules/schedules.ts";
import { routesOf } from "./routes.ts";
import type { JournalRetention } from "../features/spawn/log/retention.ts";
import type { Restarts } from "../features/spawn/restarts/restarts.ts";
import type { Spawns } from "../features/spawn/spawns.ts";
import {
  openAgents,
  openAsks,
  openAttachments,
  openCall,
  openCourier,
  openDelivery,
  openDirectory,
  openDrains,
  openInbox,
  openMcp,
  openMessages,
  openNotes,
  openPeers,
  openQuestions,
  openRouter,
  openSurfaces,
} from "./wiring.ts";
import { openAgentProcesses, openCallers, openGate } from "./wiring_callers.ts";
import { openLives } from "./wiring_lives.ts";
import { openSchedules } from "./wiring_schedules.ts";
import { openJournal, openRestarts, openSpawns } from "./spawn_wiring.ts";
import type { Dial, Uplink } from "../api/relay/relay_client.ts";
import { openShares, openUplink } from "./wiring_relay.ts";

const BEAT_MS = 1000;
const DAY_MS = 86_400_000;
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
  readonly processes: Mortals;
  /** What is in the panes of this machine's tmux servers. */
  readonly sights: PaneSights;
  readonly pid: number;
  adapters(): readonly Adapter[];
  readonly hooks: Hooks;
  /** The rungs that were seen to fail. */
  readonly marks: Marks;
  /** tmux, for agents that we start. */
  readonly terminals: Terminals;
  /** Where attachments are kept. */
  readonly files: Files;
  /** Runs acceptance checks of jobs. */
  readonly programs: Programs;
  /** A socket to the relay; undefined where none is to be dialled. */
  readonly dial: Dial | undefined;
  /** A request to the relay. */
  readonly send: (request: Request) => Promise<Response>;
  /** Who calls, as the kernel knows it. */
  readonly callers: CallerFacts;
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
  /** What restarts have replaced; it is noted by whoever restarts. */
  readonly replaced = new Replaced();
  readonly lives: Lives;
  readonly sockets: Sockets;
  readonly delivery: Delivery;
  readonly drains: Drains;
  readonly messages: Messages;
  readonly notes: Notes;
  readonly courier: Courier;
  readonly asks: Asks;
  readonly questions: Questions;
  readonly many: Many;
  readonly attachments: Attachments;
  readonly router: Router | undefined;
  readonly surfaces: Surfaces;
  readonly inbox: Inbox;
  readonly agents: Agents;
  readonly spawns: Spawns;
  readonly restarts: Restarts;
  readonly jobs: Jobs;
  readonly schedules: Schedules;
  readonly journal: JournalRetention;
  readonly meters: Meters;
  readonly agent_processes: AgentProcesses;
  readonly callers: Callers;
  readonly strangers = new Strangers();
  readonly pages: Pages;
  readonly gate: Gate;
  readonly idempotency: Idempotency;
  readonly started_at: number;
  /** Answers a request; `remote` is the other end of its socket, where there is one. */
  readonly fetch: (request: Request, remote?: Deno.NetAddr) => Promise<Response>;
  /** Calls a contract in this very process, as the operator. */
  readonly call: Call;
  readonly numbers: Numbers;
  /** The tunnel to the relay, where one is configured. */
  readonly uplink: Uplink | undefined;
  readonly shares: Shares;
  readonly #ending = new AbortController();
  /** Aborts as the daemon goes down. */
  readonly ending = this.#ending.signal;
  #mcp: Promise<Mcp> | undefined;
  /** The port that is listened on, once it is known. */
  port: number | undefined;

  constructor(config: Config, db_path: string, outside: Outside) {
    this.config = config;
    this.outside = outside;
    const { clock, ids, log } = outside;
    const db = new Database(db_path, migrations, log, clock);
    const events = new EventLog(db, clock, log);
    this.ground = { db, events, clock, ids, log };
    this.started_at = clock.now();
    this.identity = readIdentity(db, ids);
    this.numbers = outside.numbers(this.identity.number_key);
    db.define("seq_of", (ident) => this.numbers.seq(String(ident)));
    this.registry = new Registry(this.identity.certificate_key, clock);
    this.meters = new Meters(() => this.#levels());
    this.directory = openDirectory(this);
    this.peers = openPeers(this);
    const steps = new Steps(this.ground, this.meters, {
      stepped: (delivery_id, state) => this.jobs.stepped(delivery_id, state),
    });
    this.sockets = new Sockets(this.ground, steps, {
      item: (item_id, surface) => this.surfaces.frame(item_id, surface),
    });
    this.courier = openCourier(this, steps);
    this.delivery = openDelivery(this, steps);
    this.drains = openDrains(this);
    this.messages = openMessages(this);
    this.attachments = openAttachments(this);
    this.surfaces = openSurfaces(this);
    this.inbox = openInbox(this);
    this.asks = openAsks(this);
    this.questions = openQuestions(this);
    this.many = new Many(this.ground, this.asks, config["daemon.history_days"] * DAY_MS);
    this.router = openRouter(this);
    this.notes = openNotes(this);
    this.spawns = openSpawns(this);
    this.restarts = openRestarts(this);
    this.jobs = openJobs(this);
    this.schedules = openSchedules(this);
    this.journal = openJournal(this);
    this.agents = openAgents(this);
    this.lives = openLives(this);
    this.agent_processes = openAgentProcesses(this);
    this.callers = openCallers(this);
    this.pages = new Pages(this.ground);
    this.gate = openGate(this);
    this.idempotency = new Idempotency(this.ground);
    this.shares = openShares(this);
    const routes = routesOf(this);
    this.uplink = openUplink(this, routes);
    this.fetch = serve(routes, {
      admit: (request) => {
        this.gate.admit(request);
        if (this.ending.aborted) throw new Problem("shutting_down", {});
      },
      authorize: (request, contract, remote) => this.gate.authorize(request, contract, remote),
      durable: () => db.durable(),
      memory: this.idempotency,
      fault: (fault) => log.error("A route failed", { fault }),
    });
    this.call = openCall(this);
  }

  /** After a start: nothing is believed of the peers, and what was under way is looked at. */
  wakeUp(): void {
    const { db } = this.ground;
    db.transactNow(() => {
      this.peers.wakeUp();
      this.delivery.reconcile();
      this.questions.wakeUp();
      const human = this.config["human.name"];
      if (human) welcomeHuman(this, human);
      this.restarts.wakeUp();
      this.spawns.wakeUp();
      this.jobs.wakeUp();
    });
    this.attachments.wakeUp();
    this.uplink?.wakeUp();
  }

  /** Beats once a second until the daemon ends; `rest` is for what has to do with the process. */
  async run(rest: () => void = () => undefined): Promise<void> {
    const { clock, log } = this.ground;
    const signal = this.ending;
    for (let due = clock.now() + BEAT_MS; !signal.aborted; due += BEAT_MS) {
      await pause(clock, Math.max(0, due - clock.now()), signal);
      if (signal.aborted) return;
      this.meters.lagged(clock.now() - due);
      due = Math.max(due, clock.now() - BEAT_MS);
      try {
        this.beat();
        rest();
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
    this.many.beat(now);
    this.delivery.beat(now);
    this.agents.beat(now);
    this.spawns.beat(now);
    this.jobs.beat(now);
    this.schedules.beat(now);
    this.journal.beat(now);
    this.idempotency.beat(now);
    this.messages.beat(now);
    this.inbox.beat(now);
    this.attachments.beat(now);
    this.uplink?.beat(now);
    events.forget(now - this.config["daemon.history_days"] * DAY_MS, FORGET_ROWS_MAX);
    db.checkpoint();
  }

  /** Takes no new work: what is accepted goes to the disk, those who wait and listen are told. */
  async goDown(): Promise<void> {
    this.questions.goDown();
    this.ground.db.flush();
    this.uplink?.close();
    this.#ending.abort();
    this.asks.dismiss();
    this.sockets.endAll();
    await this.courier.close();
    await this.jobs.close();
    await this.restarts.close();
    await this.spawns.close();
    // Whoever called while it could not be loaded has been told so.
    await (await this.#mcp?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.goDown();
    this.ground.db[Symbol.dispose]();
  }

  /** The tools for agents. Loaded when the first one calls: their SDK is a third of our memory. */
  mcp(): Promise<Mcp> {
    return this.#mcp ??= openMcp(this).catch((fault) => {
      this.#mcp = undefined; // The next one who calls may have more luck.
      throw fault;
    });
  }

  #levels() {
    return {
      peers: peerRows.count(this.ground.db),
      sockets: this.sockets.size,
      commits: this.ground.db.commits,
      queue: this.delivery.counts(),
      jobs: this.jobs.counts(),
    };
  }
}

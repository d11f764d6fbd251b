/** A whole daemon in memory: real routes, real SQL, fake time, counted ids, recorded events. */

import { ToolClients } from "../../daemon/features/agents/tool_clients.ts";
import type { ProcessTable } from "../../daemon/host/processes.ts";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { client } from "kit/http/client.ts";
import type { Ids } from "kit/core/clock.ts";
import type { MeshEvent } from "protocol/events.ts";
import { jsonLog, type Level } from "kit/core/log.ts";
import { openTelemetry } from "../../daemon/api/telemetry/telemetry.ts";
import type { RunCommandLine } from "protocol/api/command_lines.ts";
import { createDaemon, type Daemon } from "../../daemon/app/daemon.ts";
import type { Platform } from "../../daemon/app/platform.ts";
import type { Adapter, Hooks } from "../../daemon/features/agents/adapter.ts";
import type { PeerIds } from "../../daemon/features/peers/identity/peer_ids.ts";
import type { PortTable } from "../../daemon/host/sockets/ports.ts";
import type { GitHost } from "../../daemon/features/changes/git/git.ts";
import type { SessionFiles } from "../../daemon/features/agents/sessions/session_files.ts";
import type { KnownFailures } from "../../daemon/features/agents/selftest/known_failures.ts";
import type { CallerFacts } from "../../daemon/host/sockets/caller_facts.ts";
import type { Sockets } from "../../daemon/host/sockets/sockets.ts";
import { type ConfigInForce, readConfigInForce } from "../../daemon/app/config.ts";
import type { Markers } from "../../daemon/features/messages/urgent_messages.ts";
import type { Outbound } from "../../daemon/features/messages/websocket/frames.ts";
import { type Files, filesIn } from "../../daemon/host/files.ts";
import type { ProgramRunner } from "../../daemon/host/programs.ts";
import type { PaneObserver } from "../../daemon/host/tmux/pane_observer.ts";
import type { Terminals } from "../../daemon/host/tmux/terminals.ts";
import type { OpenSocket } from "../../daemon/api/relay/relay_client.ts";
import { FakeClock } from "./clock.ts";
import { countingIds, plainIdCodec } from "./ids.ts";
import { SwiftClock } from "./swift_clock.ts";
import { withMigratedDatabase, writeMigratedFile } from "./migrated.ts";
import { RequestWrites } from "kit/data/request_writes.ts";

await RequestWrites.whenReady(); // The first request of a test waits for no module.

/** The processes of a world: alive until a test ends them. */
export class FakeProcesses {
  readonly #alive = new Map<number, string>();
  readonly #parents = new Map<number, number>();
  #starts = 0;

  readonly startTimeOf = (pid: number) => this.#alive.get(pid);
  readonly parentOf = (pid: number) => this.#parents.get(pid);
  /** The terminals of processes; unknown where a test names none. */
  readonly terminals = new Map<number, number>();
  readonly terminalOf = (pid: number) => this.terminals.get(pid);

  start(pid: number, parent?: number): void {
    this.#alive.set(pid, String(++this.#starts));
    if (parent !== undefined) this.#parents.set(pid, parent);
  }

  end(pid: number): void {
    this.#alive.delete(pid);
  }

  isAlive(pid: number, started?: string): boolean {
    const since = this.#alive.get(pid);
    return since !== undefined && (started === undefined || started === since);
  }

  /** The signals sent, each to one start of a pid; a process that obeys ends. */
  readonly signals: [pid: number, signal: string, started: string][] = [];
  /** Processes that obey SIGKILL alone. */
  readonly killOnly = new Set<number>();
  /** Signals that no process obeys. */
  ignored: readonly string[] = [];
  /** Processes of another user. */
  readonly otherUsersPids = new Set<number>();
  /** Ends a process that obeys a signal; a fake tmux closes its pane, too. */
  endOnSignal: (pid: number) => void = (pid) => this.end(pid);

  readonly signal: ProcessTable["signal"] = (pid, signal) => {
    const started = this.#alive.get(pid);
    if (started === undefined) return "gone";
    if (this.otherUsersPids.has(pid)) return "forbidden";
    this.signals.push([pid, signal, started]);
    const obeyed = signal === "SIGKILL" || !this.killOnly.has(pid);
    if (obeyed && !this.ignored.includes(signal)) this.endOnSignal(pid);
    return "sent";
  };
}

const NO_KNOWN_FAILURES: KnownFailures = {
  refresh: () => undefined,
  degraded: () => undefined,
  verdicts: () => undefined,
};

/** A machine without tmux. */
const NO_PANES: PaneObserver = {
  all: () => Promise.resolve([]),
  everywhere: () => Promise.resolve([]),
  at: () => Promise.resolve({ state: "unknown" }),
  stateOf: () => Promise.resolve("unknown"),
  screen: () => Promise.resolve({ state: "missing" }),
  holds: () => false,
};

export interface WorldOptions {
  /** Settings by their dotted key, e.g. `{"human.name": "sam"}`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A file, for worlds that are restarted; in memory by default. A missing one is made. */
  readonly db_path?: string;
  readonly clock?: FakeClock;
  /** The lowest level that is logged; warnings by default. */
  readonly log_level?: Level;
  /** Shared by the worlds of one file, so that a restarted one repeats no id. */
  readonly ids?: Ids;
  /** Codec of ids from message numbers; plain hex digits by default. */
  readonly idCodec?: Platform["idCodec"];
  /** Makes the ids of peers; by default they count up, and prove nothing. */
  readonly peerIds?: Platform["peerIds"];
  readonly processes?: FakeProcesses;
  readonly paneObserver?: PaneObserver;
  readonly adapters?: readonly Adapter[];
  readonly hooks?: Hooks;
  readonly knownFailures?: KnownFailures;
  /** Folder of the markers of urgent messages; none by default. */
  readonly markers?: Markers;
  /** A tmux, for worlds in which agents are spawned; none by default. */
  readonly terminals?: Terminals;
  /** Folder of attachments; a temporary directory by default. */
  readonly files?: Files;
  /** Runs the checks of jobs; by default every run fails. */
  readonly programs?: ProgramRunner;
  /** Runs git, for what changed in folders; by default there is none. */
  readonly git?: GitHost;
  readonly ports?: PortTable;
  /** Opens a socket to a relay; by default every dial fails. */
  readonly openSocket?: OpenSocket;
  /** Sends requests to the relay and the collector of traces; by default every request fails. */
  readonly send?: (request: Request) => Promise<Response>;
  /** Sends pushes to their services; by default every request fails. */
  readonly sendPublicly?: Platform["sendPublicly"];
  /** The bus to other machines; none by default. */
  readonly machines?: Platform["machines"];
  /** Runs the command lines of processes that start no runtime; no command line by default. */
  readonly runCommandLine?: RunCommandLine;
  /** The session files of agents by their ids; none by default. */
  readonly sessionFiles?: Readonly<Record<string, SessionFiles>>;
  /** The tmux session and the first process of a pane; none by default. */
  readonly paneOf?: Platform["paneOf"];
  /** True if the kernel finds a person's terminal behind a request; false by default. */
  readonly at_terminal?: boolean;
  /** The kernel's facts of a request's socket; our user and the named process by default. */
  readonly sockets?: Sockets;
  /** True if people use a process directly; by default, a terminal program. */
  readonly isUserFacing?: ((pid: number) => boolean) | undefined;
}

/** The user that the daemon of a world runs as. */
const OWN_UID = 1000;
export const OTHER_UID = 65_534;
/** A process that is a person's terminal program. */
export const TERMINAL_PROGRAM_PID = 500;

/** The kernel's facts of requests: our own user, and the process in question. */
export class FakeSockets implements Sockets {
  canIdentify = true;
  /** The user of the caller; undefined for a socket that cannot be found. */
  uid: number | undefined = OWN_UID;
  /** The process that holds the caller's socket, and those above it; undefined is any process. */
  holders: readonly number[] | undefined;

  readonly find = () => this.uid === undefined ? undefined : { uid: this.uid, inode: 1 };
  readonly holderWithin: Sockets["holderWithin"] = (pid) => {
    if (this.holders === undefined) return pid;
    return this.holders.includes(pid) ? this.holders[0] : undefined;
  };
  /** The process that holds the socket; unknown by default. */
  readonly holderOf: Sockets["holderOf"] = () => this.holders?.[0];
}

/** A machine without a tmux. */
const noTerminals: Terminals = {
  home: "/none",
  socket: "/none/tmux",
  isAvailable: () => Promise.resolve(false),
  openWindow: () => Promise.resolve({ ok: false, reason: "no tmux" }),
  splitWindow: () => Promise.resolve({ ok: false, reason: "no tmux" }),
  getPane: () => Promise.resolve(undefined),
  isGone: () => Promise.resolve(false),
  close: () => Promise.resolve(),
  closeIfSame: () => Promise.resolve(false),
  find: () => Promise.resolve(undefined),
  isWatched: () => Promise.resolve(false),
  addedWords: () => Promise.resolve([]),
  keep: () => Promise.resolve(),
  respawn: () => Promise.resolve({ ok: false, reason: "no tmux" }),
  hasProgram: () => Promise.resolve(false),
  isWithin: () => false,
  isSameJob: () => false,
  isShared: () => Promise.resolve(false),
};

/** A machine without git. */
/** All ports are free, and nobody listens. */
const NO_PORTS: PortTable = {
  isFree: () => true,
  listenersAt: () => ({ own: [], others: 0 }),
};

const noGit: GitHost = {
  readOutput: () => Promise.resolve({ exit: 127, bytes: new Uint8Array(), ended_at: null }),
  env: {},
};

const noPrograms: ProgramRunner = {
  run: () => Promise.resolve({ exit: null, output: "no programs" }),
};

/** A network without a relay: every dial fails in the next turn. */
const unreachableRelay: OpenSocket = (_address, _headers, listener) => {
  queueMicrotask(() => listener.closed(0, "", "connection refused"));
  return { open: false, buffered: 0, send: () => undefined, close: () => undefined };
};

export const LOOPBACK: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 50_000 };
export const BASE = "http://127.0.0.1:8377";

function callersOf(options: WorldOptions): CallerFacts {
  const { sockets = new FakeSockets(), at_terminal = false } = options;
  const { isUserFacing = (pid: number) => pid === TERMINAL_PROGRAM_PID } = options;
  return { sockets, uid: OWN_UID, isPersonAtTerminal: () => at_terminal, isUserFacing };
}

/** A world that starts programs or panes first checks real folders, which takes real time. */
function clockOf({ terminals, programs, git }: WorldOptions): FakeClock {
  return terminals || programs || git ? new FakeClock() : new SwiftClock();
}

function configOf(settings: Readonly<Record<string, string>>): ConfigInForce {
  const variables = Object.entries(settings).map(([key, value]) => {
    return [`MESH_${key.toUpperCase().replaceAll(".", "__")}`, value] as const;
  });
  const env = { MESH_CONFIG: "/none", ...Object.fromEntries(variables) };
  return readConfigInForce(env, () => undefined);
}

export type World = Awaited<ReturnType<typeof world>>;

/** Ids of peers that count up, as the others do, and prove nothing. */
function plainPeerIds(ids: Ids): PeerIds {
  return { next: () => ({ peer_id: ids.next("peer"), id_proof: null }) };
}

/** A daemon that was started; dispose it with `await using`. */
export function world(options: WorldOptions = {}) {
  const { clock = clockOf(options), processes = new FakeProcesses() } = options;
  const logged: string[] = [];
  const log = jsonLog(clock, options.log_level ?? "warn", (line) => logged.push(line));
  const settings = configOf(options.settings ?? {});
  const files_dir = join(tmpdir(), `mesh-world-${crypto.randomUUID()}`);
  const platform = platformOf(options, { clock, files_dir, log, processes, settings });
  const open = (path: string) => createDaemon(settings.config, path, platform);
  const { db_path } = options;
  if (db_path !== undefined) writeMigratedFile(db_path);
  const daemon = db_path === undefined ? withMigratedDatabase(open) : open(db_path);
  daemon.start();
  const send = (request: Request) => daemon.fetch(request, LOOPBACK);
  return {
    clock,
    processes,
    daemon,
    events: eventsOf(daemon),
    logged,
    files_dir,
    call: client(BASE, send),
    /** Sends a bare request, as any program might; the path includes the query. */
    fetch: (path: string, init?: RequestInit) => send(new Request(`${BASE}${path}`, init)),
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      send(postTo(path, body, headers)),
    socket: () => new FakeSocket(daemon, clock),
    /** Advances by some seconds, and ticks. */
    async tick(seconds = 1): Promise<void> {
      await clock.advance(seconds * 1000);
      daemon.tick();
      await clock.settle();
    },
    [Symbol.asyncDispose]: () => end(daemon, clock, files_dir),
  };
}

function platformOf(
  options: WorldOptions,
  own: Pick<Platform, "clock" | "log" | "processes" | "settings"> & { files_dir: string },
): Platform {
  const { terminals = noTerminals } = options;
  const { ids = countingIds(), peerIds = () => plainPeerIds(ids) } = options;
  const { files_dir, ...given } = own;
  return {
    ...given,
    ids,
    peerIds,
    machine: "here",
    idCodec: options.idCodec ?? (() => plainIdCodec),
    pid: 1,
    paneObserver: options.paneObserver ?? NO_PANES,
    adapters: () => options.adapters ?? [],
    hooks: options.hooks ?? {},
    toolClients: new ToolClients(own.processes),
    markers: options.markers ?? { keep: () => undefined, restore: () => undefined },
    knownFailures: options.knownFailures ?? NO_KNOWN_FAILURES,
    terminals,
    files: options.files ?? filesIn(files_dir),
    programs: options.programs ?? noPrograms,
    git: options.git ?? noGit,
    joining_folder: join(files_dir, "joint-checks"),
    openSocket: options.openSocket ?? unreachableRelay,
    machines: options.machines,
    ...(options.runCommandLine && { runCommandLine: options.runCommandLine }),
    openTelemetry,
    send: options.send ?? (() => Promise.reject(new TypeError("connection refused"))),
    sendPublicly: options.sendPublicly ?? (() => Promise.reject(new TypeError("no network"))),
    sessionFilesOf: (backend) => Promise.resolve(options.sessionFiles?.[backend]),
    paneOf: options.paneOf ?? ((socket, pane_id) => terminals.getPane(socket, pane_id)),
    ports: options.ports ?? NO_PORTS,
    callers: callersOf(options),
  };
}

async function end(daemon: Daemon, clock: FakeClock, files_dir: string): Promise<void> {
  await clock.during(Promise.resolve(daemon[Symbol.asyncDispose]()));
  rmSync(files_dir, { recursive: true, force: true });
}

/** The events of a daemon from now on. */
function eventsOf({ ctx }: Daemon): MeshEvent[] {
  const events: MeshEvent[] = [];
  ctx.events.subscribe({ event: (event) => events.push(event) });
  return events;
}

function postTo(path: string, body: unknown, headers: Record<string, string>): Request {
  return new Request(`${BASE}${path}`, { method: "POST", body: JSON.stringify(body), headers });
}

/** The client's end of a `/ws` connection, without a network. */
export class FakeSocket {
  readonly frames: Outbound[] = [];
  closed: { code: number; reason: string } | undefined;
  buffered = 0;
  readonly #session: ReturnType<Daemon["connections"]["open"]>;
  readonly #clock: FakeClock;

  constructor(daemon: Daemon, clock: FakeClock) {
    this.#clock = clock;
    const isOpen = () => this.closed === undefined;
    const buffered = () => this.buffered;
    this.#session = daemon.connections.open({
      get open() {
        return isOpen();
      },
      get buffered() {
        return buffered();
      },
      send: (text) => void this.frames.push(JSON.parse(text)),
      close: (code, reason) => this.#end(code, reason),
    }, {
      authorized: daemon.config["daemon.auth_token"] === undefined,
      remote: LOOPBACK,
    });
  }

  /** Sends a frame, and waits until everything that follows has settled. */
  async send(frame: Record<string, unknown> | string): Promise<void> {
    this.#session.receive(typeof frame === "string" ? frame : JSON.stringify(frame));
    await this.#clock.settle();
  }

  /**
   * Connects as a peer, and waits until the daemon has answered or closed: certificates are checked
   * on other threads, for which no number of turns suffices. Returns the `connected` frame.
   */
  async connect(fields: Record<string, unknown>): Promise<Outbound | undefined> {
    const connected = () => this.frames.find(({ type }) => type === "connected");
    const before = this.frames.length;
    await this.send({ type: "connect", backend: "sdk", path: "/work", ...fields });
    const isAnswered = () => this.frames.length > before || this.closed !== undefined;
    await this.#clock.advanceUntil("an answer to `connect`", isAnswered, 0);
    await this.#clock.settle();
    return connected();
  }

  of<T extends Outbound["type"]>(type: T): Extract<Outbound, { type: T }>[] {
    return this.frames.filter((frame): frame is Extract<Outbound, { type: T }> =>
      frame.type === type
    );
  }

  /** Cuts the connection. */
  async drop(): Promise<void> {
    this.#end(1006, "");
    await this.#clock.settle();
  }

  #end(code: number, reason: string): void {
    if (this.closed) return;
    this.closed = { code, reason };
    queueMicrotask(() => this.#session.closed());
  }
}

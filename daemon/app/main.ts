/** The daemon as a process: one for each state directory, from its lock to its last commit. */

import { machinePorts } from "../host/sockets/ports.ts";
import { join } from "kit/core/path.ts";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { RequestWrites } from "kit/data/request_writes.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import { outgoingFetch } from "kit/net/outgoing/http_client.ts";
import { publicFetch } from "kit/net/outgoing/public_fetch.ts";
import { HttpListener, nextStopSignal, urlOf } from "kit/host/http_listener.ts";
import type { ExposedPath } from "kit/host/private_files.ts";
import { jsonLog, type Log, logConsole } from "kit/core/log.ts";
import { definitionOf } from "../features/agents/registry.ts";
import { ownPeerIds } from "../features/peers/identity/peer_ids.ts";
import { keyedIdCodec } from "../features/messages/id_codec.ts";
import {
  type AgentsPlatform,
  loadAgents,
  type Platform,
  type PlatformOptions,
} from "./platform.ts";
import type { RunCommandLine } from "protocol/api/command_lines.ts";
import { VERDICTS_FILE } from "protocol/agents/selftest.ts";
import { knownFailuresAt } from "../features/agents/selftest/known_failures.ts";
import { createDaemon, type Daemon } from "./daemon.ts";
import { isHookToken } from "./identity.ts";
import { type Config, type ConfigInForce, readConfigInForce } from "./config.ts";
import { logExposed, protectConfig, protectState } from "./private_state.ts";
import { MarkerFiles } from "../features/messages/urgent_messages.ts";
import { filesIn, isDiskError } from "../host/files.ts";
import { type Env, InvalidPath, readTextOrNothing, statePath } from "../host/paths.ts";
import { fileRefusal, unlessError } from "kit/host/file_errors.ts";
import { boundedLog } from "../host/log_file.ts";
import { IdleCollector, processHeap } from "../host/idle_collector.ts";
import { sendSignal, startTimeOf, terminalOf } from "../host/processes.ts";
import { outputReaderOf } from "../host/program_output.ts";
import { programRunnerOf, StartedPrograms } from "../host/programs.ts";
import { runtimePath, writeRuntimeFile } from "../host/runtime_file.ts";
import { callerFacts } from "../host/sockets/caller_facts.ts";

/** Maximum time for open requests to end at the shutdown. */
const SHUTDOWN_MS_MAX = 3000;

/**
 * Runs a daemon until SIGTERM or SIGINT, or until a file cannot be used; returns the exit code.
 * `runCommandLine` runs the command lines of processes that start no runtime.
 */
export async function runDaemon(env: Env, runCommandLine?: RunCommandLine): Promise<number> {
  try {
    return await runOnState(env, runCommandLine);
  } catch (error) {
    const refusal = error instanceof InvalidPath ? error : fileRefusal(error);
    if (refusal) return exitWith(messageOf(refusal), 1);
    throw error;
  }
}

async function runOnState(env: Env, runCommandLine?: RunCommandLine): Promise<number> {
  let inForce: ConfigInForce;
  const exposed: ExposedPath[] = [];
  try {
    exposed.push(...protectConfig(env));
    inForce = readConfigInForce(env, readTextOrNothing);
  } catch (error) {
    return exitWith(messageOf(fileRefusal(error) ?? error), 2);
  }
  const state = statePath(env);
  let lockAttempt: Lock;
  try {
    makeDirectory(state);
    exposed.push(...protectState(state));
    lockAttempt = Lock.take(join(state, "lock"));
  } catch (error) {
    const why = messageOf(fileRefusal(error) ?? error);
    return exitWith(
      `Cannot keep state in ${state}: ${why}; set MESH_STATE to use another directory`,
      1,
    );
  }
  using lock = lockAttempt;
  if (lock.holder !== undefined) {
    return exitWith(
      `Another daemon runs on ${state}: pid ${lock.holder}; stop it with \`mesh down\``,
      1,
    );
  }
  const log = jsonLog(systemClock, "info", boundedLog(join(state, "daemon.log")));
  logExposed(log, exposed);
  using _console = logConsole(log);
  return await serveUntilSignal(inForce, { state, env, log, runCommandLine });
}

async function serveUntilSignal(
  settings: ConfigInForce,
  { state, env, log, runCommandLine }: {
    readonly state: string;
    readonly env: Env;
    readonly log: Log;
    readonly runCommandLine: RunCommandLine | undefined;
  },
): Promise<number> {
  const [clock, ids] = [systemClock, randomIds];
  const { config } = settings;
  await using agents = await loadAgents({ clock, ids, log, state, env });
  const path = join(state, "mesh.db");
  const started = new StartedPrograms(join(state, "programs"));
  const options = { agents, started, clock, ids, log, state, env };
  const parts = await platformOf(settings, options);
  const platform: Platform = { ...parts, ...(runCommandLine && { runCommandLine }) };
  const opened = openOrExplain(path, () => createDaemon(config, createPrivate(path), platform));
  if (typeof opened === "string") return exitWith(opened, 1);
  await using daemon: Daemon = opened;
  daemon.start();
  const { background } = daemon.ctx;
  void background.run("A program of the last daemon was not ended", started.endLeft(clock, log));
  const signalled = nextStopSignal();
  let requests = 0;
  const server = listen(config, daemon, { log, onRequest: () => requests++ });
  if (typeof server === "string") return exitWith(server, 1);
  daemon.address.port = server.addr.port;
  const url = urlOf(server.addr);
  const tokenFile = join(state, "hook.token");
  if (!isHookToken(daemon.identity, readTextOrNothing(tokenFile))) {
    writePrivately(tokenFile, daemon.identity.hook_token);
  }
  const started_at = new Date(clock.now()).toISOString();
  const approvals = config["approvals.gated_tools"].length > 0
    ? { approval_seconds: config["approvals.timeout_seconds"] }
    : {};
  // Pids are reused: a client checks the start time before it sends a token to this process.
  const process = { pid: Deno.pid, process_started: startTimeOf(Deno.pid) };
  writeRuntimeFile(env, { ...process, url, started_at, ...approvals });
  log.info("The daemon is listening", { url, state, pid: Deno.pid });
  void RequestWrites.whenReady();
  const idleCollector = new IdleCollector(processHeap(), () => requests);
  const running = daemon.run(() => {
    idleCollector.tick();
    agents.tick(clock.monotonic());
  });
  const signal = await signalled;
  log.info("The daemon is shutting down", { signal });
  unlessError(isDiskError, () => Deno.removeSync(runtimePath(env)));
  await daemon.shutDown();
  await timeout(clock, SHUTDOWN_MS_MAX, server.shutdown());
  await running;
  return 0;
}

/** A private folder, without what a daemon that was killed has left in it. */
function emptyFolder(path: string): string {
  Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
  for (const { name } of Deno.readDirSync(path)) {
    Deno.removeSync(join(path, name), { recursive: true });
  }
  return path;
}

/** The real parts of this machine. */
async function platformOf(
  settings: ConfigInForce,
  { agents, started, clock, ids, log, state, env }: PlatformOptions & {
    readonly agents: AgentsPlatform;
    readonly started: StartedPrograms;
  },
): Promise<Platform> {
  // Loading it takes a fifth of the start, so only a daemon with a relay loads it.
  const openSocket = settings.config["relay.enabled"]
    ? (await import("../api/relay/relay_socket.ts")).socketsOf({ env, clock })
    : undefined;
  const openTelemetry = settings.config["telemetry.otlp"]
    ? (await import("../api/telemetry/telemetry.ts")).openTelemetry
    : undefined;
  const machine = Deno.hostname();
  const bus = settings.config["mesh.bus.url"] === undefined
    ? undefined
    : await (await import("./membership/membership.ts")).loadMachines(env, settings.config, {
      context: { clock, ids, log },
      hostname: machine,
    });
  if (typeof bus === "string") log.error("Other machines are not reached", { why: bus });
  return {
    clock,
    ids,
    log,
    machine,
    ...(typeof bus === "string" ? { machines: undefined, bus_fault: bus } : { machines: bus }),
    settings,
    idCodec: keyedIdCodec,
    peerIds: (daemon_id) => ownPeerIds(daemon_id, ids),
    pid: Deno.pid,
    processes: { ...agents.processes, terminalOf, signal: sendSignal },
    paneObserver: agents.paneObserver,
    adapters: () => agents.adapters,
    hooks: agents.hooks,
    toolClients: agents.toolClients,
    markers: new MarkerFiles(state, log),
    knownFailures: knownFailuresAt(join(state, VERDICTS_FILE)),
    terminals: agents.terminals,
    files: filesIn(join(state, "attachments")),
    programs: programRunnerOf(clock, env, started),
    ports: machinePorts,
    git: {
      readOutput: outputReaderOf(clock, started),
      env,
      folder: emptyFolder(join(state, "git")),
    },
    joining_folder: join(state, "joint-checks"),
    openSocket,
    openTelemetry,
    send: outgoingFetch(env, clock.now),
    sendPublicly: publicFetch({ env, now: clock.now }),
    sessionFilesOf: async (backend) => await definitionOf(backend)?.sessionFiles?.(env),
    paneOf: (socket, pane_id) => agents.paneOf(socket, pane_id),
    callers: callerFacts(env["PATH"] ?? ""),
  };
}

function listen(
  config: Config,
  daemon: Daemon,
  { log, onRequest }: { readonly log: Log; readonly onRequest: () => void },
): HttpListener | string {
  const { "daemon.host": hostname, "daemon.port": port } = config;
  const handle = (request: Request, remote: Deno.NetAddr) => {
    onRequest();
    return daemon.fetch(request, remote);
  };
  const onError = (error: unknown) => {
    log.error("A connection failed", { error });
    return new Response(null, { status: 500 });
  };
  try {
    return new HttpListener({ hostname, port, clock: systemClock, log, handle, onError });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      return `Port ${port} of ${hostname} is in use; set daemon.port to another port (0 picks a free port)`;
    }
    const why = messageOf(error);
    return `Cannot listen on ${hostname}, port ${port}: ${why}; see daemon.host and daemon.port`;
  }
}

/** Opens a daemon; returns a text if its database cannot be opened. */
function openOrExplain(path: string, open: () => Daemon): Daemon | string {
  try {
    return open();
  } catch (error) {
    const why = messageOf(error);
    return `Cannot open ${path}: ${why}; set MESH_STATE to use another directory`;
  }
}

/** Creates a missing file with mode 0600. SQLite gives its other files the same mode. */
function createPrivate(path: string): string {
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
  return path;
}

/** A lock on a file. The kernel releases it when the process ends, even after a crash. */
class Lock implements Disposable {
  readonly #file: Deno.FsFile;
  /** The pid of the other daemon that holds the lock; undefined if this process holds it. */
  readonly holder: string | undefined;

  private constructor(file: Deno.FsFile, holder: string | undefined) {
    this.#file = file;
    this.holder = holder;
  }

  static take(path: string): Lock {
    const file = Deno.openSync(path, { create: true, read: true, write: true, mode: 0o600 });
    if (!file.tryLockSync(true)) return new Lock(file, Deno.readTextFileSync(path) || "unknown");
    file.truncateSync();
    file.writeSync(new TextEncoder().encode(String(Deno.pid)));
    return new Lock(file, undefined);
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

function exitWith(message: string, code: number): number {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message}\n`));
  return code;
}

/** The daemon as a process: one for each state directory, from its lock to its last commit. */

import { join } from "node:path";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { messageOf } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { Listening } from "kit/host/listening.ts";
import type { Exposed } from "kit/host/private_files.ts";
import { jsonLog, type Log } from "kit/core/log.ts";
import { keyedNumbers } from "../features/messages/id_codec.ts";
import { agentsOf } from "./platform.ts";
import { VERDICTS_FILE } from "../features/agents/selftest/contract.ts";
import { marksIn } from "../features/agents/selftest/marks.ts";
import { Daemon } from "./daemon.ts";
import { type Config, readConfig } from "./config.ts";
import { closeConfig, closeState, logExposed } from "./exposure.ts";
import { filesIn } from "../host/files.ts";
import { type Env, readTextOrNothing, statePath, writePrivately } from "../host/paths.ts";
import { boundedLog } from "../host/log_file.ts";
import { Memory, ownHeap } from "../host/memory.ts";
import { parentOf, sendSignal, startOf } from "../host/processes.ts";
import { programsOf } from "../host/programs.ts";
import { runtimePath, writeRuntimeFile } from "../host/runtime_file.ts";
import { callerFacts } from "../host/sockets/caller_facts.ts";

/** How long requests that are under way may take to end once we go down. */
const DRAIN_MS_MAX = 5000;

/** Runs a daemon until SIGTERM or SIGINT; the exit code of the process. */
export async function runDaemon(env: Env): Promise<number> {
  let config: Config;
  const exposed: Exposed[] = [];
  try {
    exposed.push(...closeConfig(env));
    config = readConfig(env, readTextOrNothing);
  } catch (fault) {
    return say(messageOf(fault), 2);
  }
  const state = statePath(env);
  let held: Lock;
  try {
    Deno.mkdirSync(state, { recursive: true, mode: 0o700 });
    exposed.push(...closeState(state));
    held = Lock.take(join(state, "lock"));
  } catch (fault) {
    const why = messageOf(fault);
    return say(`Cannot keep state in ${state}: ${why}; MESH_STATE names another directory`, 1);
  }
  using lock = held;
  if (lock.holder !== undefined) {
    return say(
      `Another daemon runs on ${state}: pid ${lock.holder}; stop it with \`mesh down\``,
      1,
    );
  }
  const log = jsonLog(systemClock, "info", boundedLog(join(state, "daemon.log")));
  logExposed(log, exposed);
  return await serveUntilTold(config, { state, env, log });
}

async function serveUntilTold(
  config: Config,
  { state, env, log }: { state: string; env: Env; log: Log },
): Promise<number> {
  const [clock, ids] = [systemClock, randomIds];
  await using agents = await agentsOf({ clock, ids, log, state, env });
  const path = join(state, "mesh.db");
  // A fifth of the start, for those who have a relay.
  const dial = config["relay.enabled"] ? (await import("../api/relay/dial.ts")).dial : undefined;
  const opened = openOr(path, () =>
    new Daemon(config, privately(path), {
      clock,
      ids,
      log,
      machine: Deno.hostname(),
      numbers: keyedNumbers,
      pid: Deno.pid,
      processes: { startOf, isAlive: agents.isAlive, parentOf, signal: sendSignal },
      sights: agents.sights,
      adapters: () => agents.adapters,
      hooks: agents.hooks,
      marks: marksIn(join(state, VERDICTS_FILE)),
      terminals: agents.terminals,
      files: filesIn(join(state, "attachments")),
      programs: programsOf(clock, env),
      dial,
      send: (request) => fetch(request),
      sessionOf: (socket, pane_id) => agents.sessionOf(socket, pane_id),
      callers: callerFacts(env["PATH"] ?? ""),
    }));
  if (typeof opened === "string") return say(opened, 1);
  await using daemon: Daemon = opened;
  daemon.wakeUp();
  const told = signals();
  const server = listen(config, daemon, log);
  if (typeof server === "string") return say(server, 1);
  const { port, hostname: host } = server.addr;
  daemon.port = port;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  writePrivately(join(state, "hook.token"), daemon.identity.hook_token);
  const started_at = new Date(clock.now()).toISOString();
  const approvals = config["approvals.gated_tools"].length > 0
    ? { approval_seconds: config["approvals.timeout_seconds"] }
    : {};
  // A pid may be another program's once we are gone: whoever sends a token here looks at both.
  const process = { pid: Deno.pid, process_started: startOf(Deno.pid) };
  writeRuntimeFile(env, { ...process, url, started_at, ...approvals });
  log.info("The daemon listens", { url, state, pid: Deno.pid });
  const memory = new Memory(ownHeap());
  const beating = daemon.run(() => {
    memory.beat();
    agents.beat(clock.now());
  });
  const signal = await told;
  log.info("The daemon goes down", { signal });
  Deno.removeSync(runtimePath(env));
  await daemon.goDown();
  await timeout(clock, DRAIN_MS_MAX, server.shutdown());
  await beating;
  return 0;
}

function listen(config: Config, daemon: Daemon, log: Log): Listening | string {
  const { "daemon.host": hostname, "daemon.port": port } = config;
  const handle = (request: Request, remote: Deno.NetAddr) => daemon.fetch(request, remote);
  const broke = (fault: unknown) => {
    log.error("A connection failed", { fault });
    return new Response(null, { status: 500 });
  };
  try {
    return new Listening({ hostname, port, clock: systemClock, log, handle, broke });
  } catch (fault) {
    if (fault instanceof Deno.errors.AddrInUse) {
      return `Port ${port} of ${hostname} is taken; name another in daemon.port (0 picks one)`;
    }
    // Whatever else it is, the settings name an address that this machine cannot listen on.
    const why = messageOf(fault);
    return `Cannot listen on ${hostname}, port ${port}: ${why}; see daemon.host and daemon.port`;
  }
}

/** The daemon on its database, or why that cannot be read. */
function openOr(path: string, open: () => Daemon): Daemon | string {
  try {
    return open();
  } catch (fault) {
    const why = messageOf(fault);
    return `Cannot open ${path}: ${why}; MESH_STATE names another directory`;
  }
}

/** A file for our eyes only, made if it is not there; what SQLite puts beside it is as private. */
function privately(path: string): string {
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
  return path;
}

function signals(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => resolve(signal));
    }
  });
}

/** A lock that is held for the life of the process; the kernel lets go of it, whatever happens. */
class Lock implements Disposable {
  readonly #file: Deno.FsFile;
  /** The pid of the daemon that holds it, when that is not us. */
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

function say(sentence: string, code: number): number {
  writeLine(sentence);
  return code;
}

function writeLine(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}

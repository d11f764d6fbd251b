/** Starts, finds and stops the daemon of this state directory; never another one's. */

import { join } from "node:path";
import type { Clock } from "kit/core/clock.ts";
import { mustBeOurs } from "kit/host/private_files.ts";
import { tryJson } from "kit/core/text.ts";
import { type Env, statePath } from "../../daemon/host/paths.ts";
import { Health } from "../../daemon/api/events/contract.ts";
import { argumentsOf, startOf, terminate } from "../../daemon/host/processes.ts";
import { type Daemon, readSettings, Unreachable } from "./daemon_client.ts";
import { runningDaemon, type RuntimeInfo } from "../../daemon/host/runtime_file.ts";
import { Failed } from "./failures.ts";

const START_MS_MAX = 15_000;
/** A clean stop commits and tells every waiter; a daemon that needs longer is stuck. */
const STOP_MS_MAX = 15_000;
const LOOK_EVERY_MS = 25;
const LOG_LINES_SHOWN = 12;

export interface Up {
  readonly url: string;
  readonly pid: number;
  readonly log_file: string;
  readonly started: boolean;
}

export function logPath(env: Env): string {
  return join(statePath(env), "daemon.log");
}

/** The command line of this same program with other words, from source or compiled. */
export function ourselves(...words: string[]): { command: string; args: string[] } {
  if (Deno.build.standalone) return { command: Deno.execPath(), args: words };
  const main = new URL("../../main.ts", import.meta.url);
  return { command: Deno.execPath(), args: ["run", "-A", "--quiet", main.href, ...words] };
}

/** What the daemon says of itself; an answer of another shape is no daemon of ours. */
export async function healthOf({ url, get }: Daemon): Promise<Health> {
  const response = await get("/health");
  const text = await response.text();
  const health = Health.safeParse(tryJson(text));
  if (!health.success) throw new Unreachable(url, health.error);
  return health.data;
}

/** Undefined when nothing answers. */
export async function tryHealth(daemon: Daemon): Promise<Health | undefined> {
  try {
    return await healthOf(daemon);
  } catch (fault) {
    if (fault instanceof Unreachable) return undefined;
    throw fault;
  }
}

/** Starts a daemon that outlives us, and waits until it answers. */
export async function startDaemon(
  env: Env,
  clock: Clock,
  find: () => Daemon,
): Promise<Up> {
  readSettings(env);
  const log_file = logPath(env);
  const running = await tryHealth(find());
  if (running) return { url: find().url, pid: running.pid, log_file, started: false };
  Deno.mkdirSync(statePath(env), { recursive: true, mode: 0o700 });
  mustBeOurs(statePath(env)); // The daemon's log is written there before the daemon looks.
  const logged = sizeOf(log_file);
  const child = spawnDetached(env, log_file);
  let ended: Deno.CommandStatus | undefined;
  child.status.then((status) => ended = status);
  const until = clock.now() + START_MS_MAX;
  while (clock.now() < until) {
    const health = runningDaemon(env) && await tryHealth(find());
    if (health) return { url: find().url, pid: health.pid, log_file, started: true };
    if (ended) {
      throw new Failed(`The daemon ended with code ${ended.code}\n${tail(log_file, logged)}`);
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
  throw new Failed(`The daemon does not answer after ${START_MS_MAX / 1000} s; see ${log_file}`);
}

/** Asks the daemon to stop and waits until it is gone; undefined when none is up. */
export async function stopDaemon(
  env: Env,
  clock: Clock,
  daemon: Daemon,
): Promise<RuntimeInfo | undefined> {
  const beacon = runningDaemon(env);
  if (!beacon) {
    const other = await tryHealth(daemon);
    if (!other) return undefined;
    throw new Failed(
      `The daemon at ${daemon.url} (process ${other.pid}) is not of this state directory, ` +
        `${statePath(env)}; nothing was stopped`,
    );
  }
  const { pid } = beacon;
  if (!await isOurs(beacon, daemon)) {
    throw new Failed(`Process ${pid} of daemon.json is not a mesh daemon; nothing was stopped`);
  }
  const started = startOf(pid);
  if (started === undefined) return beacon;
  const ended = await terminate({ pid, started }, { term_ms: STOP_MS_MAX, clock });
  if (ended === "forbidden") throw new Failed(`Process ${pid} belongs to another user`);
  if (ended === "alive") {
    throw new Failed(`Process ${pid} has not ended after ${STOP_MS_MAX / 1000} s`);
  }
  return beacon;
}

/** A pid may have been given to another process: it answers as this pid, or its words say so. */
async function isOurs({ pid }: RuntimeInfo, daemon: Daemon): Promise<boolean> {
  const health = await tryHealth(daemon);
  return health?.pid === pid || argumentsOf(pid)?.at(-1) === "daemon";
}

/** `sh` opens the log, since a child's streams cannot outlive us otherwise. */
function spawnDetached(env: Env, log_file: string): Deno.ChildProcess {
  const { command, args } = ourselves("daemon");
  const child = new Deno.Command("sh", {
    args: ["-c", 'umask 077; log=$1; shift; exec "$@" >>"$log" 2>&1', "mesh", log_file, command]
      .concat(args),
    env: { ...env },
    clearEnv: true,
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  }).spawn();
  child.unref();
  return child;
}

/** The last lines that were written to a file after its first `skipped` bytes. */
export function tail(path: string, skipped = 0): string {
  const text = new TextDecoder().decode(Deno.readFileSync(path).subarray(skipped));
  return text.trimEnd().split("\n").slice(-LOG_LINES_SHOWN).join("\n");
}

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return 0;
    throw fault;
  }
}

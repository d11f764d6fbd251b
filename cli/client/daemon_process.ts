/** Starts, checks and stops the daemon of this state directory. */

import * as z from "zod";
import { ApiError } from "kit/http/client.ts";
import { join } from "kit/core/path.ts";
import { briefClock, type Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { makeDirectory } from "kit/host/durable_files.ts";
import { onFile, unlessMissing } from "kit/host/file_errors.ts";
import { mustBeOwned } from "kit/host/private_files.ts";
import { tryJson } from "kit/core/text.ts";
import { type Env, statePath } from "../../daemon/host/paths.ts";
import { Health } from "protocol/api/events.ts";
import { argumentsOf, startTimeOf, terminate } from "../../daemon/host/processes.ts";
import { type DaemonClient, DaemonUnreachable, isUnreachable } from "./daemon_client.ts";
import { readClientSettings, readSettings } from "./settings.ts";
import { runningDaemon, type RuntimeInfo } from "../../daemon/host/runtime_file.ts";
import { CommandError, unlessRejected } from "./failures.ts";
import { meshCommand } from "./program.ts";
import { DaemonService, THIS_HOST } from "./service_manager.ts";

const START_MS_MAX = 15_000;
/** Time limit for an answer about the daemon's health. */
const HEALTH_MS_MAX = 15_000;
/**
 * Time limit for a clean stop. The daemon commits and answers every waiter. If it needs longer, it
 * counts as stuck.
 */
const STOP_MS_MAX = 15_000;
const POLL_INTERVAL_MS = 25;
const LOG_LINES_SHOWN = 12;

export interface StartResult {
  readonly url: string;
  readonly pid: number;
  readonly log_file: string;
  readonly started: boolean;
  /** The file of the service that runs the daemon, and starts it again after a crash. */
  readonly service: string | null;
  /** The reason why an installed service does not run the daemon; null if it does. */
  readonly service_unused: string | null;
}

/** The environment and the clients of a command that starts or stops the daemon. */
interface DaemonOwner {
  readonly env: Env;
  readonly clock: Clock;
  readonly daemon: DaemonClient;
  /** Makes a client that has read the configuration again. */
  connect(readSettings: typeof readClientSettings): DaemonClient;
}

export function logPath(env: Env): string {
  return join(statePath(env), "daemon.log");
}

/** Error codes of a daemon that cannot reach the machine whose health was requested. */
const Refusal = z.looseObject({ error: z.string(), detail: z.string() });

/** Gets the whole answer of a path. Throws `DaemonUnreachable` if it takes longer than `ms_max`. */
export async function getWhole(
  { url, get }: Pick<DaemonClient, "url" | "get">,
  path: string,
  clock: Clock,
  ms_max: number,
): Promise<Pick<Response, "ok" | "status"> & { readonly text: string }> {
  const answer = await timeout(clock, ms_max, async (signal) => {
    const response = await get(path, { signal });
    return { ok: response.ok, status: response.status, text: await response.text() };
  });
  if (answer) return answer;
  throw new DaemonUnreachable(url, new Error(`no answer within ${ms_max / 1000} s`));
}

/** Returns the daemon's health. Throws `DaemonUnreachable` if the answer has another shape. */
export async function mustGetHealth(daemon: DaemonClient): Promise<Health> {
  const { url } = daemon;
  const { ok, status, text } = await getWhole(daemon, "/health", briefClock, HEALTH_MS_MAX);
  const answer = tryJson(text);
  const health = Health.safeParse(answer);
  const refusal = ok ? undefined : Refusal.safeParse(answer).data;
  if (refusal) throw new ApiError(status, refusal);
  if (!health.success) throw new DaemonUnreachable(url, health.error, { isTaken: true });
  return health.data;
}

/** Returns the daemon's health; undefined when nothing answers. */
export function getHealth(daemon: DaemonClient): Promise<Health | undefined> {
  return unlessRejected(isUnreachable, () => mustGetHealth(daemon));
}

/**
 * Starts a daemon that outlives this process, and waits until it answers. Where a service is
 * installed, the service manager starts it.
 */
export async function startDaemon(owner: DaemonOwner): Promise<StartResult> {
  const { env, clock } = owner;
  readSettings(env);
  const getClient = () => owner.connect(readClientSettings);
  const log_file = logPath(env);
  const running = await getRunning(env, getClient());
  const found = DaemonService.find(env, THIS_HOST);
  if (running) {
    const { pid } = running;
    const isUnused = found !== undefined && !await found.runs(pid);
    const used = {
      service: isUnused ? null : found?.path ?? null,
      service_unused: isUnused ? "the daemon was started without it" : null,
    };
    return { url: getClient().url, pid, log_file, started: false, ...used };
  }
  makeDirectory(statePath(env));
  mustBeOwned(statePath(env)); // The shell opens the log there before the daemon checks the folder.
  const logOffset = fileSize(log_file);
  mustBeAppendable(log_file);
  const used = await startService(found, env);
  const isOwnChild = used.service === null;
  const child = isOwnChild ? spawnLogged([...meshCommand(), "daemon"], env, log_file) : undefined;
  child?.unref();
  let ended: Deno.CommandStatus | undefined;
  child?.status.then((status) => ended = status);
  const deadline = clock.monotonic() + START_MS_MAX;
  while (clock.monotonic() < deadline) {
    const health = runningDaemon(env) && await getHealth(getClient());
    if (health) {
      return { url: getClient().url, pid: health.pid, log_file, started: true, ...used };
    }
    if (ended) throw endedAtStart(ended.code, tail(log_file, logOffset), log_file);
    await clock.sleep(POLL_INTERVAL_MS);
  }
  throw new CommandError(
    `The daemon has not answered within ${START_MS_MAX / 1000} s; see "${log_file}"`,
  );
}

type ServiceUse = Pick<StartResult, "service" | "service_unused">;

/** Lets the service manager start the daemon, unless it would run with other settings. */
async function startService(found: DaemonService | undefined, env: Env): Promise<ServiceUse> {
  const settings = found?.settingsNotIn(env) ?? [];
  const service_unused = settings.length > 0
    ? `it does not have ${settings.join(", ")}, which is set here`
    : await found?.start() ?? null;
  return { service: service_unused === null ? found?.path ?? null : null, service_unused };
}

/**
 * Returns the health of this state directory's daemon; undefined when none runs. Throws if another
 * program or another directory's daemon holds the address.
 */
async function getRunning(env: Env, daemon: DaemonClient): Promise<Health | undefined> {
  const isDown = (error: unknown) => isUnreachable(error) && !error.isTaken;
  const health = await unlessRejected(isDown, () => mustGetHealth(daemon));
  if (!health || runningDaemon(env)?.pid === health.pid) return health;
  throw new CommandError(
    `A daemon of another state directory than "${statePath(env)}" holds ${daemon.url} ` +
      `(process ${health.pid}); nothing was started.\nStop it with its own MESH_STATE, or use ` +
      "another port: MESH_DAEMON__PORT=9000 mesh up",
  );
}

/**
 * Asks the daemon to stop and waits until it has exited; undefined when no daemon is running. The
 * service manager stops a daemon that it runs, and no longer starts one that has crashed. `service`
 * of the result is the file of that service.
 */
export async function stopDaemon({ env, clock, daemon }: Omit<DaemonOwner, "connect">) {
  const runtimeInfo = runningDaemon(env);
  const found = DaemonService.find(env, THIS_HOST);
  if (!runtimeInfo) {
    await found?.stop("waiting");
    const otherDaemon = await getHealth(daemon);
    if (!otherDaemon) return undefined;
    throw new CommandError(
      `The daemon at ${daemon.url} (process ${otherDaemon.pid}) uses another state directory than ` +
        `"${statePath(env)}"; nothing was stopped. Set MESH_STATE to its directory`,
    );
  }
  const { pid } = runtimeInfo;
  if (!await isOwnDaemon(runtimeInfo, daemon)) {
    throw new CommandError(
      `daemon.json names process ${pid}, which is not a mesh daemon; nothing was stopped`,
    );
  }
  const started = startTimeOf(pid);
  const service = await found?.runs(pid) ? found : undefined;
  await service?.stop("running");
  const stopped = { ...runtimeInfo, service: service?.path ?? null };
  if (started === undefined) return stopped;
  const ended = await terminate({ pid, started }, { term_ms: STOP_MS_MAX, clock });
  if (ended === "forbidden") throw new CommandError(`Process ${pid} belongs to another user`);
  if (ended === "alive") {
    throw new CommandError(`Process ${pid} has not exited within ${STOP_MS_MAX / 1000} s`);
  }
  return stopped;
}

/** Stops the daemon if one runs, and starts it. `stopped` is null if no daemon ran. */
export async function restartDaemon(owner: DaemonOwner) {
  // A configuration with mistakes is refused first, because the daemon would not start again.
  readSettings(owner.env);
  const stopped = await stopDaemon(owner);
  const started = await startDaemon(owner);
  return { stopped: stopped?.pid ?? null, ...started };
}

/**
 * True if this process is the daemon. The system may have reused the pid, so the health answer or
 * the command line of the process must match.
 */
async function isOwnDaemon({ pid }: RuntimeInfo, daemon: DaemonClient): Promise<boolean> {
  const health = await getHealth(daemon);
  return health?.pid === pid || argumentsOf(pid)?.at(-1) === "daemon";
}

/** Throws if the log cannot be opened: without it, a failed start would show no reason. */
function mustBeAppendable(log_file: string): void {
  const options = { append: true, create: true, mode: 0o600 } as const;
  onFile("write", log_file, () => Deno.openSync(log_file, options).close());
}

/**
 * Starts a program that writes to a log, in a group of its own, so that Ctrl-C does not reach it.
 * `sh` opens the log, because streams that Deno pipes would close when this process exits.
 */
export function spawnLogged(
  argv: readonly string[],
  env: Env,
  log_file: string,
): Deno.ChildProcess {
  const script = 'umask 077; log=$1; shift; exec "$@" >>"$log" 2>&1';
  const command = new Deno.Command("sh", {
    args: ["-c", script, "mesh", log_file, ...argv],
    env: { ...env },
    clearEnv: true,
    cwd: "/",
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  });
  try {
    return command.spawn();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new CommandError("sh, which starts the daemon, is not on the PATH; add /bin to it");
  }
}

/** Explains a start without output: usually the daemon could not write its log. */
function endedAtStart(code: number, why: string, log_file: string): CommandError {
  const reason = why !== ""
    ? `:\n${why}`
    : ` and wrote nothing into "${log_file}"; a full disk is one reason. To see it: mesh daemon`;
  return new CommandError(`The daemon exited with code ${code}${reason}`);
}

/** The last lines of a file after its first `offset` bytes. */
export function tail(path: string, offset = 0): string {
  const text = new TextDecoder().decode(Deno.readFileSync(path).subarray(offset));
  return text.trimEnd().split("\n").slice(-LOG_LINES_SHOWN).join("\n");
}

/** The size of a file; undefined when the file does not exist. */
export function fileSize(path: string): number | undefined {
  return unlessMissing(() => Deno.statSync(path).size);
}

/** Starts, reloads and stops the nats-server of this state directory. */

import * as z from "zod";
import { join } from "kit/core/path.ts";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { messageOf, tryJson } from "kit/core/text.ts";
import { parseAddresses } from "../../../daemon/machines/nats/addresses.ts";
import { connectTo } from "../../../daemon/machines/nats/connection.ts";
import { prepareStore } from "../../../daemon/machines/nats/store.ts";
import { type Env, readTextOrNothing } from "../../../daemon/host/paths.ts";
import { argumentsOf, sendSignal, terminate } from "../../../daemon/host/processes.ts";
import { runProgram } from "../../../daemon/host/program_group.ts";
import { fileSize, spawnLogged, tail } from "../../client/daemon_process.ts";
import { CommandError } from "../../client/failures.ts";
import { programsOnPath } from "../../client/program.ts";
import {
  ensureAdmin,
  localAddressOf,
  removeRunning,
  type RunningServer,
  runningServer,
  serverPaths,
  type ServerSettings,
  writeRunning,
} from "./server_files.ts";

const PROGRAM = "nats-server";
const VERSION_MS_MAX = 5000;
const START_MS_MAX = 15_000;
const STOP_MS_MAX = 15_000;
const RELOAD_MS_MAX = 10_000;
const POLL_INTERVAL_MS = 25;
/** Distributions install programs of the system where a user's PATH may not look. */
const MORE_FOLDERS = ["/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
const RELOADED = "Reloaded server configuration";

const Ports = z.object({ nats: z.array(z.string()).min(1) });

/** The path of the program. Throws an error that names the package to install. */
export function mustFindServer(env: Env, more = MORE_FOLDERS): string {
  const PATH = [env["PATH"] ?? "", ...more].join(":");
  const [path] = programsOnPath(PROGRAM, { ...env, PATH });
  if (path !== undefined) return path;
  throw new CommandError(
    `${PROGRAM} is not installed; it carries the messages between machines. Install it, for ` +
      "example with: apt install nats-server, or: brew install nats-server",
  );
}

/**
 * The reason to replace the installed server; undefined if its version is safe. Before 2.10.27, and
 * in 2.11.0, any member can make the server delete the whole store (CVE-2025-30215).
 */
export async function weaknessOf(program: string): Promise<string | undefined> {
  const options = { clock: systemClock, timeout_ms: VERSION_MS_MAX };
  const { stdout } = await runProgram([program, "--version"], options);
  const [, version = ""] = /v(\d+\.\d+\.\d+)/.exec(stdout) ?? [];
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  const isSound = major > 2 || (major === 2 && (minor > 11 || (minor === 11 && patch > 0) ||
    (minor === 10 && patch >= 27)));
  if (isSound || version === "") return undefined;
  return `${PROGRAM} ${version} lets any machine that you allow delete what is stored ` +
    "(CVE-2025-30215); messages are then sent again, attachments are not. Install 2.10.27, " +
    "2.11.1 or newer, unless all machines are yours.";
}

export interface StartedServer {
  readonly process: Deno.ChildProcess;
  /** The port at which it listens. */
  readonly port: number;
}

/**
 * Starts the server and waits until it listens. It opens its log itself, once it has read its
 * configuration.
 */
export async function startServer(
  env: Env,
  clock: Clock,
  { outlives }: { readonly outlives: boolean },
): Promise<StartedServer> {
  const paths = serverPaths(env);
  const program = mustFindServer(env);
  const logOffset = fileSize(paths.log) ?? 0;
  const line = ["-c", paths.config, "-l", paths.log, "--ports_file_dir", paths.directory];
  const process = spawnLogged([program, ...line], env, paths.log);
  if (outlives) process.unref();
  let ended: Deno.CommandStatus | undefined;
  process.status.then((status) => ended = status);
  const portsFile = join(paths.directory, `${PROGRAM}_${process.pid}.ports`);
  const deadline = clock.monotonic() + START_MS_MAX;
  while (clock.monotonic() < deadline) {
    const port = portIn(portsFile);
    if (port !== undefined) {
      writeRunning(env, process.pid);
      return { process, port };
    }
    if (ended) {
      throw new CommandError(
        `${PROGRAM} exited with code ${ended.code}:\n${tail(paths.log, logOffset)}`,
      );
    }
    await clock.sleep(POLL_INTERVAL_MS);
  }
  throw new CommandError(
    `${PROGRAM} has not listened within ${START_MS_MAX / 1000} s; see "${paths.log}"`,
  );
}

/** Makes the stores of the bus, as the server's administrator. */
export async function prepareServer(
  env: Env,
  settings: Pick<ServerSettings, "port">,
  daemonId: string,
): Promise<void> {
  const [address] = parseAddresses(localAddressOf(settings));
  if (!address) throw new Error("An address was parsed to nothing");
  const { seed } = await ensureAdmin(env);
  const connection = await connectTo(address, {
    credentials: { seed },
    ca_path: serverPaths(env).authority,
    daemonId,
    name: "mesh machines serve",
  });
  try {
    await prepareStore(connection);
  } catch (error) {
    throw new CommandError(`${PROGRAM} cannot store messages: ${messageOf(error)}`);
  } finally {
    await connection.close();
  }
}

/** Lets the server read its configuration again. Returns false if none runs. */
export async function reloadServer(env: Env, clock: Clock): Promise<boolean> {
  const running = runningServer(env);
  if (!running) return false;
  mustBeServer(running);
  const { log } = serverPaths(env);
  const logOffset = fileSize(log) ?? 0;
  if (sendSignal(running.pid, "SIGHUP") !== "sent") return false;
  const deadline = clock.monotonic() + RELOAD_MS_MAX;
  while (clock.monotonic() < deadline) {
    const written = readTextOrNothing(log)?.slice(logOffset) ?? "";
    if (written.includes(RELOADED)) return true;
    const failure = /Failed to reload server configuration: (.*)/.exec(written)?.[1];
    if (failure !== undefined) {
      throw new CommandError(`${PROGRAM} refuses its new configuration: ${failure}`);
    }
    await clock.sleep(POLL_INTERVAL_MS);
  }
  throw new CommandError(
    `${PROGRAM} has not read its configuration within ${RELOAD_MS_MAX / 1000} s; see "${log}"`,
  );
}

/** Stops the server, and waits until it has exited. Returns its pid; undefined if none runs. */
export async function stopServer(env: Env, clock: Clock): Promise<number | undefined> {
  const running = runningServer(env);
  if (!running) return undefined;
  mustBeServer(running);
  const ended = await terminate(running, { term_ms: STOP_MS_MAX, clock });
  if (ended === "forbidden") throw new CommandError(`Process ${running.pid} is another user's`);
  if (ended === "alive") {
    throw new CommandError(`Process ${running.pid} has not exited within ${STOP_MS_MAX / 1000} s`);
  }
  removeRunning(env);
  return running.pid;
}

/** The file may have been copied from another machine, where the pid means another process. */
function mustBeServer({ pid }: RunningServer): void {
  if (argumentsOf(pid)?.[0]?.endsWith(PROGRAM)) return;
  throw new CommandError(`running.json names process ${pid}, which is not ${PROGRAM}`);
}

/** The port in the file that the server writes once it listens; undefined before that. */
function portIn(path: string): number | undefined {
  const ports = Ports.safeParse(tryJson(readTextOrNothing(path) ?? ""));
  const [url] = ports.success ? ports.data.nats : [];
  const port = Number(/:(\d+)$/.exec(url ?? "")?.[1]);
  return port > 0 ? port : undefined;
}

/** The service that starts the daemon at login: a systemd user unit, or a launchd agent. */

import { systemClock } from "kit/core/clock.ts";
import { dirname } from "kit/core/path.ts";
import {
  configHome,
  type Env,
  homePath,
  readTextOrNothing,
  statePath,
} from "../../daemon/host/paths.ts";
import { OUTGOING_VARIABLES } from "kit/net/outgoing/variables.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import { removeIfPresent } from "../../daemon/host/paths.ts";
import { runProgram } from "../../daemon/host/program_group.ts";
import { logPath } from "../client/daemon_process.ts";
import { CommandError } from "../client/failures.ts";
import { programsOnPath } from "../client/program.ts";
import launchdPlist from "./units/launchd.plist" with { type: "text" };
import systemdUnit from "./units/mesh.service" with { type: "text" };

/** Decides where the daemon finds tmux, its configuration, its state, and servers outside. */
const VARIABLES = [
  ...OUTGOING_VARIABLES,
  "PATH",
  "MESH_CONFIG",
  "MESH_STATE",
  "TMUX_TMPDIR",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
];
const LAUNCHD_LABEL = "agent-mesh.daemon";

type Argv = readonly [string, ...string[]];

/** A service of this user: its file, and the programs that start and stop it. */
export interface Service {
  readonly path: string;
  readonly text: string;
  readonly start: readonly Argv[];
  readonly stop: readonly Argv[];
  /** Run when the file is gone. */
  readonly removed: readonly Argv[];
  /** What starts the daemon without a login; undefined where that is not possible. */
  readonly at_boot: string | undefined;
}

/** The machine that a service is made for. */
export interface ServiceHost {
  readonly os: typeof Deno.build.os;
  readonly uid: number | null;
  /** Runs a program; returns its error output if it fails. */
  run(argv: Argv): Promise<string | undefined>;
}

/** The service of this user; undefined where there is no known service manager. */
export function serviceOf(
  { os, uid }: ServiceHost,
  env: Env,
  command: readonly string[],
): Service | undefined {
  if (os === "darwin") return launchdAgent(env, command, uid ?? 0);
  return os === "linux" && programsOnPath("systemctl", env).length > 0
    ? systemdService(env, command)
    : undefined;
}

function systemdService(env: Env, command: readonly string[]): Service {
  const systemctl = (...args: string[]): Argv => ["systemctl", "--user", ...args];
  const environment = variablesOf(env).map((pair) => `Environment=${systemdQuote(pair.join("="))}`);
  return {
    path: `${configHome(env)}/systemd/user/mesh.service`,
    text: filledIn(systemdUnit, {
      COMMAND: command.map((word) => systemdQuote(word.replaceAll("$", "$$$$"))).join(" "),
      ENVIRONMENT: environment.join("\n"),
      LOG: logPath(env).replaceAll("%", "%%"),
    }),
    start: [systemctl("daemon-reload"), systemctl("enable", "--now", "mesh.service")],
    stop: [systemctl("disable", "--now", "mesh.service")],
    removed: [systemctl("daemon-reload")],
    at_boot: "loginctl enable-linger",
  };
}

function launchdAgent(env: Env, command: readonly string[], uid: number): Service {
  const path = homePath(env, "Library", "LaunchAgents", `${LAUNCHD_LABEL}.plist`);
  const string = (text: string) => `<string>${xmlText(text)}</string>`;
  const environment = variablesOf(env).map(([name, value]) =>
    `    <key>${name}</key>\n    ${string(value)}`
  );
  return {
    path,
    text: filledIn(launchdPlist, {
      COMMAND: command.map((word) => `    ${string(word)}`).join("\n"),
      ENVIRONMENT: environment.join("\n"),
      LOG: xmlText(logPath(env)),
    }),
    start: [["launchctl", "bootstrap", `gui/${uid}`, path]],
    stop: [["launchctl", "bootout", `gui/${uid}/${LAUNCHD_LABEL}`]],
    removed: [],
    at_boot: undefined,
  };
}

function variablesOf(env: Env): [string, string][] {
  return VARIABLES.flatMap((name): [string, string][] => env[name] ? [[name, env[name]]] : []);
}

function filledIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/@([A-Z]+)@/g, (_, name: string) => values[name] ?? "");
}

/** Quotes one word of a unit; a percent sign would begin a specifier. */
function systemdQuote(word: string): string {
  const escaped = word.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("\n", "\\n");
  return `"${escaped}"`;
}

function xmlText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Writes the service's file and starts it. The daemon must not be running. */
export async function installService(service: Service, host: ServiceHost, env: Env): Promise<void> {
  makeDirectory(statePath(env)); // The log is opened there.
  Deno.mkdirSync(dirname(service.path), { recursive: true });
  const isInstalled = readTextOrNothing(service.path) !== undefined;
  // A service that runs keeps its old file; one that is broken cannot be stopped, which is fine.
  if (isInstalled) { for (const argv of service.stop) await host.run(argv); }
  writePrivately(service.path, service.text);
  for (const argv of service.start) await mustRun(host, argv);
}

/** Stops the service and removes its file. Returns false if there is none. */
export async function removeService(service: Service, host: ServiceHost): Promise<boolean> {
  if (readTextOrNothing(service.path) === undefined) return false;
  const failures: string[] = [];
  for (const argv of service.stop) {
    const failure = await host.run(argv);
    if (failure !== undefined) failures.push(failure);
  }
  removeIfPresent(service.path);
  for (const argv of service.removed) await host.run(argv);
  if (failures.length > 0) {
    throw new CommandError(`Removed ${service.path}, but it was not stopped: ${failures.join()}`);
  }
  return true;
}

async function mustRun(host: ServiceHost, argv: Argv): Promise<void> {
  const failure = await host.run(argv);
  if (failure !== undefined) throw new CommandError(`${argv.join(" ")} failed: ${failure}`);
}

/**
 * Time limit for a command of the service manager, which waits until a daemon has completed its
 * running work and stopped.
 */
const MANAGER_MS_MAX = 90_000;

/** This machine. */
export const THIS_HOST: ServiceHost = {
  os: Deno.build.os,
  uid: Deno.uid(),
  async run(argv) {
    try {
      const options = { clock: systemClock, timeout_ms: MANAGER_MS_MAX };
      const { code, timed_out, stderr } = await runProgram(argv, options);
      if (timed_out) return `it did not answer within ${MANAGER_MS_MAX / 1000} s`;
      return code === 0 ? undefined : stderr.trim() || "no reason given";
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return `there is no program ${argv[0]}`;
    }
  },
};

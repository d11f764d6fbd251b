/** The service that starts the daemon at login: a systemd user unit, or a launchd agent. */

import { escapeMarkup } from "kit/core/text.ts";
import { dirname } from "kit/core/path.ts";
import {
  type Env,
  readTextOrNothing,
  removeIfPresent,
  statePath,
} from "../../daemon/host/paths.ts";
import { OUTGOING_VARIABLES } from "kit/net/outgoing/proxies.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import { logPath } from "../client/daemon_process.ts";
import { CommandError } from "../client/failures.ts";
import {
  type Argv,
  type ServiceHost,
  type ServiceManager,
  serviceManagerOf,
} from "../client/service_manager.ts";
import launchdPlist from "./units/launchd.plist" with { type: "text" };
import systemdUnit from "./units/mesh.service" with { type: "text" };

/** Variables by which the daemon finds tmux, its configuration, its state, and servers outside. */
const VARIABLES = [
  ...OUTGOING_VARIABLES,
  "PATH",
  "MESH_CONFIG",
  "MESH_STATE",
  "TMUX_TMPDIR",
  "XDG_CONFIG_HOME",
  "XDG_STATE_HOME",
];

/** The service of this user's daemon: how its manager keeps it, and the text of its file. */
export interface Service extends ServiceManager {
  readonly text: string;
}

/** The service of this user; undefined where there is no known service manager. */
export function serviceOf(
  host: Pick<ServiceHost, "os" | "uid">,
  env: Env,
  command: readonly string[],
): Service | undefined {
  const manager = serviceManagerOf(host, env);
  const textOf = host.os === "darwin" ? launchdAgent : systemdService;
  return manager && { ...manager, text: textOf(env, command) };
}

function systemdService(env: Env, command: readonly string[]): string {
  const environment = variablesOf(env).map((pair) => `Environment=${systemdQuote(pair.join("="))}`);
  return filledIn(systemdUnit, {
    COMMAND: command.map((word) => systemdQuote(word.replaceAll("$", "$$$$"))).join(" "),
    ENVIRONMENT: environment.join("\n"),
    LOG: logPath(env).replaceAll("%", "%%"),
  });
}

function launchdAgent(env: Env, command: readonly string[]): string {
  const string = (text: string) => `<string>${escapeMarkup(text)}</string>`;
  const environment = variablesOf(env).map(([name, value]) =>
    `    <key>${name}</key>\n    ${string(value)}`
  );
  return filledIn(launchdPlist, {
    COMMAND: command.map((word) => `    ${string(word)}`).join("\n"),
    ENVIRONMENT: environment.join("\n"),
    LOG: escapeMarkup(logPath(env)),
  });
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

/** Writes the service's file and starts it. The daemon must not be running. */
export async function installService(service: Service, host: ServiceHost, env: Env): Promise<void> {
  makeDirectory(statePath(env)); // The log is opened there.
  Deno.mkdirSync(dirname(service.path), { recursive: true });
  const isInstalled = readTextOrNothing(service.path) !== undefined;
  // A running service keeps its old file. Disabling a broken one fails, which is harmless.
  if (isInstalled) { for (const argv of service.disable) await host.run(argv); }
  writePrivately(service.path, service.text);
  for (const argv of service.enable) await mustRun(host, argv);
}

/** Stops the service and removes its file. Returns false if there is none. */
export async function removeService(service: Service, host: ServiceHost): Promise<boolean> {
  if (readTextOrNothing(service.path) === undefined) return false;
  const failures: string[] = [];
  for (const argv of service.disable) {
    const { failure } = await host.run(argv);
    if (failure !== undefined) failures.push(failure);
  }
  removeIfPresent(service.path);
  for (const argv of service.forget) await host.run(argv);
  if (failures.length > 0) {
    throw new CommandError(`Removed ${service.path}, but it was not stopped: ${failures.join()}`);
  }
  return true;
}

async function mustRun(host: ServiceHost, argv: Argv): Promise<void> {
  const { failure } = await host.run(argv);
  if (failure !== undefined) throw new CommandError(`${argv.join(" ")} failed: ${failure}`);
}

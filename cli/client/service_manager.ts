/** The service manager of this user, systemd or launchd, and the daemon's service in it. */

import { systemClock } from "kit/core/clock.ts";
import { isDescendant } from "../../daemon/host/processes.ts";
import { runProgram } from "../../daemon/host/program_group.ts";
import {
  configHome,
  configPath,
  type Env,
  homePath,
  readTextOrNothing,
  statePath,
} from "../../daemon/host/paths.ts";
import { programsOnPath } from "./program.ts";

const SYSTEMD_UNIT = "mesh.service";
const LAUNCHD_LABEL = "agent-mesh.daemon";

export type Argv = readonly [string, ...string[]];

/** The machine whose service manager is called. */
export interface ServiceHost {
  readonly os: typeof Deno.build.os;
  readonly uid: number | null;
  run(argv: Argv): Promise<Ran>;
}

/** The result of a command of the service manager. */
interface Ran {
  readonly stdout: string;
  /** The reason of a failure; undefined if the command succeeded. */
  readonly failure: string | undefined;
}

/** The file and the commands of the daemon's service. */
export interface ServiceManager {
  /** The service's file. */
  readonly path: string;
  /** Succeeds if the manager answers; undefined if it always does. */
  readonly probe: Argv | undefined;
  /** Parses the environment that a service's file sets. */
  environmentIn(text: string): Record<string, string>;
  /** Commands that start a new service, now and at every login. */
  readonly enable: readonly Argv[];
  /** Commands that undo `enable`. */
  readonly disable: readonly Argv[];
  /** Commands to run after the file is removed. */
  readonly forget: readonly Argv[];
  /** Commands that start an enabled service; each is tried only if the one before it fails. */
  readonly start: readonly Argv[];
  /** Stops a service whose process runs, or one that waits to be started again after a crash. */
  readonly stop: { readonly running: Argv; readonly waiting: Argv };
  /** Prints the pid of its main process, which `pid` finds in the output. */
  readonly show: Argv;
  readonly pid: RegExp;
}

/** The user's service manager: launchd or systemd. Undefined if the system has neither. */
export function serviceManagerOf(
  { os, uid }: Pick<ServiceHost, "os" | "uid">,
  env: Env,
): ServiceManager | undefined {
  if (os === "darwin") return launchd(env, uid ?? 0);
  return os === "linux" && programsOnPath("systemctl", env).length > 0 ? systemd(env) : undefined;
}

/**
 * The reason why no service can be installed; undefined if one can. Containers, and sessions of
 * `su` and `sudo`, may have systemd's program without a systemd that answers this user.
 */
export async function whyNoService(
  manager: Pick<ServiceManager, "probe"> | undefined,
  host: Pick<ServiceHost, "run">,
): Promise<string | undefined> {
  if (!manager) return "this system has neither systemd nor launchd";
  const failure = manager.probe && (await host.run(manager.probe)).failure;
  return failure && `systemd does not answer this user: ${failure}`;
}

function systemctl(...args: string[]): Argv {
  return ["systemctl", "--user", ...args];
}

function systemd(env: Env): ServiceManager {
  const stop = systemctl("stop", SYSTEMD_UNIT);
  return {
    path: `${configHome(env)}/systemd/user/${SYSTEMD_UNIT}`,
    probe: systemctl("show", "--property=Version"),
    environmentIn: (text) =>
      pairsIn(
        text,
        /^Environment="(\w+)=((?:[^"\\]|\\.)*)"$/gm,
        (value) => value.replaceAll(/\\(.)|%%/g, (_, char = "%") => char),
      ),
    enable: [systemctl("daemon-reload"), systemctl("enable", "--now", SYSTEMD_UNIT)],
    disable: [systemctl("disable", "--now", SYSTEMD_UNIT)],
    forget: [systemctl("daemon-reload")],
    start: [systemctl("start", SYSTEMD_UNIT)],
    stop: { running: stop, waiting: stop },
    show: systemctl("show", "--property=MainPID", SYSTEMD_UNIT),
    pid: /^MainPID=([1-9]\d*)$/m,
  };
}

function launchd(env: Env, uid: number): ServiceManager {
  const path = homePath(env, "Library", "LaunchAgents", `${LAUNCHD_LABEL}.plist`);
  const target = `gui/${uid}/${LAUNCHD_LABEL}`;
  const bootstrap: Argv = ["launchctl", "bootstrap", `gui/${uid}`, path];
  const bootout: Argv = ["launchctl", "bootout", target];
  return {
    path,
    probe: undefined,
    environmentIn: (text) =>
      pairsIn(
        text,
        /<key>(\w+)<\/key>\s*<string>([^<]*)<\/string>/g,
        (value) => value.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
      ),
    enable: [bootstrap],
    disable: [bootout],
    forget: [],
    start: [["launchctl", "kickstart", target], bootstrap],
    stop: { running: ["launchctl", "kill", "SIGTERM", target], waiting: bootout },
    show: ["launchctl", "print", target],
    pid: /^[ \t]*pid = (\d+)$/m,
  };
}

function pairsIn(text: string, pattern: RegExp, unquote: (value: string) => string) {
  return Object.fromEntries(
    [...text.matchAll(pattern)].map(([, name = "", value = ""]) => [name, unquote(value)]),
  );
}

/** The installed service of the daemon of this state directory and configuration. */
export class DaemonService {
  readonly path: string;
  readonly #manager: ServiceManager;
  readonly #host: ServiceHost;
  readonly #environment: Env;

  private constructor(manager: ServiceManager, host: ServiceHost, environment: Env) {
    this.path = manager.path;
    this.#manager = manager;
    this.#host = host;
    this.#environment = environment;
  }

  /**
   * Finds the service. Undefined if none is installed, or if it has another state directory or
   * configuration.
   */
  static find(env: Env, host: ServiceHost): DaemonService | undefined {
    const manager = serviceManagerOf(host, env);
    const text = manager && readTextOrNothing(manager.path);
    if (!manager || text === undefined) return undefined;
    const environment = { HOME: env["HOME"] ?? "", ...manager.environmentIn(text) };
    const isOurs = statePath(environment) === statePath(env) &&
      configPath(environment) === configPath(env);
    return isOurs ? new DaemonService(manager, host, environment) : undefined;
  }

  /** Settings of this environment, such as `MESH_DAEMON__PORT`, that the service does not have. */
  settingsNotIn(env: Env): string[] {
    return Object.keys(env).filter((name) =>
      /^MESH_[A-Z].*__/.test(name) && this.#environment[name] !== env[name]
    );
  }

  /** True if the service manager runs this process. */
  async runs(pid: number): Promise<boolean> {
    const { stdout } = await this.#host.run(this.#manager.show);
    const main = this.#manager.pid.exec(stdout)?.[1];
    return main !== undefined && isDescendant(pid, Number(main));
  }

  /** Returns why the service could not be started; undefined if it was. */
  async start(): Promise<string | undefined> {
    const failures = [];
    for (const argv of this.#manager.start) {
      const { failure } = await this.#host.run(argv);
      if (failure === undefined) return undefined;
      failures.push(`${argv.join(" ")} failed: ${failure}`);
    }
    return failures.join("; ");
  }

  /** Stops the service, or its next start after a crash. After a failure its process still runs. */
  async stop(state: "running" | "waiting"): Promise<void> {
    await this.#host.run(this.#manager.stop[state]);
  }
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
      const { code, timed_out, stdout, stderr } = await runProgram(argv, options);
      if (timed_out) {
        return { stdout, failure: `it did not answer within ${MANAGER_MS_MAX / 1000} s` };
      }
      return { stdout, failure: code === 0 ? undefined : stderr.trim() || "no reason given" };
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      return { stdout: "", failure: `there is no program ${argv[0]}` };
    }
  },
};

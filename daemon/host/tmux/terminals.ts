/** Opens tmux panes and starts agents in them. Runs programs directly, without a shell. */

import { dirname } from "kit/core/path.ts";
import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { assignedPath, isInstalled } from "../executables.ts";
import { ownSocket } from "./pane_observer.ts";
import { groupOf, isDescendant } from "../processes.ts";
import { ANSWER_MS_MAX, clientEnvironment, type Failure, type Result } from "./connection.ts";
import type { Tmux, TmuxServers } from "./tmux.ts";
import { type Pane, PANE_FORMAT } from "./pane.ts";
import { checkSocket, whyUnsafeFolder } from "../trusted_socket.ts";

/** A program to run directly, in `cwd`, with `env` added to the environment of the tmux server. */
export interface Launch {
  readonly cwd: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** A text by which `find` recognizes the pane if its id was lost. */
  readonly mark?: string | undefined;
  /** The words of `argv` that a person added to a command. `addedWords` reads them again. */
  readonly added?: readonly string[];
}

export type OpenResult = { readonly ok: true; readonly pane: Pane } | {
  readonly ok: false;
  /** The message of tmux, or of this module. */
  readonly reason: string;
};

/** The operations of tmux and the kernel that are needed to start agents. */
export type Terminals = Pick<Panes, keyof Panes>;

type PaneProcess = Pick<Pane, "pane_id" | "pane_pid">;

interface PanesOptions {
  readonly tmuxServers: TmuxServers;
  readonly clock: Clock;
  readonly log: Log;
  /** The daemon's own environment. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Variables that are removed from the environment of the programs that the daemon starts: secrets
 * of mesh, and variables by which a running agent recognizes itself.
 */
const WITHHELD = [
  /^(MESH|RELAY)_\w*(TOKEN|SECRET|PASSWORD|KEY)/i,
  /^MESH_(SURFACES|RELAY|SPAWN)__/i, // The variables of spawned agents may hold keys.
  /^MESH_(ROUTING__WEBHOOK|JOBS__CHECKS|TELEMETRY__HEADERS)$/i,
  /^RELAY_TELEMETRY_HEADERS$/i,
  /^(CLAUDECODE|CLAUDE_PID|CLAUDE_ENV_FILE|CLAUDE_CODE_(SESSION_ID|ENTRYPOINT))$/,
  /^CLAUDE_CODE_MESSAGING_(SOCKET|TOKEN)$/,
];

const MESH_PATHS: readonly string[] = ["MESH_STATE", "MESH_CONFIG"];

/** True if a variable is removed from the environment of programs that the daemon starts. */
export function isWithheld(variable: string): boolean {
  return WITHHELD.some((pattern) => pattern.test(variable));
}

/** The environment for programs that are not part of mesh. */
export function withoutSecrets(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isWithheld(name)));
}

const PRINT_PANE = ["-P", "-F", PANE_FORMAT];
/** The window size of a session that has no attached client. */
const WINDOW_SIZE = ["-x", "200", "-y", "50"];

export class Panes {
  /** The user's home folder, for paths that begin with `~`. */
  readonly home: string;
  /** The socket of the tmux server in which agents are started by default. */
  readonly socket: string;
  readonly #options: PanesOptions;

  constructor(options: PanesOptions) {
    const { env } = this.#options = options;
    this.home = env["HOME"] ?? "/";
    this.socket = ownSocket(env);
  }

  /** True if tmux is installed. */
  async isAvailable(): Promise<boolean> {
    try {
      const { success } = await new Deno.Command("tmux", {
        args: ["-V"],
        env: clientEnvironment(this.#options.env["PATH"] ?? ""),
        clearEnv: true,
        stdout: "null",
        stderr: "null",
      }).output();
      return success;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  /**
   * Opens a window in the session whose name satisfies `isNamed`; creates it if necessary. Runs
   * exclusively per session name: otherwise two concurrent calls would create the session.
   */
  openWindow(
    socket: string,
    session: string,
    launch: Launch,
    isNamed = (name: string) => name === session,
  ): Promise<OpenResult> {
    const tmux = this.#options.tmuxServers.at(socket);
    return tmux.runExclusive(`session ${session}`, async () => {
      const listed = await tmux.sessions();
      if (!listed.ok && listed.reason !== "no_server") return toRefusal(listed);
      if (!listed.ok) return await this.#startServer(tmux, session, launch);
      const launchArgs = await this.#launchArgs(tmux, launch);
      const present = listed.sessions.find(({ session }) => isNamed(session));
      const target = present
        ? ["new-window", "-d", "-t", `${present.session_id}:`]
        : ["new-session", "-d", "-E", "-s", session, ...WINDOW_SIZE];
      return toOpenResult(tmux, await tmux.run([...target, ...PRINT_PANE, ...launchArgs]));
    });
  }

  /** Opens a new pane by splitting the window of a pane. */
  async splitWindow(socket: string, pane_id: string, launch: Launch): Promise<OpenResult> {
    const tmux = this.#options.tmuxServers.at(socket);
    if (!await this.getPane(socket, pane_id)) return { ok: false, reason: `no pane ${pane_id}` };
    const launchArgs = await this.#launchArgs(tmux, launch);
    const target = ["split-window", "-d", "-t", pane_id];
    const split = await tmux.run([...target, ...PRINT_PANE, ...launchArgs]);
    if (split.ok) await tmux.run(["select-layout", "-t", pane_id, "tiled"]);
    return toOpenResult(tmux, split);
  }

  /** The pane's current record; undefined if tmux does not know it or does not answer. */
  async getPane(socket: string, pane_id: string): Promise<Pane | undefined> {
    const shown = await this.#options.tmuxServers.at(socket).pane(pane_id);
    return shown.ok ? shown.pane : undefined;
  }

  /**
   * Finds the pane that was opened with this mark. Undefined if tmux knows no such pane. The mark
   * is part of the command that opened the pane.
   */
  async find(socket: string, mark: string): Promise<Pane | undefined> {
    const command = ["list-panes", "-a", "-F", "#{pane_id} #{pane_start_command}"];
    const listed = await this.#options.tmuxServers.at(socket).query(command);
    const line = listed.ok && listed.lines.find((line) => line.includes(markOf(mark)));
    const [pane_id] = line ? line.split(" ") : [];
    return pane_id === undefined ? undefined : await this.getPane(socket, pane_id);
  }

  /**
   * The words that a person added to the command that runs in the pane, or ran there last. They are
   * part of that command, so that no other program can change them.
   */
  async addedWords(socket: string, pane_id: string): Promise<readonly string[]> {
    const command = ["display-message", "-p", "-t", pane_id, "#{pane_start_command}"];
    const shown = await this.#options.tmuxServers.at(socket).query(command);
    const [, encoded] = ADDED.exec(shown.ok ? shown.lines.join(" ") : "") ?? [];
    return encoded === undefined ? [] : decodeWords(encoded);
  }

  /** True if tmux reports the end of a pane or of its program. False if tmux does not answer. */
  async isGone(socket: string, pane_id: string): Promise<boolean> {
    const shown = await this.#options.tmuxServers.at(socket).pane(pane_id);
    if (!shown.ok) return shown.reason === "error" || shown.reason === "no_server";
    return shown.pane?.dead ?? true;
  }

  /** True if a person's terminal shows the pane's window now. */
  async isWatched(socket: string, pane_id: string): Promise<boolean> {
    const pane = await this.getPane(socket, pane_id);
    // The daemon and other programs are clients in control mode.
    const command = ["list-clients", "-F", "#{client_control_mode} #{window_id}"];
    const listed = await this.#options.tmuxServers.at(socket).query(command);
    return pane !== undefined && listed.ok && listed.lines.includes(`0 ${pane.window}`);
  }

  /** Kills a pane with everything that runs in it. */
  async close(socket: string, pane_id: string): Promise<void> {
    await this.#runLogged(socket, ["kill-pane", "-t", pane_id]);
  }

  /** Kills a pane if the pane still runs the given process. Returns whether it did. */
  async closeIfSame(socket: string, seen: PaneProcess): Promise<boolean> {
    const kill = ["kill-pane", "-t", seen.pane_id];
    const tmux = this.#options.tmuxServers.at(socket);
    return await tmux.runIf(seen.pane_id, sameProcessCondition(seen), [kill]) === "done";
  }

  /** Sets whether the pane stays open when its program ends. */
  async keep(socket: string, pane_id: string, kept: boolean): Promise<void> {
    const option = kept ? ["remain-on-exit", "on"] : ["-u", "remain-on-exit"];
    await this.#runLogged(socket, ["set-option", "-p", "-t", pane_id, ...option]);
  }

  /** Runs another program in a pane if the pane still runs the process given in `seen`. */
  async respawn(socket: string, seen: Pane, launch: Launch): Promise<OpenResult> {
    const { pane_id } = seen;
    const tmux = this.#options.tmuxServers.at(socket);
    const launchArgs = await this.#launchArgs(tmux, launch);
    const action = ["respawn-pane", "-k", "-t", pane_id, ...launchArgs];
    const result = await tmux.runIf(pane_id, sameProcessCondition(seen), [action]);
    if (result === "changed") return { ok: false, reason: `pane ${pane_id} has changed` };
    if (result !== "done") return toRefusal(result);
    const pane = await this.getPane(socket, pane_id);
    return pane ? { ok: true, pane } : { ok: false, reason: `pane ${pane_id} closed at once` };
  }

  /**
   * True if the program is installed, according to the search paths that the daemon can read. Looks
   * the program up in the launch's own search path. Without one, uses the tmux server's search path
   * and the daemon's, which may differ.
   */
  async hasProgram(socket: string, launch: Launch): Promise<boolean> {
    const own = assignedPath(launch.argv) ?? launch.env["PATH"];
    if (own !== undefined) return await isInstalled(launch, [own]);
    const command = ["show-environment", "-g", "PATH"];
    const shown = await this.#options.tmuxServers.at(socket).query(command);
    const [line = ""] = shown.ok ? shown.lines : [];
    return await isInstalled(launch, [line.replace(/^PATH=/, ""), this.#options.env["PATH"] ?? ""]);
  }

  /** True if a process is a pane's process or a descendant of it. */
  isWithin(pid: number, pane_pid: number): boolean {
    return isDescendant(pid, pane_pid);
  }

  /** True if a process is that of a shell's job, or a descendant in the same process group. */
  isSameJob(pid: number, job_pid: number): boolean {
    return isDescendant(pid, job_pid) && groupOf(pid) === groupOf(job_pid);
  }

  /** True if the pane runs a process besides this one, its ancestors and its descendants. */
  async isShared(pid: number, pane_pid: number): Promise<boolean> {
    if (pid === pane_pid) return false;
    const { stdout } = await new Deno.Command("ps", {
      args: ["-A", "-o", "pid=,stat="],
      env: clientEnvironment(this.#options.env["PATH"] ?? ""),
      clearEnv: true,
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout).split("\n").some((line) => {
      const [, text, state = ""] = /^\s*(\d+)\s+(\S+)/.exec(line) ?? [];
      const running = Number(text);
      return text !== undefined && !state.startsWith("Z") && isDescendant(running, pane_pid) &&
        !isDescendant(pid, running) && !isDescendant(running, pid);
    });
  }

  /**
   * Starts a tmux server at the daemon's default socket, and at no other. The server inherits the
   * environment of the process that starts it, so the daemon's environment is passed without the
   * withheld variables. If a server listens at the socket by now, the command connects to that
   * server as a client.
   */
  async #startServer(tmux: Tmux, session: string, launch: Launch): Promise<OpenResult> {
    const { socket } = tmux;
    if (socket !== this.socket) return { ok: false, reason: `no tmux server runs on ${socket}` };
    Deno.mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
    const unsafe = whyUnsafeFolder(dirname(socket));
    if (unsafe !== undefined) return { ok: false, reason: unsafe };
    const checked = checkSocket(socket);
    if (checked.state === "refused") return { ok: false, reason: checked.reason };
    const { clock, env } = this.#options;
    const { TMUX: _, ...clean } = withoutSecrets(env);
    const launchArgs = launchArguments(this.#withMeshPaths(launch), []);
    const target = ["new-session", "-d", "-s", session];
    const start = (signal: AbortSignal) =>
      new Deno.Command("tmux", {
        args: ["-u", "-S", socket, ...target, ...WINDOW_SIZE, ...PRINT_PANE, ...launchArgs]
          .map(asArgument),
        env: { LC_ALL: "C.UTF-8", ...clean },
        clearEnv: true,
        stdin: "null",
        signal,
      }).output();
    const ended = await timeout(clock, ANSWER_MS_MAX, start);
    if (!ended) return { ok: false, reason: `tmux did not answer in ${ANSWER_MS_MAX} ms` };
    const { success, stdout, stderr } = ended;
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    if (!success) return { ok: false, reason: text(stderr) || "tmux did not start" };
    return toOpenResult(tmux, { ok: true, lines: text(stdout).split("\n") });
  }

  /** Passes on the daemon's paths, so that the agent's hooks find this daemon. */
  #withMeshPaths(launch: Launch): Launch {
    const own = Object.entries(this.#options.env).filter(([name]) => MESH_PATHS.includes(name));
    return { ...launch, env: { ...Object.fromEntries(own), ...launch.env } };
  }

  /** Builds the arguments, which unset withheld variables of the server's environment. */
  async #launchArgs(tmux: Tmux, launch: Launch): Promise<string[]> {
    const known = await tmux.query(["show-environment", "-g"]);
    const names = (known.ok ? known.lines : []).flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);
    const own = Object.keys(this.#options.env);
    return launchArguments(
      this.#withMeshPaths(launch),
      [...new Set([...names, ...own])].filter(isWithheld),
    );
  }

  async #runLogged(socket: string, command: readonly string[]): Promise<void> {
    const done = await this.#options.tmuxServers.at(socket).run(command);
    if (done.ok) return;
    this.#options.log.debug("A tmux command failed", { command: command[0], reason: done.message });
  }
}

/** tmux runs several arguments without a shell. It expands `-c` as a format. */
function launchArguments(
  { cwd, argv, env, mark, added = [] }: Launch,
  withheld: readonly string[],
): string[] {
  const marked = [
    ...(mark === undefined ? [] : [markOf(mark)]),
    ...addedAssignment(added),
  ];
  return [
    ...["-c", cwd.replaceAll("#", "##")],
    ...Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
    ...["--", "/usr/bin/env", ...withheld.flatMap((name) => ["-u", name]), ...marked, ...argv],
  ];
}

/** An assignment for env(1). Hexadecimal digits need no quotes in any version of tmux. */
const ADDED = /\bMESH_ADDED_WORDS=((?:[0-9a-f]{2})+)/;
/** Longer words, such as a prompt, are not remembered: tmux takes 16 KiB for a whole command. */
const ADDED_DIGITS_MAX = 8192;

function addedAssignment(words: readonly string[]): string[] {
  const digits = new TextEncoder().encode(JSON.stringify(words)).toHex();
  const isRemembered = words.length > 0 && digits.length <= ADDED_DIGITS_MAX;
  return isRemembered ? [`MESH_ADDED_WORDS=${digits}`] : [];
}

function decodeWords(encoded: string): string[] {
  const words = tryJson(new TextDecoder().decode(Uint8Array.fromHex(encoded)));
  return Array.isArray(words) ? words.filter((word) => typeof word === "string") : [];
}

/** An argument of the tmux program, for which a semicolon at its end separates two commands. */
export function asArgument(text: string): string {
  return text.replace(/;$/, "\\;");
}

/** The mark as an assignment for env(1). The program receives the variable too, and ignores it. */
function markOf(mark: string): string {
  return `MESH_STARTED_FOR=${mark}`;
}

/**
 * A condition in tmux's format language: true if the pane still runs the process that was seen, or
 * remains after its end. Since tmux 3.8, a pane whose process has ended has no pid.
 */
function sameProcessCondition({ pane_id, pane_pid }: PaneProcess): string {
  const hasEnded = "#{&&:#{pane_dead},#{==:#{pane_pid},}}";
  return `#{&&:#{==:#{pane_id},${pane_id}},#{||:#{==:#{pane_pid},${pane_pid}},${hasEnded}}}`;
}

function toOpenResult(tmux: Tmux, run: Result): OpenResult {
  if (!run.ok) return toRefusal(run);
  const pane = tmux.opened(run.lines[0]);
  return pane ? { ok: true, pane } : { ok: false, reason: "tmux did not report the new pane" };
}

function toRefusal({ reason, message }: Failure): OpenResult {
  return { ok: false, reason: message || reason };
}

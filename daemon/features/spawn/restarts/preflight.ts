/** Preflight: checks if an agent can be restarted, and builds its command. It changes nothing. */

import { Refusal } from "kit/core/problem.ts";
import { ANY_PROGRAM, type Backend } from "protocol/agents/contract.ts";
import { kindOf } from "../../../host/terminal_addresses.ts";
import type { Pane } from "../../../host/tmux/pane.ts";
import { type Command, commandOf, modelsOf, redact, type SpawnSettings } from "../commands.ts";
import type { SpawnDeps } from "../deps.ts";
import { allowedFolder } from "../folders.ts";
import type { Restart } from "protocol/peers/record.ts";
import type { StoredPeer } from "../../peers/store.ts";

export interface PreflightOptions {
  readonly fresh: boolean;
  /** The profile that the peer was spawned with, or that of its new agent. */
  readonly profile: string | undefined;
  /** True if an agent that was started with the peer's session has not registered yet. */
  readonly is_resumed: boolean;
  /** The agent that replaces the peer's own; undefined to start the same agent. */
  readonly to_backend?: Backend | undefined;
  /** True if the earlier session may be abandoned when it cannot be resumed after a failure. */
  readonly force?: boolean | undefined;
}

/** A restart that passed every check. */
export interface RestartPlan {
  readonly ok: true;
  readonly subject: StoredPeer;
  readonly socket: string;
  readonly pane: Pane;
  readonly cwd: string;
  readonly command: Command;
  /** The words of `command` that a person added when the agent was started. */
  readonly added: readonly string[];
  readonly would_run: readonly string[];
  readonly resume_mode: Restart["resume_mode"];
  /** The kind of agent that is started. */
  readonly backend: Backend;
  /** The process to stop; undefined if it has ended and its pane is dead. */
  readonly process: { pid: number; started: string } | undefined;
}

export interface PreflightRefusal {
  readonly ok: false;
  readonly reason: string;
  readonly detail: string;
  readonly would_run: readonly string[] | null;
  readonly resume_mode: Restart["resume_mode"];
}

/** The refusal of a restart, or the failure of a stage. `reason` is a code. */
export class RestartFailure extends Error {
  readonly reason: string;

  constructor(reason: string, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** Checks a restart. Builds the command first, so that a later refusal can show it. */
export async function preflight(
  subject: StoredPeer,
  options: PreflightOptions,
  deps: SpawnDeps,
): Promise<RestartPlan | PreflightRefusal> {
  const resume_mode = options.fresh ? "fresh" as const : "resumed" as const;
  let would_run: readonly string[] | null = null;
  try {
    mustBeLocalAgent(subject, deps.machine);
    if (options.to_backend !== undefined && !options.force) mustBeResumable(subject, deps);
    const added = await addedWords(subject, options, deps);
    const { command, resumeArgs, backend } = commandFor(subject, { ...options, added }, deps);
    would_run = redact(command.argv, resumeArgs, modelsOf(deps.settings));
    const cwd = await folderFor(subject, deps);
    const { socket, pane, process } = await locate(subject, deps);
    const fullCommand = { ...command, argv: [...command.argv, ...resumeArgs] };
    if (!await deps.terminals.hasProgram(socket, { ...fullCommand, cwd })) {
      throw new RestartFailure("no_program", "The program of its command is not installed");
    }
    const place = { socket, pane, process, cwd };
    const plan = { ...place, backend, command: fullCommand, added, would_run, resume_mode };
    return { ok: true, subject, ...plan };
  } catch (error) {
    if (!(error instanceof RestartFailure)) throw error;
    return { ok: false, reason: error.reason, detail: error.message, would_run, resume_mode };
  }
}

function mustBeLocalAgent({ role, machine, backend }: StoredPeer, here: string): void {
  if (role !== "agent" && role !== "orchestrator") {
    const detail = `Only agents and orchestrators are restarted, and its role is "${role}"`;
    throw new RestartFailure("not_an_agent", detail);
  }
  if (backend === null) throw new RestartFailure("not_an_agent", "The peer has no backend");
  if (machine !== null && machine !== here) {
    throw new RestartFailure("other_host", `The peer runs on another machine: "${machine}"`);
  }
}

/** The words after `--` of `mesh run`, which are those of the agent that it started. */
async function addedWords(
  { tmux_socket, pane_id }: StoredPeer,
  { to_backend }: PreflightOptions,
  { terminals }: SpawnDeps,
): Promise<readonly string[]> {
  if (to_backend !== undefined || tmux_socket === null || pane_id === null) return [];
  return kindOf(tmux_socket) === "tmux" ? await terminals.addedWords(tmux_socket, pane_id) : [];
}

/** The command of the agent to start, and the arguments that resume the peer's session. */
function commandFor(
  subject: StoredPeer,
  { fresh, profile, to_backend, is_resumed, added }: PreflightOptions & Pick<RestartPlan, "added">,
  deps: SpawnDeps,
): { command: Command; resumeArgs: readonly string[]; backend: Backend } {
  const backend = to_backend ?? subject.backend ?? ANY_PROGRAM;
  const configured = tryCommand(deps.settings, backend, profile);
  const command = { ...configured, argv: [...configured.argv, ...added] };
  if (!fresh && is_resumed) {
    const detail = "An agent that was started with its session has not registered yet: wait for it";
    throw new RestartFailure("session_running", detail);
  }
  return { command, resumeArgs: fresh ? [] : resumeArgsOf(subject, deps), backend };
}

/** Checks that the peer's session can be resumed, in case the other agent fails. */
function mustBeResumable(subject: StoredPeer, deps: SpawnDeps): void {
  try {
    resumeArgsOf(subject, deps);
  } catch (error) {
    if (!(error instanceof RestartFailure)) throw error;
    const [why = ""] = error.message.split(":");
    throw new RestartFailure("no_way_back", `${why}; use force to abandon the session`);
  }
}

function resumeArgsOf(subject: StoredPeer, { transports }: SpawnDeps): readonly string[] {
  const backend = subject.backend ?? ANY_PROGRAM;
  const adapter = transports.adapterOf(backend);
  if (!adapter?.resume) {
    const detail = `Sessions of ${backend} cannot be resumed: restart with fresh`;
    throw new RestartFailure("no_resume", detail);
  }
  const { runtime_session_id, path } = subject;
  if (runtime_session_id === null) {
    const detail = "The session of the peer is not known: restart with fresh";
    throw new RestartFailure("no_session", detail);
  }
  const found = adapter.resume({ runtime_session_id, path: path ?? "/" });
  if (found.ok) return found.args;
  const detail = "The files of its session cannot be resumed: restart with fresh";
  throw new RestartFailure(found.reason, detail);
}

function tryCommand(settings: SpawnSettings, backend: Backend, profile?: string): Command {
  try {
    return commandOf(settings, backend, profile);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new RestartFailure(error.code, error.toBody().detail);
  }
}

async function folderFor({ path }: StoredPeer, { folders }: SpawnDeps): Promise<string> {
  const found = await allowedFolder(path ?? "", folders);
  if (found.ok) return found.folder;
  const detail = `No agent may be started in "${path ?? ""}": ${found.why}`;
  throw new RestartFailure("path_not_allowed", detail);
}

/**
 * Finds the pane and the agent's process in it. Throws if the process is not proved, because such a
 * process is never stopped.
 */
async function locate(
  { tmux_socket, pane_id, agent_pid, agent_started, status }: StoredPeer,
  { terminals, processes }: SpawnDeps,
): Promise<{ socket: string; pane: Pane; process: RestartPlan["process"] }> {
  if (status === "retired") throw new RestartFailure("retired", "The peer is retired");
  if (tmux_socket === null || pane_id === null) {
    throw new RestartFailure("no_pane", "The peer is in no tmux pane");
  }
  if (kindOf(tmux_socket) !== "tmux") {
    throw new RestartFailure(
      "not_in_tmux",
      "The peer runs in kitty, which cannot run another program in a window: " +
        "end it there, and start it again",
    );
  }
  const pane = await terminals.getPane(tmux_socket, pane_id);
  if (!pane) throw new RestartFailure("pane_missing", `tmux has no pane ${pane_id}`);
  const place = { socket: tmux_socket, pane };
  const isRunning = agent_pid !== null && agent_started !== null &&
    processes.isAlive(agent_pid, agent_started);
  if (!isRunning && pane.dead) return { ...place, process: undefined };
  if (status === "offline") {
    const detail = "The peer is offline, and another program runs in its pane";
    throw new RestartFailure("not_live", detail);
  }
  if (!isRunning) {
    throw new RestartFailure("no_process", "The process of the peer is not known, or has ended");
  }
  if (!terminals.isWithin(agent_pid, pane.pane_pid)) {
    const detail = `The process of the peer does not run in pane ${pane_id}`;
    throw new RestartFailure("pane_unverified", detail);
  }
  // A restart would end all programs in the pane, such as the other jobs of a shell.
  if (await terminals.isShared(agent_pid, pane.pane_pid)) {
    const detail = `Other programs run in pane ${pane_id} as well, and would end`;
    throw new RestartFailure("pane_shared", detail);
  }
  return { ...place, process: { pid: agent_pid, started: agent_started } };
}

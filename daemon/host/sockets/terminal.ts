/**
 * Decides whether a person sits at a terminal (contract 2) from the process tree that opened the
 * terminal. It recognizes processes that an agent starts. It does not stop a program of the same
 * user that tries to evade the check.
 */

import {
  commandOf,
  environmentOf,
  isDescendant,
  parentOf,
  sessionLeaderOf,
  startTimeOf,
  terminalOf,
  uidOf,
} from "../processes.ts";
import { paneOf, tmuxSocketOf } from "../terminal_addresses.ts";

/** A registered peer that may have opened a terminal: the facts that the check needs. */
export interface KnownAgent {
  readonly agent_pid: number | null;
  /** Clock ticks since boot, as a string. */
  readonly agent_started: string | null;
  readonly pane_id: string | null;
  readonly tmux_socket: string | null;
}

export interface TmuxClient {
  readonly server_pid: number;
  readonly client_pid: number;
}

interface TerminalOptions {
  readonly agents: readonly KnownAgent[];
  /** The clients that are attached to the tmux server at a socket. */
  clientsOf(tmux_socket: string): readonly TmuxClient[];
}

/** Maximum number of ancestors checked. A process with more does not count as a person's. */
const ANCESTORS_MAX = 64;

/** Variables that running agents set for the processes that they start. */
const AGENT_VARIABLES = [
  "CLAUDECODE",
  "CLAUDE_PID",
  "CLAUDE_CODE_ENTRYPOINT",
  "CLAUDE_CODE_SESSION_ID",
  "CODEX_SANDBOX",
  "CODEX_THREAD_ID",
  "COPILOT_AGENT_SESSION_ID",
  "GEMINI_CLI",
  "GEMINI_SESSION_ID",
  "MESH_AGENT_PID",
  "MESH_STARTED_FOR",
  "OPENCODE",
] as const;

/** System programs that log people in; they run as root. */
const LOGINS = wordSet("login sshd sshd-session sshd-auth dropbear telnetd");
/** Terminal emulators; the kernel truncates names to 15 bytes. */
const EMULATORS = wordSet(
  `alacritty blackbox contour cool-retro-term foot footclient gnome-terminal- ghostty guake hyper
  kgx kitty konsole lxterminal mate-terminal mlterm ptyxis ptyxis-agent qterminal rio rxvt
  rxvt-unicode sakura st terminator terminology tilda tilix urxvt urxvtd warp warp-terminal
  wezterm-gui xfce4-terminal xterm yakuake`,
);
/** Terminal servers, which leave the process tree of the process that started them. */
const MULTIPLEXERS: ReadonlySet<string> = new Set([
  ...["tmux: server", "screen", "SCREEN", "zellij", "mosh-server"],
]);

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

/** True if a process is a login, a terminal emulator, a multiplexer or systemd, by its name. */
export function isUserFacing(pid: number): boolean {
  const name = commandOf(pid) ?? "";
  return [LOGINS, EMULATORS, MULTIPLEXERS].some((names) => names.has(name)) || name === "systemd";
}

/** True if a person opened the terminal of this process. False if this cannot be determined. */
export function isPersonAtTerminal(pid: number, options: TerminalOptions): boolean {
  const { agents } = options;
  const terminal = terminalOf(pid);
  const leader = sessionLeaderOf(pid);
  if (terminal === undefined || leader === undefined || leader === 1) return false;
  if (terminalOf(leader) !== terminal) return false;
  const ancestors = ancestorsOf(pid);
  // Above the limit, an agent may be among the ancestors.
  if (ancestors === undefined) return false;
  const sessionChain = ancestors.slice(0, ancestors.indexOf(leader) + 1);
  // The parent has ended, so it is unknown who started the session.
  if (sessionChain.length === 0) return false;
  if (sessionChain.some(hasAgentVariable)) return false;
  const pids = agents.flatMap(({ agent_pid }) => agent_pid ?? []);
  if (pids.some((agent) => ancestors.includes(agent) || isDescendant(agent, leader))) return false;
  if (isPaneOfAgent(leader, agents)) return false;
  return isOpenedByPerson(ancestors.slice(sessionChain.length), leader, options);
}

/**
 * True if a person opened the terminal. `above` lists the ancestors of the session's leader; the
 * process that opened the terminal is one of them.
 */
function isOpenedByPerson(
  above: readonly number[],
  leader: number,
  options: TerminalOptions,
): boolean {
  for (const pid of above) {
    if (pid === 1) return false;
    const name = commandOf(pid) ?? "";
    if (LOGINS.has(name)) {
      return uidOf(pid) === 0 || above.some((ancestor) => isRootLogin(ancestor));
    }
    if (EMULATORS.has(name)) return !hasAgentVariable(pid);
    if (MULTIPLEXERS.has(name)) return isUserMultiplexer(pid, leader, options);
  }
  // In a container, a shell that the runtime starts from outside has no parent.
  return above.length === 0;
}

function isRootLogin(pid: number): boolean {
  return LOGINS.has(commandOf(pid) ?? "") && uidOf(pid) === 0;
}

/**
 * True if a terminal server counts as a person's. A server leaves its process tree, so its starter
 * is unknown. The server counts if no registered agent was running when the server started, or if a
 * person is attached to it from another terminal.
 */
function isUserMultiplexer(
  server: number,
  leader: number,
  { agents, clientsOf }: TerminalOptions,
): boolean {
  if (hasAgentVariable(server) || isPaneOfAgent(server, agents)) return false;
  const started = Number(startTimeOf(server));
  const startedEarlier = agents.some(({ agent_pid, agent_started }) =>
    agent_pid !== null && agent_started !== null && Number(agent_started) <= started &&
    !isDescendant(agent_pid, server)
  );
  if (!startedEarlier) return true;
  const socket = tmuxSocketOf(variablesOf(leader));
  if (socket === undefined) return false;
  // A client that itself runs inside tmux proves nothing, because an agent may have started it.
  const options: TerminalOptions = { agents, clientsOf: () => [] };
  return clientsOf(socket).some(({ server_pid, client_pid }) =>
    server_pid === server && isPersonAtTerminal(client_pid, options)
  );
}

/** A process and its ancestors, nearest first. Undefined if there are more than `ANCESTORS_MAX`. */
function ancestorsOf(pid: number): number[] | undefined {
  const ancestors: number[] = [];
  for (let at: number | undefined = pid; at; at = parentOf(at)) {
    if (ancestors.length === ANCESTORS_MAX) return undefined;
    ancestors.push(at);
  }
  return ancestors;
}

function hasAgentVariable(pid: number): boolean {
  const environment = environmentOf(pid);
  return AGENT_VARIABLES.some((name) => environment?.has(name));
}

/** True if a process was started in the pane of a registered peer. */
function isPaneOfAgent(pid: number, agents: readonly KnownAgent[]): boolean {
  const pane = paneOf(variablesOf(pid));
  return pane !== undefined &&
    agents.some(({ pane_id, tmux_socket }) =>
      pane_id === pane.pane_id && tmux_socket === pane.tmux_socket
    );
}

function variablesOf(pid: number): Readonly<Record<string, string>> {
  return Object.fromEntries(environmentOf(pid) ?? []);
}

/** Observes panes through their terminals and the kernel: which exist, and who reads in each. */

import { dirname, join } from "kit/core/path.ts";
import {
  argumentsOf,
  foregroundOf,
  isAlive,
  isDescendant,
  type ProcessId,
  processIdOf,
  startTimeOf,
} from "../processes.ts";
import type { Env } from "../paths.ts";
import { kindOf, tmuxSocketOf } from "../terminal_addresses.ts";
import type { TerminalServers } from "../terminal_server.ts";
import type { Pane } from "./pane.ts";

/** The process that reads the keys typed into a pane. */
interface ForegroundProcess extends ProcessId {
  /** The program and its arguments. */
  readonly args: readonly string[];
}

/** A pane of any server, together with the process that reads its input. */
export interface PaneFacts extends Pane {
  /** The address of the terminal server (`terminals/addresses.ts`). */
  readonly tmux_socket: string;
  /** Null if no process reads the pane's input. */
  readonly foreground: ForegroundProcess | null;
}

/** `unknown`: the terminal did not answer. */
type Observation<Found> =
  | { readonly state: "found" } & Found
  | { readonly state: "missing" | "unknown" };

export type PaneObservation = Observation<{ readonly pane: PaneFacts }>;
/** A pane with the rows of its screen, both of one moment. */
export type ScreenObservation = Observation<
  { readonly pane: PaneFacts; readonly rows: readonly string[] }
>;

export type PaneObserver = ReturnType<typeof paneObserverOf>;

/** The socket of the user's own tmux server, determined by tmux's own rules. */
export function ownSocket(env: Env, uid: number | null = Deno.uid()): string {
  return tmuxSocketOf(env) || join(env["TMUX_TMPDIR"] || "/tmp", `tmux-${uid ?? 0}`, "default");
}

/** `own_kitty` is the address of the kitty in which the daemon was started, if it was. */
export function paneObserverOf(
  terminalServers: TerminalServers,
  own_socket: string,
  own_kitty?: string,
) {
  const own = own_kitty === undefined ? [own_socket] : [own_socket, own_kitty];
  const panesOf = async (sockets: readonly string[]): Promise<PaneFacts[]> => {
    const found = await Promise.all([...new Set(sockets)].map(async (socket) => {
      const listed = await terminalServers.at(socket).panes();
      return listed.ok ? listed.panes.map((pane) => toFacts(socket, pane)) : [];
    }));
    return found.flat();
  };
  const find = async (
    socket: string,
    pane_id: string,
  ): Promise<Observation<{ readonly pane: Pane }>> => {
    const listed = await terminalServers.at(socket).panes();
    // If the server is gone, so are its panes. If it is only slow, the panes may still exist.
    if (!listed.ok) return { state: listed.reason === "no_server" ? "missing" : "unknown" };
    const pane = listed.panes.find((pane) => pane.pane_id === pane_id);
    return pane ? { state: "found", pane } : { state: "missing" };
  };
  return {
    /** All panes of these servers and of the user's own, without those of a silent server. */
    all: (sockets: readonly string[]): Promise<PaneFacts[]> => panesOf([...own, ...sockets]),
    /** As `all`, with every server that has its socket beside that of the user's own server. */
    everywhere: (sockets: readonly string[]): Promise<PaneFacts[]> =>
      panesOf([...own, ...sockets, ...socketsBeside(own_socket)]),
    /** Observes one pane. If `tmux_socket` is null, the pane is on the user's own server. */
    async at(tmux_socket: string | null, pane_id: string): Promise<PaneObservation> {
      const socket = tmux_socket ?? own_socket;
      const found = await find(socket, pane_id);
      return found.state === "found" ? { ...found, pane: toFacts(socket, found.pane) } : found;
    },
    /** As `at`, without the pane's process, which costs several reads. */
    async stateOf(tmux_socket: string | null, pane_id: string): Promise<PaneObservation["state"]> {
      return (await find(tmux_socket ?? own_socket, pane_id)).state;
    },
    /** The screen of a pane with its colours (SGR). `tmux_socket` as for `at`. */
    async screen(tmux_socket: string | null, pane_id: string): Promise<ScreenObservation> {
      const socket = tmux_socket ?? own_socket;
      const read = await terminalServers.at(socket).screen(pane_id);
      if (!read.ok) {
        // tmux refuses a command for a pane that is gone.
        const isRefused = read.reason === "error" && kindOf(socket) === "tmux";
        const isGone = read.reason === "no_server" || isRefused;
        return { state: isGone ? "missing" : "unknown" };
      }
      if (!read.seen) return { state: "missing" };
      return { state: "found", pane: toFacts(socket, read.seen.pane), rows: read.seen.rows };
    },
    /** True if a process runs in the pane. */
    holds: (pane: PaneFacts, pid: number): boolean => isDescendant(pid, pane.pane_pid),
  };
}

/** The sockets in the same folder: the servers that `tmux -L NAME` starts. */
function socketsBeside(socket: string): string[] {
  const folder = dirname(socket);
  try {
    const entries = [...Deno.readDirSync(folder)];
    return entries.filter(({ isFile, isDirectory }) => !isFile && !isDirectory)
      .map(({ name }) => join(folder, name)).sort();
  } catch {
    return []; // Without the folder there is no server.
  }
}

function toFacts(tmux_socket: string, pane: Pane): PaneFacts {
  return {
    ...pane,
    tmux_socket,
    foreground: pane.dead ? null : foregroundProcessOf(pane.pane_pid),
  };
}

/** The leader of the foreground process group. Null if the leader has ended, as in a pipeline. */
function foregroundProcessOf(pane_pid: number): ForegroundProcess | null {
  const process = processIdOf({ startTimeOf }, foregroundOf(pane_pid));
  if (!process || !isAlive(process.pid, process.started)) return null;
  return { ...process, args: argumentsOf(process.pid) ?? [] };
}

/** Observes panes through tmux and the kernel: which exist, and which process reads in each. */

import { join } from "node:path";
import { argumentsOf, foregroundOf, isAlive, isDescendant, startTimeOf } from "../processes.ts";
import type { TmuxServers } from "./tmux.ts";
import type { Pane } from "./pane.ts";

/** The process that reads what is typed into a pane. */
export interface ForegroundProcess {
  readonly pid: number;
  /** Start time of `pid`. */
  readonly started: string;
  /** The program and its arguments. */
  readonly args: readonly string[];
}

/** A pane of any server, together with the process that reads its input. */
export interface PaneFacts extends Pane {
  readonly tmux_socket: string;
  /** Null if no process reads the pane's input. */
  readonly foreground: ForegroundProcess | null;
}

/** `unknown`: the tmux server did not answer. */
export type PaneObservation =
  | { readonly state: "found"; readonly pane: PaneFacts }
  | { readonly state: "missing" | "unknown" };

export interface PaneObserver {
  /** All panes of these servers and of the user's own. A server that does not answer adds none. */
  all(sockets: readonly string[]): Promise<PaneFacts[]>;
  /** Observes one pane. If `tmux_socket` is null, the pane is on the user's own server. */
  at(tmux_socket: string | null, pane_id: string): Promise<PaneObservation>;
  /** Whether a process runs in the pane. */
  holds(pane: PaneFacts, pid: number): boolean;
}

type Env = Readonly<Record<string, string>>;

/** The socket of the user's own tmux server, determined by tmux's own rules. */
export function ownSocket(env: Env, uid: number | null = Deno.uid()): string {
  const fromTmux = env["TMUX"]?.replace(/,[^,]*,[^,]*$/, "");
  return fromTmux || join(env["TMUX_TMPDIR"] || "/tmp", `tmux-${uid ?? 0}`, "default");
}

export function paneObserverOf(tmuxServers: TmuxServers, own_socket: string): PaneObserver {
  return {
    async all(sockets) {
      const servers = [...new Set([own_socket, ...sockets])];
      const found = await Promise.all(servers.map(async (socket) => {
        const listed = await tmuxServers.at(socket).panes();
        return listed.ok ? listed.panes.map((pane) => toFacts(socket, pane)) : [];
      }));
      return found.flat();
    },
    async at(tmux_socket, pane_id) {
      const socket = tmux_socket ?? own_socket;
      const listed = await tmuxServers.at(socket).panes();
      // If the server is gone, so are its panes. If it is only slow, the panes may still exist.
      if (!listed.ok) return { state: listed.reason === "no_server" ? "missing" : "unknown" };
      const pane = listed.panes.find((pane) => pane.pane_id === pane_id);
      return pane ? { state: "found", pane: toFacts(socket, pane) } : { state: "missing" };
    },
    holds: (pane, pid) => isDescendant(pid, pane.pane_pid),
  };
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
  const pid = foregroundOf(pane_pid);
  const started = pid === undefined ? undefined : startTimeOf(pid);
  if (pid === undefined || started === undefined || !isAlive(pid, started)) return null;
  return { pid, started, args: argumentsOf(pid) ?? [] };
}

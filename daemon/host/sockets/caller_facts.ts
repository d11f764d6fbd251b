/** What this machine tells of callers: sockets, users, terminals and the clients of tmux. */

import { clientEnvironment } from "../tmux/connection.ts";
import { checkSocket } from "../trusted_socket.ts";
import { machineSockets, type Sockets } from "./sockets.ts";
import { isPersonAtTerminal, isUserFacing, type KnownAgent, type TmuxClient } from "./terminal.ts";

/** What the machine tells of callers. */
export interface CallerFacts {
  readonly sockets: Sockets;
  /** The user that the daemon runs as; null where the platform has none. */
  readonly uid: number | null;
  /** Whether a person has opened the terminal of a process, which no agent started. */
  isPersonAtTerminal(pid: number, agents: readonly KnownAgent[]): boolean;
  /** Whether a process is what people sit in front of, and no agent. */
  isUserFacing(pid: number): boolean;
}

/** `search_path` is the `PATH` in which tmux is looked for. */
export function callerFacts(search_path: string): CallerFacts {
  const clientsOf = (tmux_socket: string) => listClients(tmux_socket, search_path);
  return {
    sockets: machineSockets(),
    uid: Deno.uid(),
    isPersonAtTerminal: (pid, agents) => isPersonAtTerminal(pid, { agents, clientsOf }),
    isUserFacing,
  };
}

/** A tmux server that is stopped answers nobody, and everything waits while it is asked. */
const TMUX_SECONDS_MAX = "1";

/**
 * Asked in place, as a request waits for it, and only where nothing else tells. A client hands its
 * output to its server, where a pipe would stay open for as long as the server does not read: so it
 * is a file.
 */
function listClients(tmux_socket: string, search_path: string): TmuxClient[] {
  const checked = checkSocket(tmux_socket);
  if (checked.state !== "trusted") return [];
  const command = ["tmux", "-N", "-S", checked.path, "list-clients", "-F", "#{pid} #{client_pid}"];
  const file = Deno.makeTempFileSync({ prefix: "mesh-clients-" });
  try {
    new Deno.Command("sh", {
      args: ["-c", SCRIPT, file, "-s", "KILL", TMUX_SECONDS_MAX, ...command],
      env: clientEnvironment(search_path),
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).outputSync();
    return Deno.readTextFileSync(file).trim().split("\n").map((line) => {
      const [server_pid = 0, client_pid = 0] = line.split(" ").map(Number);
      return { server_pid, client_pid };
    });
  } finally {
    Deno.removeSync(file);
  }
}

/** Its own name is the file that the output goes to. */
const SCRIPT = 'exec timeout "$@" > "$0"';

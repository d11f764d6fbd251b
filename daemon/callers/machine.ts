/** What this machine tells of callers: sockets, users, terminals and the clients of tmux. */

import { clientEnvironment } from "../tmux_connection.ts";
import { checkSocket } from "../trusted_socket.ts";
import type { CallerFacts } from "./callers.ts";
import { machineSockets } from "./sockets.ts";
import { isPersonAtTerminal, type TmuxClient } from "./terminal.ts";

/** `search_path` is the `PATH` in which tmux is looked for. */
export function callerFacts(search_path: string): CallerFacts {
  const clientsOf = (tmux_socket: string) => clientsAt(tmux_socket, search_path);
  return {
    sockets: machineSockets(),
    uid: Deno.uid(),
    isPersonAtTerminal: (pid, agents) => isPersonAtTerminal(pid, { agents, clientsOf }),
  };
}

/** Asked in place, as a request waits for it, and only where nothing else tells. */
function clientsAt(tmux_socket: string, search_path: string): TmuxClient[] {
  const checked = checkSocket(tmux_socket);
  if (checked.state !== "trusted") return [];
  const { stdout } = new Deno.Command("tmux", {
    args: ["-N", "-S", checked.path, "list-clients", "-F", "#{pid} #{client_pid}"],
    env: clientEnvironment(search_path),
    clearEnv: true,
    stdin: "null",
    stderr: "null",
  }).outputSync();
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => {
    const [server_pid = 0, client_pid = 0] = line.split(" ").map(Number);
    return { server_pid, client_pid };
  });
}

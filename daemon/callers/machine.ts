/** What this machine tells of callers: sockets, users, terminals and the clients of tmux. */

import type { CallerFacts } from "./callers.ts";
import { machineSockets } from "./sockets.ts";
import { isPersonAtTerminal, type TmuxClient } from "./terminal.ts";

export function callerFacts(): CallerFacts {
  return {
    sockets: machineSockets(),
    uid: Deno.uid(),
    isPersonAtTerminal: (pid, agents) => isPersonAtTerminal(pid, { agents, clientsOf }),
  };
}

/** Asked in place, as a request waits for it, and only where nothing else tells. */
function clientsOf(tmux_socket: string): TmuxClient[] {
  const { stdout } = new Deno.Command("tmux", {
    args: ["-N", "-S", tmux_socket, "list-clients", "-F", "#{pid} #{client_pid}"],
    env: { LC_ALL: "C.UTF-8", TERM: "dumb", TMUX: "" },
    stdin: "null",
    stderr: "null",
  }).outputSync();
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => {
    const [server_pid = 0, client_pid = 0] = line.split(" ").map(Number);
    return { server_pid, client_pid };
  });
}

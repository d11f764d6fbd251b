/** Facts about the daemon's callers: sockets, users, terminals, tmux clients. */

import { clientEnvironment } from "../tmux/connection.ts";
import { checkSocket } from "../trusted_socket.ts";
import { machineSockets } from "./sockets.ts";
import { isPersonAtTerminal, isUserFacing, type KnownAgent, type TmuxClient } from "./terminal.ts";

export type CallerFacts = ReturnType<typeof callerFacts>;

/** `search_path` is the `PATH` in which tmux is looked up. */
export function callerFacts(search_path: string) {
  const clientsOf = (tmux_socket: string) => listClients(tmux_socket, search_path);
  return {
    sockets: machineSockets(),
    /** The user that the daemon runs as; null if the platform has none. */
    uid: Deno.uid(),
    /** True if a person, not an agent, opened the terminal that this process runs in. */
    isPersonAtTerminal: (pid: number, agents: readonly KnownAgent[]): boolean =>
      isPersonAtTerminal(pid, { agents, clientsOf }),
    isUserFacing,
  };
}

/** A time limit, because a stopped tmux server never answers and this call blocks the daemon. */
const TMUX_SECONDS_MAX = "1";

/**
 * Runs synchronously, because a request waits for the result. Called only if nothing else can
 * answer the question. The output goes to a file: a tmux client passes its output on to its server,
 * so a pipe would stay open until the server reads.
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

/** `$0` is the file that receives the output. */
const SCRIPT = 'exec timeout "$@" > "$0"';

/** Whether a request came from a person at a terminal: the kernel says so, not a header. */

import { hasTerminal, isDescendant, isGone } from "./processes.ts";

export interface Claim {
  /** The process that says it is at a terminal. */
  readonly pid: number;
  /** The socket's two ends, as the daemon sees them. */
  readonly remote_port: number;
  readonly local_port: number;
  /** Processes of registered agents: what they start is not the human. */
  readonly agents: readonly number[];
}

/** True when that process holds the socket, has a terminal, and no agent started it. */
export function isAtTerminal({ pid, remote_port, local_port, agents }: Claim): boolean {
  if (!hasTerminal(pid)) return false;
  if (agents.some((agent) => isDescendant(pid, agent))) return false;
  const inode = socketInode(remote_port, local_port);
  return inode !== undefined && holds(pid, inode);
}

/** The inode of the client's end of a loopback connection. */
function socketInode(client_port: number, server_port: number): string | undefined {
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    for (const line of read(table).split("\n").slice(1)) {
      const [, local = "", remote = "", , , , , , , inode] = line.trim().split(/\s+/);
      if (portOf(local) === client_port && portOf(remote) === server_port) return inode;
    }
  }
  return undefined;
}

function holds(pid: number, inode: string): boolean {
  try {
    for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
      if (linkOf(`/proc/${pid}/fd/${name}`) === `socket:[${inode}]`) return true;
    }
  } catch (fault) {
    if (!isHidden(fault)) throw fault;
  }
  return false;
}

function linkOf(path: string): string {
  try {
    return Deno.readLinkSync(path);
  } catch (fault) {
    if (isHidden(fault)) return "";
    throw fault;
  }
}

function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (fault) {
    if (isHidden(fault)) return "";
    throw fault;
  }
}

/** A process may end, or belong to another user, while we look. */
function isHidden(fault: unknown): boolean {
  return isGone(fault) || fault instanceof Deno.errors.PermissionDenied ||
    fault instanceof Deno.errors.NotCapable;
}

function portOf(address: string): number {
  return parseInt(address.split(":")[1] ?? "", 16);
}

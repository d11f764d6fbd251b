/** Ports of this machine: which are free, and which processes listen at one. */

import { argumentsOf, isPid, outputOf, processIds } from "../processes.ts";
import { LSOF } from "./own_listener.ts";
import { kernelTable, LISTEN_STATE, portOf } from "./netlink.ts";
import { holdersOfInode } from "./sockets.ts";

/** A process of this user that listens at a port. */
export interface ListenerProcess {
  readonly pid: number;
  /** Its command line; null if it cannot be read. */
  readonly command: string | null;
}

export interface PortTable {
  /** True if no program listens at the port, at any address of this machine. */
  isFree(port: number): boolean;
  /** The processes that listen at a port, and the number of sockets without a visible process. */
  listenersAt(port: number): { readonly own: readonly ListenerProcess[]; readonly others: number };
}

/** Maximum characters of a command line. */
const COMMAND_CHARS_MAX = 300;
const ADDRESSES = ["0.0.0.0", "::"];

export const machinePorts: PortTable = {
  isFree: (port) => ADDRESSES.every((hostname) => canListen(hostname, port)),
  listenersAt(port) {
    const { pids, others } = Deno.build.os === "linux" ? listenersOf(port) : byLsof(port);
    const own = pids.map((pid) => ({
      pid,
      command: argumentsOf(pid)?.join(" ").slice(0, COMMAND_CHARS_MAX) ?? null,
    }));
    return { own, others };
  },
};

/** False if the port is in use. An address that this machine lacks does not count. */
function canListen(hostname: string, port: number): boolean {
  try {
    Deno.listen({ hostname, port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    if (error instanceof Deno.errors.PermissionDenied) return false;
    if (error instanceof Deno.errors.AddrNotAvailable) return true;
    // Without IPv6, the kernel knows no such family.
    return error instanceof Error && hostname === "::";
  }
}

function listenersOf(port: number): { pids: number[]; others: number } {
  const inodes = kernelTable().filter(({ local, state }) =>
    state === LISTEN_STATE && portOf(local) === port
  ).map(({ inode }) => inode);
  const all = processIds();
  // Several processes may share a socket, and several sockets may share a port (SO_REUSEPORT).
  const holders = inodes.map((inode) => holdersOfInode(all, inode));
  const pids = [...new Set(holders.flat())];
  return { pids, others: holders.filter((pids) => pids.length === 0).length };
}

/** On macOS, `lsof` shows a user only that user's own sockets. */
function byLsof(port: number): { pids: number[]; others: number } {
  const output = outputOf(LSOF, "-nP", "-t", "-a", `-iTCP:${port}`, "-sTCP:LISTEN") ?? "";
  return { pids: output.split("\n").map(Number).filter(isPid), others: 0 };
}

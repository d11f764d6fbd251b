/** Finds who holds the other end of a loopback connection. Asks the kernel, trusts no header. */

import {
  isUnreadable,
  lastPid,
  outputOf,
  processIds,
  processOfThread,
  treeOf,
} from "../processes.ts";
import {
  type Endpoint,
  type InetAddress,
  listKernelSockets,
  parseAddress,
  SocketDiagnostics,
  type SocketEnd,
} from "./netlink.ts";
import { LSOF } from "./own_listener.ts";
import { unlessError } from "kit/host/file_errors.ts";

/** Both endpoints of a connection, as the daemon sees them. */
export interface TcpConnection {
  readonly remote: Pick<Deno.NetAddr, "hostname" | "port">;
  /** The port that the daemon listens on. */
  readonly local_port: number;
  /** The address that the daemon listens on, such as `127.0.0.1` or `0.0.0.0`. */
  readonly local_host: string;
}

/** Lookups of connections to the daemon. */
export interface Sockets {
  /** True if this platform reports the owner of a TCP socket. Linux does, macOS does not. */
  readonly canIdentify: boolean;
  /** The client's end. Undefined if it is closed, is on another machine, or cannot be found. */
  find(connection: TcpConnection): SocketEnd | undefined;
  /** The process that holds the client's end: `pid`, or one of its first `max` descendants. */
  holderWithin(pid: number, connection: TcpConnection, max?: number): number | undefined;
  /** A process of this user that holds the client's end. Undefined without one, and on macOS. */
  holderOf(connection: TcpConnection): number | undefined;
}

const LOOPBACK = { ipv4: "127.0.0.1", ipv6: "::1" } as const;

/** The maximum number of addresses that are kept as parsed. */
const PARSED_MAX = 100;

/** The maximum number of connections whose holder is kept. */
const HOLDERS_MAX = 1000;

/** Maximum number of remembered processes that had started long before their connection. */
const RECENT_MAX = 32;

/** Number of the newest pids, of processes and threads, that are searched before all others. */
const NEWEST_MAX = 16;

/** Default number of processes of one tree that are searched for a socket. */
const TREE_PROCESSES_MAX = 512;

export function machineSockets(): Sockets {
  if (Deno.build.os === "linux") return new LinuxSockets();
  return {
    canIdentify: false,
    find: () => undefined,
    holderWithin: holderByLsof,
    holderOf: () => undefined,
  };
}

class LinuxSockets implements Sockets {
  readonly canIdentify = true;
  readonly #kernel = new SocketDiagnostics();
  readonly #addresses = new ParsedAddresses();
  /** The descriptors of sockets by inode, each searched for once; undefined if none was found. */
  readonly #holders = new Map<number, Descriptor | undefined>();
  /**
   * One descriptor of each process that had started long before its connection. The next connection
   * of the process often has the same number.
   */
  #recent: readonly Descriptor[] = [];

  find({ remote, local_port, local_host }: TcpConnection): SocketEnd | undefined {
    const address = this.#addresses.get(remote.hostname);
    if (!address) return undefined;
    const client = { ...address, port: remote.port };
    const found = this.#find(client, local_host, local_port);
    // The kernel reports root as the owner of a closed socket.
    return found && found.inode !== 0 ? found : undefined;
  }

  /**
   * If the daemon listens on a wildcard address, the address that the client called is unknown.
   * From the same port, another user's program may be connected to a second address of this
   * machine. Therefore the result counts only if exactly one connection matches.
   */
  #find(client: Endpoint, local_host: string, local_port: number): SocketEnd | undefined {
    const hostname = local_host === "localhost" ? LOOPBACK[client.family] : local_host;
    const server = this.#addresses.get(hostname);
    if (server?.bytes.some((byte) => byte !== 0)) {
      return server.family === client.family
        ? this.#kernel.find(client, { ...server, port: local_port })
        : undefined;
    }
    const [first, ...rest] = listKernelSockets(client, local_port);
    return rest.length === 0 ? first : undefined;
  }

  holderWithin(
    pid: number,
    connection: TcpConnection,
    max = TREE_PROCESSES_MAX,
  ): number | undefined {
    const socketEnd = this.find(connection);
    if (!socketEnd) return undefined;
    return treeOf(pid, max).find((process) => descriptorOf(process, socketEnd.inode) !== undefined);
  }

  holderOf(connection: TcpConnection): number | undefined {
    const inode = this.find(connection)?.inode;
    if (inode === undefined) return undefined;
    const known = this.#holders.get(inode);
    if (known ? holds(known, inode) : this.#holders.has(inode)) return known?.pid;
    this.#recent = this.#recent.filter((descriptor) => linkOf(descriptor) !== undefined);
    const found = this.#recent.find((descriptor) => holds(descriptor, inode)) ??
      findAmong(newestPids(), inode) ?? this.#searchAll(inode);
    if (this.#holders.size >= HOLDERS_MAX) this.#holders.clear();
    this.#holders.set(inode, found);
    return found?.pid;
  }

  /** Searches all processes, beginning with the recent ones. */
  #searchAll(inode: number): Descriptor | undefined {
    const found = findAmong(this.#recent.map(({ pid }) => pid), inode) ??
      findAmong(processIds(), inode);
    const older = this.#recent.filter(({ pid }) => pid !== found?.pid);
    if (found) this.#recent = [found, ...older].slice(0, RECENT_MAX);
    return found;
  }
}

/** The newest processes and threads: a program usually connects just after its start. */
function newestPids(): number[] {
  const last = lastPid() ?? 0;
  return Array.from({ length: Math.min(NEWEST_MAX, last) }, (_, n) => last - n);
}

function findAmong(pids: readonly number[], inode: number): Descriptor | undefined {
  for (const pid of pids) {
    const fd = pid === Deno.pid ? undefined : descriptorOf(pid, inode);
    if (fd !== undefined) return { pid: processOfThread(pid), fd };
  }
  return undefined;
}

interface Descriptor {
  readonly pid: number;
  readonly fd: string;
}

/** Keeps parsed addresses, as almost all requests come from the same address. */
class ParsedAddresses {
  readonly #parsed = new Map<string, InetAddress | undefined>();

  get(text: string): InetAddress | undefined {
    if (!this.#parsed.has(text)) {
      if (this.#parsed.size >= PARSED_MAX) this.#parsed.clear();
      this.#parsed.set(text, parseAddress(text));
    }
    return this.#parsed.get(text);
  }
}

/** The processes that have a socket open. */
export function holdersOfInode(pids: readonly number[], inode: number): number[] {
  return pids.filter((pid) => descriptorOf(pid, inode) !== undefined);
}

/** The descriptor with which a program that has opened nothing else opens its first socket. */
const FIRST_OPENED = "3";

/** The process's descriptor of a socket. The newest usually have the highest numbers. */
function descriptorOf(pid: number, inode: number): string | undefined {
  if (holds({ pid, fd: FIRST_OPENED }, inode)) return FIRST_OPENED;
  const descriptors = unlessError(isUnreadable, () => [...Deno.readDirSync(`/proc/${pid}/fd`)]);
  return descriptors?.findLast(({ name: fd }) => holds({ pid, fd }, inode))?.name;
}

function holds(descriptor: Descriptor, inode: number): boolean {
  return linkOf(descriptor) === `socket:[${inode}]`;
}

/** The file of a descriptor; undefined if it is not open. */
function linkOf({ pid, fd }: Descriptor): string | undefined {
  return unlessError(isUnreadable, () => Deno.readLinkSync(`/proc/${pid}/fd/${fd}`));
}

/** On macOS only `lsof` shows the sockets of a process, to its owner only. It takes about 50 ms. */
function holderByLsof(
  pid: number,
  { remote, local_port }: TcpConnection,
  max = TREE_PROCESSES_MAX,
): number | undefined {
  const pids = [...treeOf(pid, max)].join(",");
  const filter = ["-nP", "-a", "-p", pids, `-iTCP:${remote.port}`, "-sTCP:ESTABLISHED", "-Fpn"];
  return holderIn(outputOf(LSOF, ...filter) ?? "", remote.port, local_port);
}

/**
 * The process for which `lsof -Fpn` printed the client's end: `p71`, and then, among others,
 * `n127.0.0.1:50000->127.0.0.1:8377`.
 */
export function holderIn(
  output: string,
  client_port: number,
  server_port: number,
): number | undefined {
  let pid: number | undefined;
  for (const line of output.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    const [local = "", remote = ""] = line.split("->");
    if (local.endsWith(`:${client_port}`) && remote.endsWith(`:${server_port}`)) return pid;
  }
  return undefined;
}

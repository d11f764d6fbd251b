/** Finds who holds the other end of a loopback connection. Asks the kernel, trusts no header. */

import { unlessError } from "../paths.ts";
import { isAlive, isUnreadable, outputOf, processIds, startTimeOf, treeOf } from "../processes.ts";
import { type InetAddress, parseAddress } from "./inet.ts";
import { LSOF } from "./own_listener.ts";
import { type Endpoint, listKernelSockets, SocketDiagnostics, type SocketEnd } from "./netlink.ts";

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
  /** Whether this platform reports the owner of a TCP socket. Linux does, macOS does not. */
  readonly canIdentify: boolean;
  /** The client's end. Undefined if it is closed, is on another machine, or cannot be found. */
  find(connection: TcpConnection): SocketEnd | undefined;
  /** Whether the process `pid`, or one of its first `max` descendants, holds the client's end. */
  ownsSocket(pid: number, connection: TcpConnection, max?: number): boolean;
  /** A process that holds the client's end. Undefined if none of this user does, and on macOS. */
  holderOf(connection: TcpConnection): number | undefined;
}

const LOOPBACK = { ipv4: "127.0.0.1", ipv6: "::1" } as const;

/** The maximum number of addresses that are kept as parsed. */
const PARSED_MAX = 100;

/** The maximum number of connections whose holder is kept. */
const HOLDERS_MAX = 1000;

/** How many processes of one tree are searched for a socket by default. */
const TREE_PROCESSES_MAX = 512;

export function machineSockets(): Sockets {
  if (Deno.build.os === "linux") return new LinuxSockets();
  return {
    canIdentify: false,
    find: () => undefined,
    ownsSocket: ownsSocketByLsof,
    holderOf: () => undefined,
  };
}

class LinuxSockets implements Sockets {
  readonly canIdentify = true;
  readonly #kernel = new SocketDiagnostics();
  readonly #addresses = new ParsedAddresses();
  /** The holders of sockets by inode: each socket is searched for once. */
  readonly #holders = new Map<number, Holder>();

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
    const [first, ...others] = listKernelSockets(client, local_port);
    return others.length === 0 ? first : undefined;
  }

  ownsSocket(pid: number, connection: TcpConnection, max = TREE_PROCESSES_MAX): boolean {
    const socketEnd = this.find(connection);
    if (!socketEnd) return false;
    return treeOf(pid, max).some((descendant) => hasDescriptor(descendant, socketEnd.inode));
  }

  holderOf(connection: TcpConnection): number | undefined {
    const inode = this.find(connection)?.inode;
    if (inode === undefined) return undefined;
    const known = this.#holders.get(inode);
    if (known && (known.pid === undefined || isAlive(known.pid, known.started))) return known.pid;
    const pid = searchHolder(inode);
    if (this.#holders.size >= HOLDERS_MAX) this.#holders.clear();
    this.#holders.set(inode, { pid, started: pid === undefined ? undefined : startTimeOf(pid) });
    return pid;
  }
}

/** Who holds a socket; without a pid, nobody was found. */
interface Holder {
  readonly pid: number | undefined;
  readonly started: string | undefined;
}

/**
 * Searches the newest processes first: a program with a new connection has most often just started,
 * and the holder of an old connection is known.
 */
function searchHolder(inode: number): number | undefined {
  return processIds().toSorted((a, b) => b - a)
    .find((pid) => pid !== Deno.pid && hasDescriptor(pid, inode));
}

/** Keeps parsed addresses, as almost all requests come from the same one. */
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

function hasDescriptor(pid: number, inode: number): boolean {
  const folder = `/proc/${pid}/fd`;
  const descriptors = unlessError(isUnreadable, () => [...Deno.readDirSync(folder)]) ?? [];
  return descriptors.some(({ name }) =>
    unlessError(isUnreadable, () => Deno.readLinkSync(`${folder}/${name}`)) === `socket:[${inode}]`
  );
}

/** On macOS only `lsof` shows the sockets of a process, to its owner only. It takes about 50 ms. */
function ownsSocketByLsof(
  pid: number,
  { remote, local_port }: TcpConnection,
  max = TREE_PROCESSES_MAX,
): boolean {
  const pids = treeOf(pid, max).join(",");
  const filter = ["-nP", "-a", "-p", pids, `-iTCP:${remote.port}`, "-sTCP:ESTABLISHED", "-Fn"];
  return namesConnection(outputOf(LSOF, ...filter) ?? "", remote.port, local_port);
}

/** Whether `lsof -Fn` printed the client's end, as in `n127.0.0.1:50000->127.0.0.1:8377`. */
export function namesConnection(output: string, client_port: number, server_port: number): boolean {
  return output.split("\n").some((line) => {
    const [local = "", remote = ""] = line.split("->");
    return local.endsWith(`:${client_port}`) && remote.endsWith(`:${server_port}`);
  });
}

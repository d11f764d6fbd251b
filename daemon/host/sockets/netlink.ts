/**
 * Looks up one TCP socket in the kernel by its two endpoints: sock_diag(7) over netlink(7), which
 * takes about 5 µs. The fallback is /proc/net/tcp, which takes milliseconds to read on a machine
 * with much memory.
 */

import { readProcFile } from "../processes.ts";
import { parseIpAddress } from "kit/net/ip_address.ts";

/** An IP address in the kernel's format: 4 or 16 bytes in network order. */
export interface InetAddress {
  readonly family: "ipv4" | "ipv6";
  readonly bytes: Uint8Array;
}

/** The client's end of a connection, as the kernel knows it. */
export interface SocketEnd {
  readonly uid: number;
  /** The inode of the socket, which appears in the file descriptors of its process. */
  readonly inode: number;
}

export interface Endpoint extends InetAddress {
  readonly port: number;
}

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
} as const;

const AF_NETLINK = 16;
/** The flags SOCK_RAW, SOCK_CLOEXEC and SOCK_NONBLOCK. */
const SOCKET_TYPE = 3 | 0o2000000 | 0o4000;
const NETLINK_SOCK_DIAG = 4;
const MSG_DONTWAIT = 0x40;
const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
const FAMILY = { ipv4: 2, ipv6: 10 } as const;
const IPPROTO_TCP = 6;
const ALL_STATES = 0xffff_ffff;
const NO_COOKIE = 0xffff_ffff;

/** Size of a request: a `struct nlmsghdr`, then a `struct inet_diag_req_v2`. */
const REQUEST_BYTES = 72;
const ANSWER_BYTES_MAX = 4096;
/** Both sizes as a `size_t`. */
const REQUEST_SIZE = BigInt(REQUEST_BYTES);
const ANSWER_SIZE_MAX = BigInt(ANSWER_BYTES_MAX);
/** Offsets in a request: the two addresses of 16 bytes, and the cookie of 8 bytes. */
const CLIENT_AT = 28;
const SERVER_AT = 44;
const NO_COOKIE_AT = 64;
/** `at`: the offset of `struct inet_diag_msg` in an answer. The others: offsets of its fields. */
const MESSAGE_LAYOUT = {
  at: 16,
  client_port: 4,
  server_port: 6,
  uid: 64,
  inode: 68,
} as const;
/** The prefix of an IPv4-mapped IPv6 address. */
const MAPPED = [...Array<number>(10).fill(0), 0xff, 0xff];
/** Number of late answers to earlier requests that are skipped before a lookup fails. */
const STALE_ANSWERS_MAX = 8;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

export class SocketDiagnostics {
  readonly #request = new Uint8Array(REQUEST_BYTES);
  readonly #requestView = toRequest(this.#request);
  readonly #answer = new Uint8Array(ANSWER_BYTES_MAX);
  readonly #answerView = new DataView(this.#answer.buffer);
  #netlink: { readonly libc: Libc; readonly fd: number } | "unavailable" | undefined;
  #sequence = 0;

  /** The client's end of a connection; undefined if the kernel knows no such connection. */
  find(client: Endpoint, server: Endpoint): SocketEnd | undefined {
    this.#netlink ??= open();
    return this.#netlink === "unavailable"
      ? findInTable(client, server)
      : this.#query(this.#netlink, client, server);
  }

  #query(
    { libc, fd }: { libc: Libc; fd: number },
    client: Endpoint,
    server: Endpoint,
  ): SocketEnd | undefined {
    const sequence = this.#sequence = (this.#sequence + 1) % 0x7fff_ffff;
    this.#write(sequence, client, server);
    libc.send(fd, this.#request, REQUEST_SIZE, 0);
    const view = this.#answerView;
    for (let read = 0; read < STALE_ANSWERS_MAX; read++) {
      // The kernel writes its answer during send(), so this call need not wait.
      const size = Number(libc.recv(fd, this.#answer, ANSWER_SIZE_MAX, MSG_DONTWAIT));
      if (size < MESSAGE_LAYOUT.at) return undefined;
      if (view.getUint32(8, true) !== sequence) continue;
      return view.getUint16(4, true) === SOCK_DIAG_BY_FAMILY
        ? readMessage(view, client, server)
        : undefined; // NLMSG_ERROR, usually ENOENT.
    }
    return undefined;
  }

  #write(sequence: number, client: Endpoint, server: Endpoint): void {
    const view = this.#requestView;
    view.setUint32(8, sequence, true);
    view.setUint8(16, FAMILY[client.family]);
    view.setUint16(24, client.port);
    view.setUint16(26, server.port);
    this.#request.fill(0, CLIENT_AT, NO_COOKIE_AT);
    this.#request.set(client.bytes, CLIENT_AT);
    this.#request.set(server.bytes, SERVER_AT);
  }
}

/** Writes the fields that all requests share. */
function toRequest(bytes: Uint8Array<ArrayBuffer>): DataView {
  const view = new DataView(bytes.buffer);
  view.setUint32(0, REQUEST_BYTES, true);
  view.setUint16(4, SOCK_DIAG_BY_FAMILY, true);
  view.setUint16(6, NLM_F_REQUEST, true);
  view.setUint8(17, IPPROTO_TCP);
  view.setUint32(20, ALL_STATES, true);
  view.setUint32(NO_COOKIE_AT, NO_COOKIE, true);
  view.setUint32(NO_COOKIE_AT + 4, NO_COOKIE, true);
  return view;
}

/**
 * If the connection is gone, the kernel may answer with a listening socket. Both ports are
 * therefore compared with the request.
 */
function readMessage(view: DataView, client: Endpoint, server: Endpoint): SocketEnd | undefined {
  const at = (field: number) => MESSAGE_LAYOUT.at + field;
  const isSame = view.getUint16(at(MESSAGE_LAYOUT.client_port)) === client.port &&
    view.getUint16(at(MESSAGE_LAYOUT.server_port)) === server.port;
  if (!isSame) return undefined;
  return {
    uid: view.getUint32(at(MESSAGE_LAYOUT.uid), true),
    inode: view.getUint32(at(MESSAGE_LAYOUT.inode), true),
  };
}

function open(): { readonly libc: Libc; readonly fd: number } | "unavailable" {
  try {
    const { symbols: libc } = Deno.dlopen("libc.so.6", SYMBOLS);
    const fd = libc.socket(AF_NETLINK, SOCKET_TYPE, NETLINK_SOCK_DIAG);
    return fd < 0 ? "unavailable" : { libc, fd };
  } catch (error) {
    // This system has a different C library, or this process has no permission.
    if (error instanceof Error) return "unavailable";
    throw error;
  }
}

/** As `SocketDiagnostics.find`, but reads the kernel's table of all connections. */
export function findInTable(client: Endpoint, server: Endpoint): SocketEnd | undefined {
  const found = kernelTable().find(({ local, remote }) =>
    isEndpoint(local, client) && isEndpoint(remote, server)
  );
  return found && { uid: found.uid, inode: found.inode };
}

/** Finds all connections from a client's endpoint to a port at any address of this machine. */
export function listKernelSockets(client: Endpoint, server_port: number): SocketEnd[] {
  return kernelTable().filter(({ local, remote }) =>
    isEndpoint(local, client) && portOf(remote) === server_port
  );
}

/** Parses a literal address; an IPv4-mapped IPv6 address counts as IPv4. */
export function parseAddress(text: string): InetAddress | undefined {
  const address = parseIpAddress(text.replace(/^\[|\]$/g, "").replace(/%.*/, ""));
  if (!address) return undefined;
  const { bits, value } = address;
  const bytes = Uint8Array.fromHex(value.toString(16).padStart(bits / 4, "0"));
  return { family: bits === 32 ? "ipv4" : "ipv6", bytes };
}

/** The state of a listening socket in the kernel's table. */
export const LISTEN_STATE = "0A";

/** All TCP sockets of this machine. */
export function kernelTable() {
  return ["tcp", "tcp6"].flatMap((name) =>
    (readProcFile(`net/${name}`) ?? "").trim().split("\n").slice(1).map((line) => {
      const [, local = "", remote = "", state, , , , uid, , inode] = line.trim().split(/\s+/);
      return { local, remote, state, uid: Number(uid), inode: Number(inode) };
    })
  );
}

/** The port of a table entry. */
export function portOf(endpoint: string): number {
  return parseInt(endpoint.split(":", 2)[1] ?? "", 16);
}

/**
 * Compares an endpoint with a table entry such as `0100007F:C350`: the address is in 32-bit words
 * of host byte order, the port in network order.
 */
export function isEndpoint(text: string, { bytes, port }: Endpoint): boolean {
  if (portOf(text) !== port) return false;
  const [address = ""] = text.split(":", 1);
  const words =
    address.match(/.{8}/g)?.flatMap((word) =>
      word.match(/../g)?.reverse().map((byte) => parseInt(byte, 16)) ?? []
    ) ?? [];
  const expected = words.length > bytes.length ? [...MAPPED, ...bytes] : bytes;
  return words.length === expected.length && words.every((byte, at) => byte === expected[at]);
}

/** Connects the package `ws` to external servers. */

import type { Socket } from "node:net";
import type { OutgoingSockets } from "./sockets.ts";

/** The option `createConnection` of the package `ws`. */
export type CreateConnection = (
  options: unknown,
  done: (error: Error | null, socket?: Socket) => void,
) => void;

/** Returns a function that connects to one address, `ws:` or `wss:`. */
export function connectorFor(sockets: OutgoingSockets, address: string): CreateConnection {
  const { protocol, hostname, port } = new URL(address);
  const tls = protocol === "wss:";
  const host = hostname.replace(/^\[|\]$/g, "");
  const target = { host, port: Number(port || (tls ? 443 : 80)) };
  return (_, done) => {
    const opening = tls ? sockets.openSecure(target) : sockets.open(target, { tls });
    opening.then((socket) => done(null, socket), done);
  };
}

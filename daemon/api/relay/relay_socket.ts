/** The tunnel's WebSocket. It uses the `ws` package, which sends each message at once. */

// @ts-types="./relay_socket_ws.d.ts"
import { WebSocket } from "ws";
import { type OutgoingDeps, OutgoingSockets } from "kit/net/outgoing/sockets.ts";
import { connectorFor } from "kit/net/outgoing/web_socket.ts";
import { toConnection } from "kit/net/tunnel/connection.ts";
import type { OpenSocket } from "./relay_client.ts";

/**
 * Opens tunnels' WebSockets. The runtime's own WebSocket is not used, because it splits messages
 * over 1,024 bytes and waits 40 ms between the parts, and takes no proxy of the environment.
 */
export function socketsOf(deps: OutgoingDeps): OpenSocket {
  const sockets = new OutgoingSockets(deps);
  return (address, headers, listener) => {
    const createConnection = connectorFor(sockets, address);
    const options = { headers: { ...headers }, perMessageDeflate: false, createConnection };
    return toConnection(new WebSocket(address, options), listener);
  };
}

/** The tunnel's WebSocket. It uses the `ws` package, which sends each message at once. */

// @ts-types="./relay_socket_ws.d.ts"
import { WebSocket } from "ws";
import {
  type Connection,
  type ConnectionListener,
  toConnection,
} from "kit/net/tunnel/connection.ts";

/**
 * Opens the tunnel's WebSocket. The runtime's own WebSocket is not used, because it splits messages
 * over 1,024 bytes and waits 40 ms between the parts.
 */
export function openSocket(
  address: string,
  headers: Readonly<Record<string, string>>,
  listener: ConnectionListener,
): Connection {
  const options = { headers: { ...headers }, perMessageDeflate: false };
  return toConnection(new WebSocket(address, options), listener);
}

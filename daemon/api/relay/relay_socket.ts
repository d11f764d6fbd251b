/** How the tunnel's socket is had: one whose messages leave at once, whatever their length. */

// @ts-types="./relay_socket_ws.d.ts"
import { WebSocket } from "ws";
import {
  type Connection,
  type ConnectionListener,
  toConnection,
} from "kit/net/tunnel/connection.ts";

/** Not the runtime's: that one writes twice for more than 1,024 bytes, and waits 40 ms between. */
export function openSocket(
  address: string,
  headers: Readonly<Record<string, string>>,
  ears: ConnectionListener,
): Connection {
  const options = { headers: { ...headers }, perMessageDeflate: false };
  return toConnection(new WebSocket(address, options), ears);
}

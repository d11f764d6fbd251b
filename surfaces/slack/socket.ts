/** A WebSocket of Socket Mode. It uses the `ws` package, which reports pings. */

// @ts-types="./socket_ws.d.ts"
import { WebSocket } from "ws";
import { UnreachableError } from "kit/net/outgoing/http_client.ts";
import { type OutgoingDeps, OutgoingSockets } from "kit/net/outgoing/sockets.ts";
import { connectorFor } from "kit/net/outgoing/web_socket.ts";

export interface SlackSocket {
  /** Sends a text; drops it if the connection is not open. */
  send(text: string): void;
  ping(): void;
  /** Begins the closing handshake. */
  close(): void;
  /** Ends the connection without a handshake. */
  drop(): void;
}

interface SlackSocketListener {
  received(text: string): void;
  /** Called at each ping and pong of the other end. */
  alive(): void;
  /** Called once, also if the connection failed. The reason is present if it is known. */
  closed(why?: string): void;
}

export type ConnectSlackSocket = (address: string, listener: SlackSocketListener) => SlackSocket;

const OPEN = 1;
const NORMAL_CLOSURE = 1000;
/** Far more than a message with all its blocks has. */
const FRAME_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Opens a WebSocket. The runtime's own does not report the pings of the other end and sends none,
 * so that a connection whose other end vanished would never be noticed.
 */
export const slackSockets = (deps: OutgoingDeps): ConnectSlackSocket => (address, listener) => {
  const options = {
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    createConnection: connectorFor(new OutgoingSockets(deps), address),
  };
  const socket = new WebSocket(address, options);
  socket.on("message", (data) => listener.received(data.toString()));
  socket.on("ping", () => listener.alive());
  socket.on("pong", () => listener.alive());
  let why: string | undefined;
  // The event `close` follows. Other errors may contain the ticket in the address, so they are
  // dropped.
  socket.on("error", (error) => why = error instanceof UnreachableError ? error.message : why);
  socket.on("close", () => listener.closed(why));
  return {
    send: (text) => {
      if (socket.readyState === OPEN) socket.send(text);
    },
    ping: () => {
      if (socket.readyState === OPEN) socket.ping();
    },
    close: () => socket.close(NORMAL_CLOSURE),
    drop: () => socket.terminate(),
  };
};

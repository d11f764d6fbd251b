/**
 * WebSockets over unix sockets, with the package `ws`. The runtime's own WebSocket ends only if its
 * other end confirms the close, so each connection to a stopped server would stay open.
 */

import { connect } from "node:net";
// @ts-types="./local_web_socket_ws.d.ts"
import { WebSocket } from "ws";

/** The runtime's own limit; an answer with all turns of a thread is long. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024;

export function localWebSocket(path: string) {
  return new WebSocket("ws://localhost/", {
    maxPayload: FRAME_BYTES_MAX,
    perMessageDeflate: false,
    createConnection: () => connect(path),
  });
}

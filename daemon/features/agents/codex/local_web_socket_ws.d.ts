/**
 * The types of the part of the package `ws` that connects to a local server. The package's own
 * types would need Node's types.
 */

import type { Socket } from "node:net";

export interface Options {
  readonly maxPayload: number;
  readonly perMessageDeflate: boolean;
  createConnection(): Socket;
}

export const WebSocket: new (address: string, options: Options) => WsSocket;

export interface WsSocket {
  readonly readyState: number;
  onopen: () => void;
  onmessage: (event: { readonly data: unknown }) => void;
  onerror: () => void;
  onclose: () => void;
  send(text: string): void;
  close(): void;
  /** Ends the connection without waiting for the other end. */
  terminate(): void;
}

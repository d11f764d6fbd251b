/**
 * The types of the part of the package `ws` that Socket Mode uses. The package's own types would
 * need Node's types.
 */

import type { CreateConnection } from "kit/net/outgoing/web_socket.ts";

export interface Options {
  readonly maxPayload: number;
  readonly perMessageDeflate: boolean;
  readonly createConnection: CreateConnection;
}

export interface Events {
  message: (data: { toString(): string }) => void;
  ping: () => void;
  pong: () => void;
  error: (error: Error) => void;
  close: (code: number, reason: { toString(): string }) => void;
}

export interface WsSocket {
  readonly readyState: number;
  on<E extends keyof Events>(event: E, listener: Events[E]): void;
  send(text: string): void;
  ping(): void;
  close(code: number): void;
  terminate(): void;
}

export const WebSocket: new (address: string, options: Options) => WsSocket;

/**
 * The types of the part of the package `ws` that the tunnel uses. The package's own types would
 * need Node's types.
 */

import type { CreateConnection } from "kit/net/outgoing/web_socket.ts";
import type { SocketLike } from "kit/net/tunnel/connection.ts";

export interface Options {
  readonly headers: Readonly<Record<string, string>>;
  readonly perMessageDeflate: boolean;
  readonly createConnection: CreateConnection;
}

export const WebSocket: new (address: string, options: Options) => SocketLike;

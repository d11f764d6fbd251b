/** The part of the package `ws` that the tunnel uses; its own types would need Node's. */

import type { SocketLike } from "kit/net/tunnel/connection.ts";

export interface Options {
  readonly headers: Readonly<Record<string, string>>;
  readonly perMessageDeflate: boolean;
}

export const WebSocket: new (address: string, options: Options) => SocketLike;

/** As much of the package `ws` as the tunnel's dial needs; its own types would bring Node's along. */

import type { SocketLike } from "kit/net/tunnel/connection.ts";

export interface Options {
  readonly headers: Readonly<Record<string, string>>;
  readonly perMessageDeflate: boolean;
}

export const WebSocket: new (address: string, options: Options) => SocketLike;

/** How the tunnel's socket is had: one whose messages leave at once, whatever their length. */

// @ts-types="./dial_ws.d.ts"
import { WebSocket } from "ws";
import { type Ears, type Line, lineOn } from "kit/net/tunnel/connection.ts";

/** Not the runtime's: that one writes twice for more than 1,024 bytes, and waits 40 ms between. */
export function dial(address: string, headers: Readonly<Record<string, string>>, ears: Ears): Line {
  const options = { headers: { ...headers }, perMessageDeflate: false };
  return lineOn(new WebSocket(address, options), ears);
}

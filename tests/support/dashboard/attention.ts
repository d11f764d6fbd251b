/** Asks to the human. */

import assert from "node:assert/strict";
import type { SocketPeer } from "./socket_peer.ts";

/** A choice between "Run it" and "Leave it". */
export function choice(text: string, more: Record<string, unknown> = {}) {
  const options = [{ id: "yes", title: "Run it" }, { id: "no", title: "Leave it" }];
  return { text, question: { kind: "choice", options, ...more } };
}

/** Asks the human; returns the ask's id. */
export async function open(peer: SocketPeer, fields: Record<string, unknown>): Promise<string> {
  const { correlation_id, ...rest } = await peer.request("ask", { to_peer: "sam", ...fields });
  assert.ok(correlation_id, JSON.stringify(rest));
  return correlation_id;
}

/**
 * Joins two peers that are the same agent: one has a pane and no session, the other a session and
 * no pane.
 */

import type { Reader } from "kit/data/sqlite.ts";
import type { Context } from "../../data/context.ts";
import { idsIn } from "../messages/dispatch/framing.ts";
import * as ledger from "../messages/ledger/ledger.ts";
import { isLive } from "../peers/directory.ts";
import type { Peers } from "../peers/peers.ts";
import * as rows from "../peers/store.ts";
import type { StoredPeer } from "../peers/store.ts";

/**
 * Returns the peer that read a prompt. A session of a shared server is registered without a pane
 * and a process. If such a session reads a message that was typed into the pane of a peer without
 * a session, both are the same agent, and their records are joined.
 */
export function peerOfPrompt(
  { ctx: { db }, peers }: { readonly ctx: Pick<Context, "db">; readonly peers: Peers },
  peer_id: string,
  prompt: string,
): string {
  const session = rows.get(db, peer_id);
  if (!session || session.pane_id !== null || session.agent_pid !== null) return peer_id;
  const { backend, path, runtime_session_id } = session;
  if (!backend || path === null || runtime_session_id === null) return peer_id;
  for (const id of idsIn(prompt)) {
    const typed = typedPeer(db, id, session);
    if (!typed) continue;
    peers.close(peer_id);
    const registration = { peer_id: typed.peer_id, backend, path, runtime_session_id };
    return peers.register(registration, { proven_peer_id: typed.peer_id }).peer_id;
  }
  return peer_id;
}

/** The peer whose pane a message was typed into, if it may be the same agent as `session`. */
function typedPeer(db: Reader, message_id: string, session: StoredPeer): StoredPeer | undefined {
  const message = ledger.findMessage(db, message_id);
  const peer = message?.transport === "pane" ? rows.get(db, message.to_peer_id) : undefined;
  if (!peer || peer.backend !== session.backend || peer.runtime_session_id !== null) {
    return undefined;
  }
  const isEarlier = peer.registered_at <= session.registered_at;
  return isLive(peer) && isEarlier ? peer : undefined;
}

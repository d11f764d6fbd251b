/** Connections on `/ws`: upgrades them, and starts their protocol sessions. */

import type { Caller } from "kit/http/route.ts";
import type { Context } from "../../data/context.ts";
import { Problem } from "protocol/problems.ts";
import type { Connection } from "../../features/messages/websocket/session.ts";
import { PeerSockets, type PeerSocketsDeps, type SocketCaller } from "./peer_sockets.ts";
import { ProtocolSession, upgrade } from "./protocol_session.ts";

/**
 * Maximum number of open sockets that have not sent the token yet. Even a silent socket may buffer
 * a message of 64 MiB, the runtime's limit.
 */
const STRANGERS_MAX = 8;

export class SocketConnections {
  readonly #ctx: Context;
  readonly #deps: PeerSocketsDeps;
  readonly #peerSockets: PeerSockets;
  /** The sockets of other users that have not sent the token yet. */
  readonly #strangers = new Set<symbol>();

  constructor(ctx: Context, deps: PeerSocketsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.#peerSockets = new PeerSockets(ctx, deps);
  }

  /** Upgrades a request. A caller may also send the token in its first frame. */
  upgrade(request: Request, caller: Caller): Response {
    const { callers, guard } = this.#deps;
    const isUpgrade = request.headers.get("upgrade")?.toLowerCase() === "websocket";
    const mayAuthenticate = isUpgrade && guard.has_token;
    if (!caller.authorized && !mayAuthenticate) throw new Problem("unauthorized", {});
    if (!isUpgrade) throw new Problem("upgrade_required", {});
    const isStranger = !caller.authorized && !callers.isOwnUser(caller.remote);
    if (isStranger && this.#strangers.size >= STRANGERS_MAX) throw new Problem("unauthorized", {});
    const headers = new Headers(request.headers); // A request is gone once it is upgraded.
    const stranger = Symbol();
    const release = () => void this.#strangers.delete(stranger);
    return upgrade(request, (connection) => {
      if (isStranger) this.#strangers.add(stranger);
      const isHumanAnswer = () => callers.isHumanAnswer(caller, headers);
      return this.open(connection, { ...caller, onAuthenticated: release, isHumanAnswer });
    }, release);
  }

  /** Starts a protocol session on a connection. */
  open(connection: Connection, caller: SocketCaller): ProtocolSession {
    return new ProtocolSession(this.#ctx, this.#peerSockets, connection, caller);
  }
}

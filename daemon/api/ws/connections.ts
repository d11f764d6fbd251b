/** Connections on `/ws`: each is upgraded, attached to its peer, and detached when it closes. */

import { ApiError, type Call } from "kit/http/client.ts";
import { VERSION } from "kit/http/contract.ts";
import type { Caller } from "kit/http/route.ts";
import type { Context } from "kit/data/context.ts";
import { Problem } from "kit/core/problem.ts";
import { ackAsk, declineAsk, openAsk } from "../../features/asks/contract.ts";
import { answerAsk } from "../../features/asks/questions/contract.ts";
import type { Questions } from "../../features/asks/questions/questions.ts";
import type { Surfaces } from "../../features/inbox/surfaces.ts";
import type { Delivery } from "../../features/messages/delivery.ts";
import type { Dispatcher } from "../../features/messages/dispatch/dispatcher.ts";
import type { Receipts } from "../../features/messages/receipts.ts";
import type { Verb } from "../../features/messages/websocket/frames.ts";
import type { Connection, Session } from "../../features/messages/websocket/session.ts";
import type { Sockets } from "../../features/messages/websocket/sockets.ts";
import { notifyPeer } from "../../features/notifications/contract.ts";
import { type Directory, isLive } from "../../features/peers/directory.ts";
import type { Peers } from "../../features/peers/peers.ts";
import type { Reachability } from "../../features/peers/records.ts";
import type { PeerTurns } from "../../features/peers/turns.ts";
import type { Callers } from "../callers/callers.ts";
import type { UnauthenticatedSockets } from "../callers/unauthenticated_sockets.ts";
import type { Guard } from "../guard.ts";
import { type Handshake, isPlugin } from "./handshake.ts";
import { ProtocolSession, upgrade } from "./protocol_session.ts";

export interface SocketConnectionsDeps {
  /** Calls a route of this daemon. */
  readonly call: Call;
  readonly callers: Callers;
  readonly delivery: Delivery;
  readonly directory: Directory;
  readonly dispatcher: Pick<Dispatcher, "wake">;
  readonly guard: Guard;
  readonly handshake: Handshake;
  /** Whether this is the token of hooks and plugins. */
  isHookToken(token: string | undefined): boolean;
  readonly peers: Peers;
  readonly questions: Pick<Questions, "refuseAgents">;
  readonly reachability: Reachability;
  readonly receipts: Receipts;
  readonly sockets: Sockets;
  readonly surfaces: Surfaces;
  readonly turns: PeerTurns;
  readonly unauthenticated: UnauthenticatedSockets;
}

/** The caller that opens a socket. */
export interface SocketCaller extends Pick<Caller, "authorized" | "remote"> {
  /** Called when the first frame contains the token. */
  readonly onAuthenticated?: () => void;
}

const VERB_CONTRACTS = {
  ask: openAsk,
  notify: notifyPeer,
  ack: ackAsk,
  decline: declineAsk,
  answer: answerAsk,
} as const;

export class SocketConnections {
  readonly #ctx: Context;
  readonly #deps: SocketConnectionsDeps;

  constructor(ctx: Context, deps: SocketConnectionsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  /** Upgrades a request. A caller may also send the token in its first frame. */
  upgrade(request: Request, caller: Caller): Response {
    const { callers, guard, unauthenticated } = this.#deps;
    const isUpgrade = request.headers.get("upgrade")?.toLowerCase() === "websocket";
    const mayAuthenticate = isUpgrade && guard.has_token;
    if (!caller.authorized && !mayAuthenticate) throw new Problem("unauthorized", {});
    if (!isUpgrade) throw new Problem("upgrade_required", {});
    const isStranger = !caller.authorized && !callers.isOwnUser(caller.remote);
    if (isStranger && unauthenticated.full) throw new Problem("unauthorized", {});
    let release = () => {};
    return upgrade(request, (connection) => {
      if (isStranger) release = unauthenticated.add();
      return this.open(connection, { ...caller, onAuthenticated: () => release() });
    }, () => release());
  }

  /** Starts a protocol session on a connection. */
  open(
    connection: Connection,
    { authorized, remote, onAuthenticated }: SocketCaller,
  ): ProtocolSession {
    const { callers, directory, guard, handshake, isHookToken, questions, receipts, turns } =
      this.#deps;
    const deps = {
      version: VERSION,
      authorized: (connect: Parameters<Handshake["run"]>[0]) => {
        if (guard.isToken(connect.auth_token)) {
          onAuthenticated?.();
          return "caller" as const;
        }
        const isReporter = isHookToken(connect.auth_token) && isPlugin(connect);
        return isReporter ? "reporter" as const : undefined;
      },
      handshake: (connect: Parameters<Handshake["run"]>[0]) => handshake.run(connect, { remote }),
      attach: (session: Session) => this.#attach(session),
      detach: (session: Session) => this.#detach(session),
      receipt: receipts.receipt.bind(receipts),
      reportTurn: (peer_id: string, turn: Parameters<PeerTurns["reportTurn"]>[1]) => {
        if (!directory.isRegistered(peer_id)) return; // It may have been retired since.
        turns.reportTurn(peer_id, turn, "websocket");
      },
      reportChat: (peer_id: string, chat: Parameters<PeerTurns["reportChat"]>[1]) => {
        if (directory.isRegistered(peer_id)) turns.reportChat(peer_id, chat);
      },
      verb: (session: Session, verb: Verb) => {
        const { correlation_id } = verb;
        if (typeof correlation_id === "string") {
          questions.refuseAgents(correlation_id, () => callers.isAgent({ remote }));
        }
        return this.#callVerb(session, verb);
      },
    };
    return new ProtocolSession(this.#ctx, deps, connection, { authorized });
  }

  /**
   * Attaches a socket to its peer, and marks the peer as seen. If the peer takes no messages, its
   * queue is dropped, so that it is sent none (spec 3).
   */
  #attach(session: Session): void {
    const { db } = this.#ctx;
    const { delivery, directory, peers, sockets, surfaces } = this.#deps;
    const { peer_id, identity: { surface } } = session;
    db.transact(() => {
      if (!directory.isRegistered(peer_id)) {
        return db.afterCommit(() => session.close("peer_retired"));
      }
      peers.markSeen(peer_id, "websocket");
      // The peer is still offline if a restart replaces it.
      session.isSuspended = !isLive(directory.resolve(peer_id));
      if (!directory.resolve(peer_id).addressable) {
        delivery.dropQueue(peer_id, "peer_not_addressable");
      }
      sockets.attach(session, () => surface && surfaces.onConnected({ ...surface, peer_id }));
    });
  }

  /** Detaches a lost socket. Its peer goes offline, unless another transport reaches the peer. */
  #detach(session: Session): void {
    const { db } = this.#ctx;
    const { directory, dispatcher, peers, reachability, sockets, surfaces } = this.#deps;
    const { peer_id, identity: { surface } } = session;
    db.transact(() => {
      if (!sockets.detach(session)) return;
      if (surface) surfaces.onDisconnected(surface.name);
      if (!directory.isRegistered(peer_id)) return;
      if (directory.resolve(peer_id).role !== "human" && !reachability.isReachable(peer_id)) {
        const cause = { reason: "socket_closed", source: "websocket", terminal: false };
        peers.offline(peer_id, cause);
      }
      db.afterCommit(() => dispatcher.wake(peer_id));
    });
  }

  /**
   * Runs a verb through its route, with the session's peer as the sender. A bridge may send in the
   * human's name, but nothing proves that the human wrote the message (contract 2).
   */
  async #callVerb(
    { peer_id, isSuspended, identity: { surface } }: Session,
    { type, request_id: _, idempotency_key, traceparent, ...fields }: Verb,
  ): Promise<Record<string, unknown>> {
    const { call, directory, peers } = this.#deps;
    if (isSuspended && directory.isRegistered(peer_id)) peers.markSeen(peer_id, "websocket");
    // An answer that arrives through a surface counts as the human's.
    const isForHuman = surface && (surface.bridge || type === "answer");
    const human = isForHuman ? directory.human()?.peer_id : undefined;
    const body: unknown = { ...fields, from_peer: human ?? peer_id };
    const headers = {
      ...(idempotency_key !== undefined && { "idempotency-key": idempotency_key }),
      ...(traceparent !== undefined && { traceparent }),
    };
    try {
      const contract = VERB_CONTRACTS[type as keyof typeof VERB_CONTRACTS];
      return await call(contract, { body, headers } as never);
    } catch (error) {
      if (error instanceof ApiError) return error.problem;
      throw error;
    }
  }
}

/** Sockets of `/ws`: they attach peers, report their events, and run verbs for them. */

import { ApiError, type Call } from "kit/http/client.ts";
import type { Caller } from "kit/http/route.ts";
import type { Context } from "../../data/context.ts";
import type { SubagentReport } from "../../features/agents/adapter.ts";
import { ackAsk, declineAsk, openAsk } from "protocol/asks/contract.ts";
import { answerAsk } from "protocol/asks/questions.ts";
import type { Questions } from "../../features/asks/questions/questions.ts";
import type { Briefings } from "../../features/hooks/briefings.ts";
import type { Delivery } from "../../features/messages/delivery.ts";
import type { Dispatcher } from "../../features/messages/dispatcher.ts";
import type { Receipts } from "../../features/messages/receipts.ts";
import type { Connect, Verb } from "../../features/messages/websocket/frames.ts";
import type { Session } from "../../features/messages/websocket/session.ts";
import type { Sockets } from "../../features/messages/websocket/sockets.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { isLive } from "../../features/peers/directory.ts";
import type { Reachability } from "../../features/peers/records.ts";
import type { Subagents } from "../../features/peers/subagents.ts";
import type { PeerTurns } from "../../features/peers/turns.ts";
import type { Guard } from "../guard.ts";
import { Handshake, type HandshakeDeps, isPlugin } from "./handshake.ts";

export interface PeerSocketsDeps extends HandshakeDeps {
  readonly briefings: Briefings;
  /** Calls a route of this daemon. */
  readonly call: Call;
  /** As `call`, for requests that are proved to come from the human. */
  readonly callAsHuman: Call;
  readonly delivery: Delivery;
  readonly dispatcher: Dispatcher;
  readonly guard: Guard;
  /** True if this is the token of hooks and plugins. */
  isHookToken(token: string | undefined): boolean;
  readonly questions: Questions;
  readonly reachability: Reachability;
  readonly receipts: Receipts;
  readonly sockets: Sockets;
  readonly subagents: Subagents;
  readonly turns: PeerTurns;
}

/** The caller that opens a socket. */
export interface SocketCaller extends Pick<Caller, "authorized" | "remote"> {
  /** Called when the first frame contains the token. */
  readonly onAuthenticated?: () => void;
  /** True if an answer of this caller counts as the human's; by default, unless it is an agent. */
  readonly isHumanAnswer?: () => boolean;
}

const VERB_CONTRACTS = {
  ask: openAsk,
  notify: notifyPeer,
  ack: ackAsk,
  decline: declineAsk,
  answer: answerAsk,
} as const;

export class PeerSockets {
  readonly #ctx: Context;
  readonly #deps: PeerSocketsDeps;
  readonly handshake: Handshake;

  constructor(ctx: Context, deps: PeerSocketsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
    this.handshake = new Handshake(deps);
  }

  get receipts(): Receipts {
    return this.#deps.receipts;
  }

  /** Rights of a connection: a `reporter` only reports its agent's events; undefined is refused. */
  authorize(
    connect: Connect,
    { authorized, onAuthenticated }: SocketCaller,
  ): "caller" | "reporter" | undefined {
    const { guard, isHookToken } = this.#deps;
    const { auth_token } = connect;
    if (authorized) return "caller";
    if (guard.isToken(auth_token)) {
      onAuthenticated?.();
      return "caller";
    }
    return isHookToken(auth_token) && isPlugin(connect) ? "reporter" : undefined;
  }

  /** Reports a turn, unless the peer has been retired since. */
  reportTurn(peer_id: string, turn: Parameters<PeerTurns["reportTurn"]>[1]): void {
    const { directory, turns } = this.#deps;
    if (directory.isRegistered(peer_id)) turns.reportTurn(peer_id, turn, "websocket");
  }

  reportChat(peer_id: string, chat: Parameters<PeerTurns["reportChat"]>[1]): void {
    const { directory, turns } = this.#deps;
    if (directory.isRegistered(peer_id)) turns.reportChat(peer_id, chat);
  }

  reportSubagent(peer_id: string, subagent: SubagentReport): void {
    const { directory, subagents } = this.#deps;
    if (directory.isRegistered(peer_id)) subagents.report(peer_id, subagent);
  }

  reportCompaction(peer_id: string): void {
    const { briefings, directory } = this.#deps;
    if (directory.isRegistered(peer_id)) briefings.send(peer_id, "compact");
  }

  /**
   * Attaches a socket to its peer, and marks the peer as seen. If the peer takes no messages, its
   * queue is dropped, so that it is sent none (spec 3).
   */
  attach(session: Session): void {
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
  detach(session: Session): void {
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
  async verb(
    { peer_id, isSuspended, identity: { surface } }: Session,
    { type, request_id: _, idempotency_key, traceparent, ...fields }: Verb,
    caller: SocketCaller,
  ): Promise<Record<string, unknown>> {
    const { callers, directory, peers, questions } = this.#deps;
    const { correlation_id } = fields;
    const { isHumanAnswer = () => !callers.isAgent(caller) } = caller;
    if (typeof correlation_id === "string") {
      questions.mustBeHuman(correlation_id, isHumanAnswer);
    }
    if (isSuspended && directory.isRegistered(peer_id)) peers.markSeen(peer_id, "websocket");
    // A surface answers for the human, and vouches for it unless it is an agent's (contract 2).
    const isForHuman = surface && (surface.bridge || type === "answer");
    const human = isForHuman ? directory.human()?.peer_id : undefined;
    const body: unknown = { ...fields, from_peer: human ?? peer_id };
    const headers = {
      ...(idempotency_key !== undefined && { "idempotency-key": idempotency_key }),
      ...(traceparent !== undefined && { traceparent }),
    };
    const isVouched = type === "answer" && surface && !surface.bridge && isHumanAnswer();
    const call = isVouched ? this.#deps.callAsHuman : this.#deps.call;
    try {
      const contract = VERB_CONTRACTS[type as keyof typeof VERB_CONTRACTS];
      return await call(contract, { body, headers } as never);
    } catch (error) {
      if (error instanceof ApiError) return error.problem;
      throw error;
    }
  }
}

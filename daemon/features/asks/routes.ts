/** Routes of asks. */

import type * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { type DeliveryState, Traceparent } from "../messages/contract.ts";
import type { AskContext, Asks } from "./asks.ts";
import * as contracts from "./contract.ts";
import type { Router } from "./routing/router.ts";
import { openRoutedAsk, toOpened } from "./routing/routes.ts";

const PAGE_ROWS = 100;

interface KnownPeer {
  readonly peer_id: string;
  readonly mesh_session_id: string | null;
}

/** What the routes need in addition to the service. */
export interface AskRoutesDeps {
  /** Whether the request has a proven human origin (contract 2). */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** Throws `human_not_proven` if an agent answers a question that only the human may answer. */
  mayAnswer(correlation_id: string, caller: Caller): void;
  resolveSender(argument: string): { peer_id: string | null; name: string };
  findByPane(pane_id: string, tmux_socket: string | undefined): KnownPeer & { name: string };
  /** A peer by name, or by the id of any peer ever known, because messages outlive peers. */
  findEverKnown(argument: string): KnownPeer;
  /** The sender of a request as a string: a peer's id, or the name of an unregistered sender. */
  senderOf(body: { from_peer: string; circle?: string | undefined }): string;
  /** The current state of a message. */
  stateOf(id: string): z.output<typeof DeliveryState> | undefined;
  /**
   * Chooses the recipient of an ask that names none; undefined if `routing.strategy` is `static`.
   */
  readonly router: Router | undefined;
}

type OpenedAsk = z.output<typeof contracts.openAsk.returns>;

/** A repeated request gets the ids of the first response and the current state of the delivery. */
function replayOf({ senderOf, stateOf }: AskRoutesDeps) {
  return {
    sender: ({ body }: { body: Parameters<AskRoutesDeps["senderOf"]>[0] }) => senderOf(body),
    again: <A extends OpenedAsk>(before: A): A => ({
      ...before,
      delivery_state: stateOf(before.correlation_id ?? "") ?? before.delivery_state,
    }),
  };
}

/** Reads the context of a request. */
export type RequestContextReader = (caller: Caller, headers: Headers) => AskContext;

export function requestContextReader(
  { isProvenHuman }: Pick<AskRoutesDeps, "isProvenHuman">,
): RequestContextReader {
  return (caller, headers) => ({
    proven_human: isProvenHuman(caller, headers),
    traceparent: Traceparent.parse(headers.get("traceparent")),
  });
}

function openRoute(asks: Asks, deps: AskRoutesDeps, requestContextOf: RequestContextReader): Route {
  const replay = replayOf(deps);
  if (deps.router) return openRoutedAsk({ asks, router: deps.router, requestContextOf, replay });
  return route(contracts.openAsk, ({ body, caller, headers, commit }) => {
    const open = () => toOpened(asks.open(body, requestContextOf(caller, headers)));
    return body.dry_run ? open() : commit(open);
  }, replay);
}

export function askRoutes(asks: Asks, deps: AskRoutesDeps): Route[] {
  const requestContextOf = requestContextReader(deps);
  return [
    openRoute(asks, deps, requestContextOf),
    route(contracts.listAsks, ({ query }) =>
      asks.page({
        state: query.state ?? null,
        peer_id: query.peer_id === undefined ? null : deps.findEverKnown(query.peer_id).peer_id,
        before: query.cursor ?? Number.MAX_SAFE_INTEGER,
        limit: query.limit ?? PAGE_ROWS,
      })),
    route(contracts.pendingAsks, ({ query }) => {
      const { pane_id, peer_id, tmux_socket, direction } = query;
      const peer = pane_id
        ? deps.findByPane(pane_id, tmux_socket)
        : deps.resolveSender(peer_id ?? "cli");
      return { asks: asks.pending(peer, direction) };
    }),
    route(contracts.askHistory, ({ query }) => {
      const { pane_id, peer_id, tmux_socket, since } = query;
      const peer = pane_id
        ? deps.findByPane(pane_id, tmux_socket)
        : deps.findEverKnown(peer_id ?? "");
      const { mesh_session_id } = peer;
      return { threads: asks.history(peer.peer_id, since), mesh_session_id };
    }),
    route(contracts.getAsk, ({ params }) => asks.mustGet(params.id)),
    route(contracts.ackAsk, ({ body, caller, headers }) => {
      deps.mayAnswer(body.correlation_id, caller);
      return { ...OK, close_reason: asks.ack(body, requestContextOf(caller, headers)) };
    }),
    route(contracts.declineAsk, ({ body, caller, headers }) => {
      return { ...OK, close_reason: asks.decline(body, requestContextOf(caller, headers)) };
    }),
    route(contracts.cancelAsk, ({ params, body, caller, headers }) => {
      const { peer_id: asker, reason } = body;
      return {
        ...OK,
        close_reason: asks.cancel(params.id, { asker, reason }, requestContextOf(caller, headers)),
      };
    }),
    route(contracts.waitAsk, ({ params, body, signal }) =>
      asks.wait({
        correlation_id: params.id,
        asker: body.peer_id,
        ms_max: body.timeout_seconds * 1000,
        signal,
      })),
  ];
}

/** The asks' contracts, each met by its verb. */

import { OK } from "kit/contract.ts";
import { type Caller, type Route, route } from "kit/route.ts";
import { Traceparent } from "../delivery/contract.ts";
import type { Asks } from "./asks.ts";
import * as contracts from "./contract.ts";
import type { Router } from "./routing/router.ts";
import { openRoutedAsk, toOpened } from "./routing/routes.ts";

const PAGE_ROWS = 100;

/** What a route needs to know of whoever calls, beyond the desk. */
export interface AskDoors {
  /** Whether the request came through a proven human door (contract 2). */
  provenHuman(caller: Caller, headers: Headers): boolean;
  who(argument: string): { peer_id: string | null; name: string };
  onPane(pane_id: string, tmux_socket: string | undefined): { peer_id: string; name: string };
  /** The id of a registered peer. */
  findId(argument: string): string;
  /** Who picks the recipients of asks that name none; undefined under `routing.strategy: static`. */
  readonly router: Router | undefined;
}

export function askRoutes(asks: Asks, doors: AskDoors): Route[] {
  const manner = (caller: Caller, headers: Headers) => ({
    proven_human: doors.provenHuman(caller, headers),
    traceparent: Traceparent.parse(headers.get("traceparent")),
  });
  return [
    doors.router ? openRoutedAsk(asks, doors.router, manner) : route(
      contracts.openAsk,
      ({ body, caller, headers }) => toOpened(asks.open(body, manner(caller, headers))),
    ),
    route(contracts.listAsks, ({ query }) =>
      asks.page({
        state: query.state ?? null,
        peer_id: query.peer_id === undefined ? null : doors.findId(query.peer_id),
        before: query.cursor ?? Number.MAX_SAFE_INTEGER,
        limit: query.limit ?? PAGE_ROWS,
      })),
    route(contracts.pendingAsks, ({ query }) => {
      const { pane_id, peer_id, tmux_socket, direction } = query;
      const who = pane_id ? doors.onPane(pane_id, tmux_socket) : doors.who(peer_id ?? "cli");
      return { asks: asks.pending(who, direction) };
    }),
    route(contracts.getAsk, ({ params }) => asks.mustGet(params.id)),
    route(contracts.ackAsk, ({ body, caller, headers }) => {
      return { ...OK, close_reason: asks.ack(body, manner(caller, headers)) };
    }),
    route(contracts.declineAsk, ({ body, caller, headers }) => {
      return { ...OK, close_reason: asks.decline(body, manner(caller, headers)) };
    }),
    route(contracts.cancelAsk, ({ params, body, caller, headers }) => {
      const { peer_id: asker, reason } = body;
      return {
        ...OK,
        close_reason: asks.cancel(params.id, { asker, reason }, manner(caller, headers)),
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

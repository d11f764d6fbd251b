/** The asks' contracts, each met by its verb. */

import type * as z from "zod";
import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { type DeliveryState, Traceparent } from "../messages/contract.ts";
import type { Asks, Manner } from "./asks.ts";
import * as contracts from "./contract.ts";
import type { Router } from "./routing/router.ts";
import { openRoutedAsk, toOpened } from "./routing/routes.ts";

const PAGE_ROWS = 100;

interface Known {
  readonly peer_id: string;
  readonly mesh_session_id: string | null;
}

/** What a route needs to know of whoever calls, beyond the desk. */
export interface AskDoors {
  /** Whether the request came through a proven human door (contract 2). */
  provenHuman(caller: Caller, headers: Headers): boolean;
  /** Refuses an agent's word on what only the human may allow. */
  mayAnswer(correlation_id: string, caller: Caller): void;
  who(argument: string): { peer_id: string | null; name: string };
  onPane(pane_id: string, tmux_socket: string | undefined): Known & { name: string };
  /** A peer by name, or by the id of any that ever was: the ledger outlives them. */
  everKnown(argument: string): Known;
  /** Who sends a request: the id of a peer, or the name that stands for none. */
  senderOf(body: { from_peer: string; circle?: string | undefined }): string;
  /** What is known of a message now. */
  stateOf(id: string): z.output<typeof DeliveryState> | undefined;
  /** Who picks the recipients of asks that name none; undefined under `routing.strategy: static`. */
  readonly router: Router | undefined;
}

type Opened = z.output<typeof contracts.openAsk.returns>;

/** An ask that was opened before is answered with its ids, and what its delivery came to since. */
function replayOf({ senderOf, stateOf }: AskDoors) {
  return {
    sender: ({ body }: { body: Parameters<AskDoors["senderOf"]>[0] }) => senderOf(body),
    again: <A extends Opened>(before: A): A => ({
      ...before,
      delivery_state: stateOf(before.correlation_id ?? "") ?? before.delivery_state,
    }),
  };
}

/** How a request came in, by what it proves of itself. */
export type Manners = (caller: Caller, headers: Headers) => Manner;

export function mannersOf({ provenHuman }: Pick<AskDoors, "provenHuman">): Manners {
  return (caller, headers) => ({
    proven_human: provenHuman(caller, headers),
    traceparent: Traceparent.parse(headers.get("traceparent")),
  });
}

function openRoute(asks: Asks, doors: AskDoors, manner: Manners): Route {
  const replay = replayOf(doors);
  if (doors.router) return openRoutedAsk({ asks, router: doors.router, manner, replay });
  return route(contracts.openAsk, ({ body, caller, headers, commit }) => {
    const open = () => toOpened(asks.open(body, manner(caller, headers)));
    return body.dry_run ? open() : commit(open);
  }, replay);
}

export function askRoutes(asks: Asks, doors: AskDoors): Route[] {
  const manner = mannersOf(doors);
  return [
    openRoute(asks, doors, manner),
    route(contracts.listAsks, ({ query }) =>
      asks.page({
        state: query.state ?? null,
        peer_id: query.peer_id === undefined ? null : doors.everKnown(query.peer_id).peer_id,
        before: query.cursor ?? Number.MAX_SAFE_INTEGER,
        limit: query.limit ?? PAGE_ROWS,
      })),
    route(contracts.pendingAsks, ({ query }) => {
      const { pane_id, peer_id, tmux_socket, direction } = query;
      const who = pane_id ? doors.onPane(pane_id, tmux_socket) : doors.who(peer_id ?? "cli");
      return { asks: asks.pending(who, direction) };
    }),
    route(contracts.askHistory, ({ query }) => {
      const { pane_id, peer_id, tmux_socket, since } = query;
      const who = pane_id ? doors.onPane(pane_id, tmux_socket) : doors.everKnown(peer_id ?? "");
      const { mesh_session_id } = who;
      return { threads: asks.history(who.peer_id, since), mesh_session_id };
    }),
    route(contracts.getAsk, ({ params }) => asks.mustGet(params.id)),
    route(contracts.ackAsk, ({ body, caller, headers }) => {
      doors.mayAnswer(body.correlation_id, caller);
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

/** `POST /ask` with a routing strategy: the same contract, with `to_peer` optional. */

import * as z from "zod";
import { type Caller, type Replay, type Route, route } from "kit/http/route.ts";
import type { AskContext, Asks } from "../asks.ts";
import { type OpenAsk, openAsk } from "../contract.ts";
import { foldAskKeys } from "../body_keys.ts";
import type { Routing } from "./contract.ts";
import type { Router, UnnamedAsk } from "./router.ts";

const routedAsk = {
  ...openAsk,
  body: z.preprocess(foldAskKeys, openAsk.body.out.partial({ to_peer: true })),
} as const;

interface RoutedParts {
  readonly asks: Asks;
  readonly router: Router;
  readonly requestContextOf: (caller: Caller, headers: Headers) => AskContext;
  readonly replay: Replay<typeof routedAsk>;
}

/** An ask with `to_peer` is never rerouted (specification 7, rule 5). */
export function openRoutedAsk({ asks, router, requestContextOf, replay }: RoutedParts): Route {
  return route(routedAsk, async ({ body, caller, headers, signal, commit }) => {
    const requestContext = requestContextOf(caller, headers);
    const open = isNamed(body)
      ? () => asks.open(body, requestContext)
      : await router.find(body, requestContext, signal);
    return body.dry_run ? toOpened(open()) : commit(() => toOpened(open()));
  }, replay);
}

/**
 * Returns a function that makes the response to `POST /ask`. It runs after the commit and reads the
 * delivery state of that time.
 */
export function toOpened(
  { ticket, to, inbox, routing }: ReturnType<Asks["open"]> & {
    routing?: Routing;
  },
) {
  const id = ticket?.message.correlation_id ?? null;
  return () => ({
    correlation_id: id,
    trace_id: id,
    to_peer_id: to.peer_id,
    to_peer_name: to.name,
    delivery_state: ticket?.state ?? null,
    ...(inbox && { inbox }),
    ...(routing && { routing }),
  });
}

function isNamed(body: UnnamedAsk & { to_peer?: string | undefined }): body is OpenAsk {
  return body.to_peer !== undefined;
}

/** `POST /ask` where an arm may pick the recipient: the same contract, with `to_peer` left free. */

import { z } from "zod";
import { type Caller, type Route, route } from "kit/route.ts";
import type { Asks, Manner } from "../asks.ts";
import { type OpenAsk, openAsk } from "../contract.ts";
import { foldAskKeys } from "../keys.ts";
import type { Router, UnnamedAsk } from "./router.ts";

const routedAsk = {
  ...openAsk,
  body: z.preprocess(foldAskKeys, openAsk.body.out.partial({ to_peer: true })),
} as const;

/** An ask that names its recipient is never rerouted (specification 7, rule 5). */
export function openRoutedAsk(
  asks: Asks,
  router: Router,
  manner: (caller: Caller, headers: Headers) => Manner,
): Route {
  return route(routedAsk, ({ body, caller, headers, signal }) => {
    const how = manner(caller, headers);
    if (isNamed(body)) return toOpened(asks.open(body, how));
    return router.open(body, how, signal).then(toOpened);
  });
}

/** What `POST /ask` answers: of its delivery, what is known after the commit. */
export function toOpened(
  { ticket, to, inbox, routing }: ReturnType<Asks["open"]> & {
    routing?: Awaited<ReturnType<Router["open"]>>["routing"];
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

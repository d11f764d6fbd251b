/** Routes of structured questions. */

import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import type { RequestContextReader } from "../routes.ts";
import { answerAsk, askBlocking, queryPeer } from "./contract.ts";
import type { Questions } from "./questions.ts";

export function questionRoutes(
  questions: Questions,
  requestContextOf: RequestContextReader,
  isAgent: (caller: Caller) => boolean,
): Route[] {
  return [
    route(answerAsk, ({ body, caller, headers }) => {
      questions.refuseAgents(body.correlation_id, () => isAgent(caller));
      return { ...OK, ...questions.answer(body, requestContextOf(caller, headers)) };
    }),
    route(
      askBlocking,
      ({ body, caller, headers, signal }) =>
        questions.askBlocking(body, { ...requestContextOf(caller, headers), signal }),
    ),
    route(
      queryPeer,
      ({ body, caller, headers, signal }) =>
        questions.query(body, { ...requestContextOf(caller, headers), signal }),
    ),
  ];
}

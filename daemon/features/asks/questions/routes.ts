/** The questions' contracts, each met by its verb. */

import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import type { Manners } from "../routes.ts";
import { answerAsk, askBlocking, queryPeer } from "./contract.ts";
import type { Questions } from "./questions.ts";

export function questionRoutes(
  questions: Questions,
  manner: Manners,
  isAgent: (caller: Caller) => boolean,
): Route[] {
  return [
    route(answerAsk, ({ body, caller, headers }) => {
      questions.refuseAgents(body.correlation_id, () => isAgent(caller));
      return { ...OK, ...questions.answer(body, manner(caller, headers)) };
    }),
    route(
      askBlocking,
      ({ body, caller, headers, signal }) =>
        questions.askBlocking(body, { ...manner(caller, headers), signal }),
    ),
    route(
      queryPeer,
      ({ body, caller, headers, signal }) =>
        questions.query(body, { ...manner(caller, headers), signal }),
    ),
  ];
}

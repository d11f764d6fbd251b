/** The contracts of asks to many, each met by its verb. */

import { type Route, route } from "kit/http/route.ts";
import type { AskDoors, Manners } from "../routes.ts";
import { askMany, getMany } from "./contract.ts";
import type { Many } from "./many.ts";

export function manyRoutes(
  many: Many,
  manner: Manners,
  { senderOf }: Pick<AskDoors, "senderOf">,
): Route[] {
  return [
    route(
      askMany,
      ({ body, caller, headers, commit }) => commit(() => many.ask(body, manner(caller, headers))),
      { sender: ({ body }) => senderOf(body), again: (before) => before },
    ),
    route(getMany, ({ params }) => many.result(params.parent_id)),
  ];
}

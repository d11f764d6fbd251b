/** The contracts of asks to many, each met by its verb. */

import { type Route, route } from "kit/route.ts";
import type { Manners } from "../routes.ts";
import { askMany, getMany } from "./contract.ts";
import type { Many } from "./many.ts";

export function manyRoutes(many: Many, manner: Manners): Route[] {
  return [
    route(askMany, ({ body, caller, headers }) => many.ask(body, manner(caller, headers))),
    route(getMany, ({ params }) => many.result(params.parent_id)),
  ];
}

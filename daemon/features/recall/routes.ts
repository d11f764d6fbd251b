/** The route of recall. */

import { type Route, route } from "kit/http/route.ts";
import * as contracts from "protocol/asks/recall.ts";
import type { Recall } from "./recall.ts";

export function recallRoutes({ recall }: { readonly recall: Recall }): Route[] {
  return [route(contracts.recall, ({ query }) => recall.find(query))];
}

/** The contracts of everything said, each met by its verb. */

import { type Route, route } from "kit/http/route.ts";
import { getMessage, listMessages } from "./contract.ts";
import type { Messages } from "./message_log.ts";

export function messageRoutes(messages: Messages): Route[] {
  return [
    route(listMessages, ({ query }) => messages.page(query)),
    route(getMessage, ({ params }) => messages.mustGet(params.id)),
  ];
}

/** The inbox's contracts, each met by its verb. */

import { OK } from "kit/contract.ts";
import { type Route, route } from "kit/route.ts";
import { getInboxItem, listInbox, readInboxItem, replyByRef, replyInboxItem } from "./contract.ts";
import type { Inbox } from "./inbox.ts";

export function inboxRoutes(inbox: Inbox): Route[] {
  return [
    route(listInbox, ({ query }) => inbox.list(query)),
    route(getInboxItem, ({ params }) => inbox.mustGet(params.id)),
    route(readInboxItem, ({ params, body }) => {
      inbox.read(params.id, body.surface);
      return OK;
    }),
    route(replyInboxItem, ({ params, body }) => inbox.reply(params.id, body)),
    route(replyByRef, ({ body }) => inbox.replyByRef(body.surface_ref, body)),
  ].map((route) => forHuman(inbox, route));
}

/** Without a human every inbox route is 503, whatever else is wrong with the request (spec 7). */
function forHuman(inbox: Inbox, { contract, run }: Route): Route {
  return {
    contract,
    run(context, caller, door) {
      inbox.mustHuman();
      return run(context, caller, door);
    },
  };
}

/** Routes of the human's inbox. */

import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { getInboxItem, listInbox, readInboxItem, replyByRef, replyInboxItem } from "./contract.ts";
import type { Inbox } from "./inbox.ts";
import type { InboxReplies } from "./replies.ts";

export interface InboxRoutesDeps {
  readonly inbox: Inbox;
  readonly replies: InboxReplies;
  /** Whether the caller is a registered agent or a process that an agent started. */
  isAgent(caller: Caller): boolean;
}

/** A reply through a surface counts as the human's, unless the caller is an agent. */
export function inboxRoutes({ inbox, replies, isAgent }: InboxRoutesDeps): Route[] {
  return [
    route(listInbox, ({ query }) => inbox.list(query)),
    route(getInboxItem, ({ params }) => inbox.mustGet(params.id)),
    route(readInboxItem, ({ params, body }) => {
      inbox.read(params.id, body.surface);
      return OK;
    }),
    route(replyInboxItem, ({ params, body, caller }) => {
      return replies.reply(params.id, body, { proven_human: !isAgent(caller) });
    }),
    route(replyByRef, ({ body, caller }) => {
      return replies.replyByRef(body.surface_ref, body, { proven_human: !isAgent(caller) });
    }),
  ].map((route) => requireHuman(inbox, route));
}

/**
 * If no human is registered, every inbox route responds with a 503 before any other check
 * (specification 7).
 */
function requireHuman(inbox: Inbox, { contract, run }: Route): Route {
  return {
    contract,
    run(context, caller, guard) {
      inbox.mustHuman();
      return run(context, caller, guard);
    },
  };
}

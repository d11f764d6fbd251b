/** Routes of the human's inbox. */

import { OK } from "kit/http/contract.ts";
import { type Route, route } from "kit/http/route.ts";
import type { CallerChecks } from "../messages/request_context.ts";
import {
  getInboxItem,
  listInbox,
  readInboxItem,
  replyByRef,
  replyInboxItem,
  snoozeInboxItem,
  unreadInboxItem,
} from "protocol/inbox.ts";
import { type AtHome, type InboxHome, routeAtHome } from "./home.ts";
import type { Inbox } from "./inbox.ts";
import type { InboxReplies } from "./replies.ts";

export function inboxRoutes(
  { inbox, inboxReplies }: { inbox: Inbox; inboxReplies: InboxReplies },
  { isHumanAnswer }: CallerChecks,
  home: InboxHome,
): Route[] {
  const isHere: AtHome["isHere"] = ({ item_id, url }) =>
    item_id === undefined ? url.searchParams.get("here") === "true" : inbox.has(item_id);
  return [
    route(listInbox, ({ query }) => inbox.list(query)),
    route(getInboxItem, ({ params }) => inbox.mustGet(params.id)),
    route(readInboxItem, ({ params, body }) => {
      inbox.read(params.id, body.surface);
      return OK;
    }),
    route(unreadInboxItem, ({ params, body }) => {
      inbox.unread(params.id, body.surface);
      return OK;
    }),
    route(snoozeInboxItem, ({ params, body }) => {
      inbox.snooze(params.id, body);
      return OK;
    }),
    route(replyInboxItem, ({ params, body, caller, headers, commit }) => {
      const proven_human = isHumanAnswer(caller, headers, body.surface);
      return commit(() => inboxReplies.reply(params.id, body, { proven_human }));
    }, {
      // The sender includes the item: the same answer to another item is another request.
      sender: ({ params }) => `${inbox.mustHuman().peer_id}/${params.id}`,
      again: (before) => before,
    }),
    route(replyByRef, ({ body, caller, headers }) => {
      const proven_human = isHumanAnswer(caller, headers, body.surface);
      return inboxReplies.replyByRef(body.surface_ref, body, { proven_human });
    }),
  ].map((route) => routeAtHome(requireHuman(inbox, route), { home, isHere, isHumanAnswer }));
}

/** Without a registered human, every inbox route responds with a 503 first (specification 7). */
function requireHuman(inbox: Inbox, { contract, run }: Route): Route {
  return {
    contract,
    run(request, caller, guard) {
      inbox.mustHuman();
      return run(request, caller, guard);
    },
  };
}

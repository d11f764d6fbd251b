/** Routes of subscriptions. */

import { type Route, route } from "kit/http/route.ts";
import { type CallerChecks, senderOf } from "../messages/request_context.ts";
import type { Directory } from "../peers/directory.ts";
import * as contracts from "protocol/subscriptions/contract.ts";
import type { Subscriptions } from "./subscriptions.ts";

export function subscriptionRoutes(
  { subscriptions, directory }: { subscriptions: Subscriptions; directory: Directory },
  { requestContextOf }: CallerChecks,
): Route[] {
  return [
    route(
      contracts.createSubscription,
      ({ body, caller, headers, commit }) =>
        commit(() => subscriptions.create(body, requestContextOf(caller, headers))),
      {
        sender: senderOf(directory),
        again: (before) => subscriptions.get(before.subscription_id) ?? before,
      },
    ),
    route(
      contracts.listSubscriptions,
      ({ query }) => ({ subscriptions: subscriptions.list(query) }),
    ),
    route(contracts.getSubscription, ({ params }) => subscriptions.mustGet(params.id)),
    route(contracts.cancelSubscription, ({ params }) => subscriptions.cancel(params.id)),
  ];
}

/** Routes of web pushes: for a person, and for the reports of devices. */

import { OK } from "kit/http/contract.ts";
import { type Caller, type Route, route } from "kit/http/route.ts";
import { Problem } from "protocol/problems.ts";
import * as contracts from "protocol/push/contract.ts";
import type { Pushes } from "./pushes.ts";

interface PushRoutesDeps {
  isProvenHuman(caller: Caller, headers: Headers): boolean;
}

export function pushRoutes(pushes: Pushes, { isProvenHuman }: PushRoutesDeps): Route[] {
  const { subscriptions } = pushes;
  const mustBePerson = ({ caller, headers }: { caller: Caller; headers: Headers }) => {
    if (!isProvenHuman(caller, headers)) throw new Problem("human_not_proven", {});
  };
  return [
    route(contracts.listPush, (request) => {
      mustBePerson(request);
      return subscriptions.list();
    }),
    route(contracts.subscribePush, (request) => {
      mustBePerson(request);
      const { body, caller, headers } = request;
      return subscriptions.add(body, {
        via: caller.via === "relay" ? "relay" : "daemon",
        device_id: caller.device_id,
        user_agent: headers.get("user-agent"),
      });
    }),
    route(contracts.changePush, (request) => {
      mustBePerson(request);
      return subscriptions.change(request.params.id, request.body);
    }),
    route(contracts.unsubscribePush, (request) => {
      mustBePerson(request);
      subscriptions.remove(request.params.id);
      return OK;
    }),
    route(contracts.testPush, (request) => {
      mustBePerson(request);
      return pushes.test(request.params.id);
    }),
    route(contracts.reportPush, ({ body }) => pushes.report(body)),
  ];
}

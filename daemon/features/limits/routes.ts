/** Routes of limits. */

import { type Caller, type Route, route } from "kit/http/route.ts";
import { listLimits, resumeLimit } from "protocol/limits/contract.ts";
import { Problem } from "protocol/problems.ts";
import type { AccountLimits } from "./limits.ts";
import type { LimitRecords } from "./records.ts";

interface LimitRoutesDeps {
  readonly limits: AccountLimits;
  readonly limitRecords: LimitRecords;
}

export function limitRoutes(
  { limits, limitRecords }: LimitRoutesDeps,
  { isProvenHuman }: { isProvenHuman(caller: Caller, headers: Headers): boolean },
): Route[] {
  return [
    route(listLimits, async ({ query }) => {
      if (query.refresh) await limitRecords.refresh();
      return { limits: limitRecords.list() };
    }),
    route(resumeLimit, ({ params, caller, headers }) => {
      if (!isProvenHuman(caller, headers)) throw new Problem("human_not_proven", {});
      const account_id = limitRecords.idOf(params.id);
      limits.resume(account_id);
      return limitRecords.mustGet(account_id);
    }),
  ];
}

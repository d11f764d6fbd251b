/** Builds the limits of accounts. */

import { Accounts } from "../../features/limits/accounts.ts";
import { AccountLimits } from "../../features/limits/limits.ts";
import { LimitNotices } from "../../features/limits/notices.ts";
import { LimitRecords } from "../../features/limits/records.ts";
import { RequestStorms } from "../../features/limits/request_storms.ts";
import type { openLifecycle } from "./agents.ts";
import type { AskFeatures } from "./asks.ts";
import type { Foundation } from "./foundation.ts";

type LowerFeatures = AskFeatures & Pick<ReturnType<typeof openLifecycle>, "interrupts">;

export function openLimits({ config, ctx, effects, ports }: Foundation, lower: LowerFeatures) {
  const accounts = new Accounts(lower.transports);
  const notices = new LimitNotices(ctx, { ...lower, ports: ports.limits });
  const resume = config["limits.resume"];
  const limits = new AccountLimits(ctx, {
    ...lower,
    accounts,
    effects: effects.limits,
    notices,
    resume,
    quiet_hours: config["limits.quiet_hours"],
  });
  return {
    limits,
    limitRecords: new LimitRecords(ctx, { ...lower, accounts, limits, resume }),
    requestStorms: new RequestStorms(ctx, { ...lower, limits, notices }),
  };
}

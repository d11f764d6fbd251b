/** Builds the limits of accounts. */

import { Accounts } from "../../features/limits/accounts.ts";
import { AccountLimits } from "../../features/limits/limits.ts";
import { LimitNotices } from "../../features/limits/notices.ts";
import { LimitRecords } from "../../features/limits/records.ts";
import type { AskFeatures } from "./asks.ts";
import type { Foundation } from "./foundation.ts";

export function openLimits({ config, ctx, effects, ports }: Foundation, lower: AskFeatures) {
  const accounts = new Accounts(lower.transports);
  const resume = config["limits.resume"];
  const limits = new AccountLimits(ctx, {
    ...lower,
    accounts,
    effects: effects.limits,
    notices: new LimitNotices(ctx, { ...lower, ports: ports.limits }),
    resume,
    quiet_hours: config["limits.quiet_hours"],
  });
  return { limits, limitRecords: new LimitRecords(ctx, { ...lower, accounts, limits, resume }) };
}

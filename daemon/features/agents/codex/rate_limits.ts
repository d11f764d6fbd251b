/** Use of Codex's account, by the answer of its shared server. */

import * as z from "zod";
import type { LimitWindow } from "protocol/limits/contract.ts";
import { AppServer, resultOf } from "./app_server.ts";
import type { ServerOptions } from "./threads.ts";
import { windowName } from "./turn_ends.ts";

const Window = z.looseObject({
  usedPercent: z.number(),
  windowDurationMins: z.number().nullish(),
  resetsAt: z.number().nullish(),
});

/** As of 0.171.0. The times are in seconds since 1970. */
const Answer = z.looseObject({
  rateLimits: z.looseObject({ primary: Window.nullish(), secondary: Window.nullish() }),
});

/**
 * Asks the shared server, which asks the provider. Undefined without a server, and for an account
 * with an API key, which has no windows.
 */
export async function askForWindows(
  { codex_home, clock }: ServerOptions,
): Promise<LimitWindow[] | undefined> {
  const server = await AppServer.connect(codex_home, clock);
  if (typeof server === "string") return undefined;
  using connection = server;
  const answer = resultOf(Answer, await connection.call("account/rateLimits/read", {}));
  if (!answer) return undefined;
  const { primary, secondary } = answer.rateLimits;
  const at = clock.now();
  return [primary, secondary].flatMap((found) => {
    if (!found) return [];
    const { usedPercent: used_percent, windowDurationMins, resetsAt } = found;
    const resets_at = resetsAt ? resetsAt * 1000 : null;
    return [{ window: windowName(windowDurationMins), used_percent, resets_at, at }];
  });
}

/** The route of the digest. */

import { parseDuration } from "kit/core/duration.ts";
import { invalidField } from "kit/core/problem.ts";
import { Instant } from "kit/core/schema.ts";
import { type Route, route } from "kit/http/route.ts";
import type { Context } from "../../data/context.ts";
import { getDigest } from "protocol/messages/digest.ts";
import { digestOf } from "./digest.ts";

export function digestRoutes({ ctx }: { readonly ctx: Context }): Route[] {
  return [
    route(getDigest, ({ query }) => {
      const now = ctx.clock.now();
      const since = toInstant("since", query.since, now);
      const until = query.until === undefined ? now : toInstant("until", query.until, now);
      if (since > until) throw invalidField("since", "It is after until");
      return digestOf(ctx, { since, until, circle: query.circle ?? null, limit: query.limit });
    }),
  ];
}

/** A time with its offset, or a duration before now. */
function toInstant(field: string, text: string, now: number): number {
  const ago_ms = parseDuration(text);
  if (ago_ms !== undefined) return Math.max(0, now - ago_ms);
  const { data } = Instant.safeParse(text);
  if (data !== undefined) return data;
  throw invalidField(field, "Use a duration, such as 8h, or a time with its offset");
}

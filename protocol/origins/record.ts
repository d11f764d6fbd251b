/** The chain of a message: what began the work that it belongs to, and where. */

import * as z from "zod";
import { nullableString } from "protocol/contract.ts";

/** The kinds of beginnings of a chain. */
export const ORIGINS = [
  "person",
  "app",
  "guest",
  "machine",
  "schedule",
  "peer",
  "unknown",
] as const;
export const OriginKind = z.enum(ORIGINS);
export type OriginKind = z.output<typeof OriginKind>;

const Began = z.object({
  origin: OriginKind.describe(
    "`person`: proved to be a person; `app`: a client of the relay; `guest`: somebody with a shared " +
      "link; `machine`: another machine; `schedule`: a schedule, a recurring job or a subscription; " +
      "`peer`: an agent by itself; `unknown`: a program that proves nothing, or work that is not known",
  ),
  name: nullableString.describe("The name of who began it; null if unknown"),
  root: z.string().describe("The id of the message, schedule, job or spawn that began it"),
});

/**
 * The beginning of the work that a message belongs to. The daemon finds it, and takes nothing
 * from the sender's body.
 */
export const Chain = Began.extend({
  surface: nullableString.describe("Where a person began it, such as `terminal` or `dashboard`"),
  machine: nullableString.describe("The other machine that it came from"),
  reported: OriginKind.nullable().describe(
    "The origin that the other machine reports: its word, which nothing proves",
  ),
}).meta({ id: "Chain" });
export type Chain = z.output<typeof Chain>;

/** The chain as another machine reports it. An unknown origin of a newer version is `unknown`. */
export const ReportedChain = Began.extend({
  origin: OriginKind.catch("unknown"),
  name: z.string().max(255).nullable(),
  root: z.string().max(255),
});
export type ReportedChain = z.output<typeof ReportedChain>;

/** Schemas of routing: strategies, and how a recipient was chosen. */

import * as z from "zod";

/** Strategies that choose a recipient; `static` chooses none (contract 3, "Routing"). */
export const STRATEGIES = ["least_busy", "relevance", "webhook"] as const;
export const Strategy = z.enum(STRATEGIES);
export type Strategy = z.infer<typeof Strategy>;

/** Why a strategy chose no recipient. */
export const Failure = z.enum(["no_candidate", "low_confidence", "refused", "timed_out", "error"]);
export type Failure = z.infer<typeof Failure>;

/** How the recipient of an ask without `to_peer` was chosen (specification 4, `POST /ask`). */
export const Routing = z.object({
  arm: Strategy,
  routed_to: z.string(),
  routed_to_peer_id: z.string(),
  /** The strategy's confidence, even if the fallback was used; 0 if the strategy chose no peer. */
  confidence: z.number().min(0).max(1),
  fallback: z.boolean(),
  fallback_reason: Failure.nullable(),
}).meta({ id: "Routing" });
export type Routing = z.output<typeof Routing>;

/** Schemas of routing: strategies, the result of a choice, an endpoint's response. */

import * as z from "zod";
import type { StoredPeer } from "../../daemon/features/peers/store.ts";

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

/** The result of a strategy: a peer (by name or id) and the confidence in it, or a failure. */
export type Choice =
  | { readonly peer: string; readonly confidence: number }
  | { readonly peer: null; readonly confidence: 0; readonly failure: Failure };

export function noChoice(failure: Failure): Choice {
  return { peer: null, confidence: 0, failure };
}

/** A peer that a strategy may choose, with the facts that it may use. */
export interface Candidate extends
  Pick<
    StoredPeer,
    "peer_id" | "name" | "circle" | "backend" | "role" | "status" | "turn_state" | "path"
  > {
  /** The peer's last description, whatever its age. */
  readonly description: string | null;
  readonly description_age_seconds: number | null;
  readonly open_asks: number;
  /**
   * When the last ask to the peer was closed, in milliseconds; null if none was closed recently.
   */
  readonly last_closed_at: number | null;
}

const REASON_MAX = 1000;

/**
 * The endpoint's response: a peer by name or id, or null for a refusal. `peer_id` and `to_peer` are
 * accepted instead of `peer`.
 */
export const EndpointAnswer = z.preprocess(
  namePeer,
  z.object({
    peer: z.string().min(1).max(255).nullable(),
    confidence: z.number().min(0).max(1).default(1),
    reason: z.string().max(REASON_MAX).nullish(),
  }),
);

function namePeer(response: unknown): unknown {
  if (typeof response !== "object" || response === null || "peer" in response) return response;
  const { peer_id, to_peer }: { peer_id?: unknown; to_peer?: unknown } = response;
  return { ...response, peer: peer_id === undefined ? to_peer : peer_id };
}

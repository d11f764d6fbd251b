/** What may be said of routing: its arms, how a recipient was found, what an endpoint answers. */

import * as z from "zod";

/** Strategies that pick a recipient; `static` picks none (contract 3, "Routing"). */
export const STRATEGIES = ["least_busy", "relevance", "webhook"] as const;
export const Strategy = z.enum(STRATEGIES);
export type Strategy = z.infer<typeof Strategy>;

/** Why an arm gave no recipient. */
export const Failure = z.enum(["no_candidate", "low_confidence", "refused", "timed_out", "error"]);
export type Failure = z.infer<typeof Failure>;

/** How the recipient of an ask that named none was found (specification 4, `POST /ask`). */
export const Routing = z.object({
  arm: Strategy,
  routed_to: z.string(),
  routed_to_peer_id: z.string(),
  /** The arm's, from 0 to 1, even where the fallback took its place; 0 when it picked nobody. */
  confidence: z.number().min(0).max(1),
  fallback: z.boolean(),
  fallback_reason: Failure.nullable(),
}).meta({ id: "Routing" });
export type Routing = z.output<typeof Routing>;

/** What an arm said: a peer by name or id and how sure it is, or why there is none. */
export type Choice =
  | { readonly peer: string; readonly confidence: number }
  | { readonly peer: null; readonly confidence: 0; readonly failure: Failure };

export function noChoice(failure: Failure): Choice {
  return { peer: null, confidence: 0, failure };
}

/** A peer that an arm may pick, as far as a choice may rest on it. */
export interface Candidate {
  readonly peer_id: string;
  readonly name: string;
  readonly circle: string;
  readonly backend: string | null;
  readonly role: string;
  readonly status: string;
  readonly turn_state: string | null;
  readonly path: string | null;
  /** What it last said of itself, however long ago. */
  readonly description: string | null;
  readonly description_age_seconds: number | null;
  readonly open_asks: number;
  /** When the last ask to it was closed, in milliseconds; null when none was of late. */
  readonly last_closed_at: number | null;
}

const REASON_MAX = 1000;

/**
 * What the user's endpoint answers: a peer by name or id, or null, which is a refusal. Whoever
 * calls it `peer_id`, as the candidates do, or `to_peer`, as an ask does, is understood.
 */
export const EndpointAnswer = z.preprocess(
  namePeer,
  z.object({
    peer: z.string().min(1).max(255).nullable(),
    confidence: z.number().min(0).max(1).default(1),
    reason: z.string().max(REASON_MAX).nullish(),
  }),
);

function namePeer(said: unknown): unknown {
  if (typeof said !== "object" || said === null || "peer" in said) return said;
  const { peer_id, to_peer }: { peer_id?: unknown; to_peer?: unknown } = said;
  return { ...said, peer: peer_id === undefined ? to_peer : peer_id };
}

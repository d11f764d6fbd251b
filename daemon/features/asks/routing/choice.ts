/** The result of a strategy, its candidates, and the response of a routing endpoint. */

import * as z from "zod";
import type { Failure } from "protocol/asks/routing.ts";
import type { StoredPeer } from "../../peers/store.ts";

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
   * The closing time of the last ask to the peer, in milliseconds; null if none was closed
   * recently.
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

/** The route that interrupts a peer's turn, as data. */

import * as z from "zod";
import { contract, nullableString } from "protocol/contract.ts";
import { onePeer } from "protocol/peers/record.ts";

/**
 * The outcome of an interrupt:
 *
 * - `interrupted`: the turn is proved to have been interrupted.
 * - `ended`: the turn is over, and nothing shows that the interrupt ended it.
 * - `not_busy`: no turn was running, and nothing was done.
 * - `asked`: the agent was asked to stop, and nothing shows yet that it has.
 */
export const InterruptOutcome = z.enum(["interrupted", "ended", "not_busy", "asked"]);
export type InterruptOutcome = z.output<typeof InterruptOutcome>;

export const Interrupted = z.object({
  peer_id: z.string(),
  name: z.string(),
  outcome: InterruptOutcome,
  /** The way in which it was asked, such as `2 Escapes in its terminal`; null if nothing was done. */
  by: nullableString,
  /** The source that proves the outcome, such as `hook` or `session file`; null without a proof. */
  proof: nullableString,
  /** The outcome as a sentence. */
  detail: z.string(),
});
export type Interrupted = z.output<typeof Interrupted>;

export const interruptPeer = contract({
  id: "peers.interrupt",
  method: "POST",
  path: "/peers/:id/interrupt",
  summary: "Interrupt the turn of a peer, as its user would: for a person, and for the " +
    "orchestrator of its circle. It waits up to 6 s for a proof",
  ...onePeer,
  tunnel: "admin",
  body: z.object({}),
  returns: Interrupted,
  fails: [
    "unknown_peer",
    "ambiguous_peer",
    "peer_elsewhere",
    "peer_retired",
    "other_host",
    "to_self",
    "certificate_mismatch",
    "interrupt_not_allowed",
    "interrupt_in_progress",
    "interrupt_refused",
    "machine_not_yours",
    "machine_unreachable",
  ],
});

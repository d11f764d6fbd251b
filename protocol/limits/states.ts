/** The states of an account of an agent's provider, by what its agents tell of their limits. */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

const LIMITED = ["throttled", "exhausted", "out_of_credits"] as const;
const ALL = ["clear", ...LIMITED, "probing"] as const;

// deno-fmt-ignore
export const limitMachine = stateMachine("limit", [
  // from                      on               to
  [ALL,                        "slowed",        "throttled"     ], // Too many requests.
  [ALL,                        "used_up",       "exhausted"     ], // Until the limit resets.
  [ALL,                        "unpaid",        "out_of_credits"], // Until a person pays.
  [["throttled", "exhausted"], "reset",         "probing"       ], // The time is over.
  [LIMITED,                    "resumed",       "probing"       ], // A person said so.
  [LIMITED,                    "contradicted",  "probing"       ], // A later turn ended well.
  [LIMITED,                    "withdrawn",     "clear"         ], // By the peer, of itself alone.
  ["probing",                  "answered",      "clear"         ], // The probe's turn ended well.
]);

export type LimitState = StateOf<typeof limitMachine>;
export type LimitEvent = EventOf<typeof limitMachine>;

/** True if the account's agents can do nothing now. */
export function isLimited(state: LimitState): boolean {
  return state !== "clear" && state !== "probing";
}

/** The states of a proof: the check of an answer before it reaches the asker. */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const proofMachine = stateMachine("proof", [
  // from        on            to
  ["awaiting",   "answered",   "proving"  ], // The answer is stored and held.
  ["proving",    "held_true",  "verified" ],
  ["proving",    "sent_back",  "returned" ], // Refuted for the first time: back to its author.
  ["returned",   "answered",   "proving"  ],
  ["proving",    "disproved",  "refuted"  ], // Refuted again, or its author is gone.
  ["returned",   "given_up",   "refuted"  ], // Its author is gone, or did not answer in time.
  ["proving",    "undecided",  "unproved" ], // A check could not run.
  ["awaiting",   "reported_verified", "verified" ], // By the machine of the recipient.
  ["awaiting",   "reported_refuted",  "refuted"  ],
  ["awaiting",   "reported_unproved", "unproved" ], // That machine has checked nothing, or in part.
  // The ask was cancelled, declined, replaced, or ended without an answer.
  [["awaiting", "proving", "returned"], "withdrawn", "withdrawn"],
]);

export type ProofState = StateOf<typeof proofMachine>;
export type ProofEvent = EventOf<typeof proofMachine>;

/** The states of a wake: an agent that has ended is started again, and goes back to sleep. */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const wakeMachine = stateMachine("wake", [
  // from       on           to
  ["checking",  "asked",     "asking"  ], // The human is asked.
  ["checking",  "allowed",   "starting"],
  ["checking",  "failed",    "failed"  ],
  ["checking",  "refused",   "refused" ], // There is no human to ask.
  ["asking",    "allowed",   "starting"],
  ["asking",    "refused",   "refused" ],
  ["starting",  "launched",  "launched"], // Its pane is open, and its spawn is stored.
  ["starting",  "failed",    "failed"  ],
  ["launched",  "registered","awake"   ],
  ["launched",  "failed",    "failed"  ],
  ["awake",     "resting",   "resting" ], // It was idle for long, and its process is being ended.
  ["resting",   "registered","awake"   ], // The daemon ended before the process did.
  ["resting",   "slept",     "asleep"  ],
  // The peer came back by itself, a person uses it, or no ask waits for it any more.
  [["checking", "asking", "starting", "awake", "resting"], "over", "over"],
]);

export type WakeState = StateOf<typeof wakeMachine>;
export type WakeEvent = EventOf<typeof wakeMachine>;

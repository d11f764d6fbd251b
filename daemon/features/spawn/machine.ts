/** The lives of a spawn and of a restart. Specification, sections 3 and 4. */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const spawnMachine = stateMachine("spawn", [
  // from       on            to
  ["awaiting",  "registered", "registered"], // The pane's agent has said who it is.
  ["awaiting",  "timed_out",  "timed_out" ],
  ["timed_out", "registered", "registered"], // Late, as after a dialog that a person answered.
]);

/** Up to `quiesce` nothing was touched; the names of the states under way are the stages. */
// deno-fmt-ignore
export const restartMachine = stateMachine("restart", [
  // from        on            to
  ["preflight",  "checked",    "quiesce"  ],
  ["quiesce",    "quiet",      "stop"     ],
  ["stop",       "stopped",    "launch"   ],
  ["launch",     "launched",   "register" ],
  ["register",   "seeding",    "seed"     ], // Only where a message is to follow.
  ["register",   "restarted",  "restarted"],
  ["seed",       "restarted",  "restarted"],
  ["preflight",  "cancelled",  "cancelled"],
  ["quiesce",    "cancelled",  "cancelled"],
  ["preflight",  "failed",     "failed"   ],
  ["quiesce",    "failed",     "failed"   ],
  ["stop",       "failed",     "failed"   ],
  ["launch",     "failed",     "failed"   ],
  ["register",   "failed",     "failed"   ],
  ["seed",       "failed",     "failed"   ],
]);

export type RestartEvent = EventOf<typeof restartMachine>;

/** The states of a spawn and of a restart (specification 3 and 4). */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const spawnMachine = stateMachine("spawn", [
  // from       on            to
  ["awaiting",  "registered", "registered"], // The pane's agent has registered.
  ["awaiting",  "timed_out",  "timed_out" ],
  ["timed_out", "registered", "registered"], // Late, such as when a person had to act first.
]);

/** The open states are the stages of a restart. Nothing is stopped before `stop`. */
// deno-fmt-ignore
export const restartMachine = stateMachine("restart", [
  // from        on            to
  ["preflight",  "checked",    "quiesce"  ],
  ["quiesce",    "quiet",      "stop"     ],
  ["stop",       "stopped",    "launch"   ],
  ["launch",     "launched",   "register" ],
  ["register",   "seeding",    "seed"     ], // Only with a message to deliver.
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

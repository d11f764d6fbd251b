/** The states of a job, of its attempts, and of a template (specification 2 and 3). */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

/** The states in which an executor has the job. */
const DELIVERED = ["delivered", "running", "awaiting_input", "blocked"] as const;
const UNSETTLED = ["queued", "dispatching", ...DELIVERED] as const;

/** Failed and unavailable jobs can be retried; the other terminal states are final. */
// deno-fmt-ignore
export const jobMachine = stateMachine("job", [
  // from                         on               to
  ["queued",                      "acquired",      "dispatching"   ], // A lease begins.
  ["dispatching",                 "lease_expired", "queued"        ], // Nothing was sent.
  ["dispatching",                 "delivered",     "delivered"     ],
  [["dispatching", ...DELIVERED], "turn_started",  "running"       ], // Perhaps before a receipt.
  [DELIVERED,                     "needs_input",   "awaiting_input"],
  [DELIVERED,                     "stuck",         "blocked"       ],
  [UNSETTLED,                     "completed",     "completed"     ], // Perhaps before an attempt.
  [UNSETTLED,                     "failed",        "failed"        ],
  [UNSETTLED,                     "cancelled",     "cancelled"     ],
  [["queued", "dispatching"],     "expired",       "expired"       ], // Never once delivered.
  [["queued", "dispatching"],     "unavailable",   "unavailable"   ], // No executor is available.
  [["delivered", "failed", "unavailable"], "retried", "queued"     ],
]);

export type JobState = StateOf<typeof jobMachine>;
export type JobEvent = EventOf<typeof jobMachine>;

const OPEN_ATTEMPT = ["acquired", "delivered", "running"] as const;

/** The states of an attempt. At most one attempt per job is in progress. */
// deno-fmt-ignore
export const attemptMachine = stateMachine("attempt", [
  // from                      on               to
  ["acquired",                 "delivered",     "delivered" ],
  [["acquired", "delivered"],  "turn_started",  "running"   ], // The next assistant turn ends it.
  ["acquired",                 "lease_expired", "lapsed"    ],
  ["delivered",                "retried",       "superseded"],
  [OPEN_ATTEMPT,               "completed",     "completed" ],
  [OPEN_ATTEMPT,               "failed",        "failed"    ],
  [OPEN_ATTEMPT,               "cancelled",     "cancelled" ],
]);

export type AttemptEvent = EventOf<typeof attemptMachine>;

// deno-fmt-ignore
export const templateMachine = stateMachine("template", [
  // from     on           to
  ["active",  "fired",     "active"   ],
  ["active",  "paused",    "paused"   ],
  ["paused",  "fired",     "paused"   ], // By `POST /jobs/{id}/run`.
  ["paused",  "resumed",   "active"   ],
  ["active",  "cancelled", "cancelled"],
  ["paused",  "cancelled", "cancelled"],
]);

export type TemplateEvent = EventOf<typeof templateMachine>;

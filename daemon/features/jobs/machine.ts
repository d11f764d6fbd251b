/** The states of a job, of its attempts, and of a template (specification 2 and 3). */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

/** Failed and unavailable jobs can be retried; the other terminal states are final. */
// deno-fmt-ignore
export const jobMachine = stateMachine("job", [
  // from            on              to
  ["queued",         "acquired",     "dispatching"   ], // A lease begins.
  ["dispatching",    "lease_expired", "queued"       ], // Nothing was sent; it is tried again.
  ["dispatching",    "delivered",    "delivered"     ],
  ["dispatching",    "turn_started", "running"       ], // The prompt was seen before its receipt.
  ["delivered",      "turn_started", "running"       ],
  ["running",        "turn_started", "running"       ],
  ["awaiting_input", "turn_started", "running"       ],
  ["blocked",        "turn_started", "running"       ],
  ["delivered",      "needs_input",  "awaiting_input"],
  ["running",        "needs_input",  "awaiting_input"],
  ["awaiting_input", "needs_input",  "awaiting_input"],
  ["blocked",        "needs_input",  "awaiting_input"],
  ["delivered",      "stuck",        "blocked"       ],
  ["running",        "stuck",        "blocked"       ],
  ["awaiting_input", "stuck",        "blocked"       ],
  ["blocked",        "stuck",        "blocked"       ],
  ["queued",         "completed",    "completed"     ], // Reported before an attempt began.
  ["dispatching",    "completed",    "completed"     ],
  ["delivered",      "completed",    "completed"     ],
  ["running",        "completed",    "completed"     ],
  ["awaiting_input", "completed",    "completed"     ],
  ["blocked",        "completed",    "completed"     ],
  ["queued",         "failed",       "failed"        ],
  ["dispatching",    "failed",       "failed"        ],
  ["delivered",      "failed",       "failed"        ],
  ["running",        "failed",       "failed"        ],
  ["awaiting_input", "failed",       "failed"        ],
  ["blocked",        "failed",       "failed"        ],
  ["queued",         "cancelled",    "cancelled"     ],
  ["dispatching",    "cancelled",    "cancelled"     ],
  ["delivered",      "cancelled",    "cancelled"     ],
  ["running",        "cancelled",    "cancelled"     ],
  ["awaiting_input", "cancelled",    "cancelled"     ],
  ["blocked",        "cancelled",    "cancelled"     ],
  ["queued",         "expired",      "expired"       ], // A delivered job never expires.
  ["dispatching",    "expired",      "expired"       ],
  ["queued",         "unavailable",  "unavailable"   ], // No executor is available.
  ["dispatching",    "unavailable",  "unavailable"   ],
  ["delivered",      "retried",      "queued"        ],
  ["failed",         "retried",      "queued"        ],
  ["unavailable",    "retried",      "queued"        ],
]);

export type JobState = StateOf<typeof jobMachine>;
export type JobEvent = EventOf<typeof jobMachine>;

/** The states of an attempt. At most one attempt per job is in progress. */
// deno-fmt-ignore
export const attemptMachine = stateMachine("attempt", [
  // from       on              to
  ["acquired",  "delivered",    "delivered" ],
  ["acquired",  "turn_started", "running"   ],
  ["delivered", "turn_started", "running"   ], // Armed: the next assistant turn ends it.
  ["acquired",  "lease_expired", "lapsed"   ],
  ["delivered", "retried",      "superseded"],
  ["acquired",  "completed",    "completed" ],
  ["delivered", "completed",    "completed" ],
  ["running",   "completed",    "completed" ],
  ["acquired",  "failed",       "failed"    ],
  ["delivered", "failed",       "failed"    ],
  ["running",   "failed",       "failed"    ],
  ["acquired",  "cancelled",    "cancelled" ],
  ["delivered", "cancelled",    "cancelled" ],
  ["running",   "cancelled",    "cancelled" ],
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

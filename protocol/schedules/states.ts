/** The states of a scheduled message (specification 4; contract 2, "Schedule"). */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const scheduleMachine = stateMachine("schedule", [
  // from     on           to
  ["active",  "edited",    "active"   ],
  ["active",  "recurred",  "active"   ], // A recurring schedule fired, whatever the outcome.
  ["active",  "fired",     "fired"    ],
  ["active",  "failed",    "failed"   ], // A one-shot failed; its sender is notified.
  ["active",  "cancelled", "cancelled"],
]);

export type ScheduleState = StateOf<typeof scheduleMachine>;
export type ScheduleEvent = EventOf<typeof scheduleMachine>;

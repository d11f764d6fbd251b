/** The life of a scheduled message. Specification, section 4; contract 2, "Schedule". */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const scheduleMachine = stateMachine("schedule", [
  // from     on           to
  ["active",  "edited",    "active"   ],
  ["active",  "recurred",  "active"   ], // One of many fires, however it went.
  ["active",  "fired",     "fired"    ],
  ["active",  "failed",    "failed"   ], // A one-shot stays so, and its sender is told.
  ["active",  "cancelled", "cancelled"],
]);

export type ScheduleState = StateOf<typeof scheduleMachine>;
export type ScheduleEvent = EventOf<typeof scheduleMachine>;

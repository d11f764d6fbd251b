/** The states of a report: two work trees pass a check apart, and fail it together. */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const jointReportMachine = stateMachine("joint_report", [
  // from          on           to
  ["asked",       "settled",   "settled"   ], // The joined work passes, or no longer exists.
  ["asked",       "unsettled", "with_human"], // The authors ended their ask, and it still fails.
  ["with_human",  "settled",   "settled"   ],
]);

export type JointReportEvent = EventOf<typeof jointReportMachine>;

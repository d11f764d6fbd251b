/** The states of a budget. */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const budgetMachine = stateMachine("budget", [
  // from               on         to
  ["open",              "spent",   "spent"  ],
  ["spent",             "granted", "open"   ], // A person allowed as much again.
  ["spent",             "stopped", "stopped"], // A person ended the work.
  ["stopped",           "granted", "open"   ],
]);

export type BudgetEvent = EventOf<typeof budgetMachine>;

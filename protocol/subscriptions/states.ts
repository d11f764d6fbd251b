/** The states of a subscription. */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const subscriptionMachine = stateMachine("subscription", [
  // from     on                to
  ["active",  "told",            "active"   ], // Until a time: a message was sent, or refused.
  ["active",  "fired",           "fired"    ], // Once: the message was sent.
  ["active",  "failed",          "failed"   ], // It cannot be sent, or can never become true.
  ["active",  "expired",         "expired"  ], // Its time has passed, or it was reported often enough.
  ["active",  "cancelled",       "cancelled"],
  ["active",  "subscriber_gone", "cancelled"], // The subscriber was retired.
]);

export type SubscriptionEvent = EventOf<typeof subscriptionMachine>;

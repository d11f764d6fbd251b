/** The states of a push to one device. */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const pushMachine = stateMachine("push", [
  // from                            on              to
  ["queued",                         "attempted",    "sending"  ],
  ["sending",                        "accepted",     "taken"    ], // By the push service.
  ["sending",                        "delayed",      "queued"   ], // The push service is busy or cannot be reached.
  ["sending",                        "interrupted",  "queued"   ], // The daemon ended before it had the answer.
  ["sending",                        "refused",      "failed"   ], // By the push service, for good.
  [["queued", "sending"],            "expired",      "failed"   ],
  [["queued", "sending"],            "device_ended", "failed"   ],
  ["queued",                         "item_over",    "dropped"  ], // It was answered or read before.
  [["queued", "sending", "taken"],   "displayed",    "shown"    ], // The device reports this and the next.
  [["queued", "sending", "taken", "shown"], "chosen",    "opened"   ],
  [["queued", "sending", "taken", "shown"], "dismissed", "dismissed"],
]);

export type PushEvent = EventOf<typeof pushMachine>;
export type PushState = StateOf<typeof pushMachine>;

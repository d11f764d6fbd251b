/** The states of a delivery, one message to one recipient (contract 2, architecture 3). */

import { type EventOf, stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const deliveryMachine = stateMachine("delivery", [
  // from          on            to
  ["queued",      "attempted",  "attempting"], // The transport is stored before the first byte.
  ["attempting",  "refused",    "queued"    ], // Refused before any byte went out.
  ["attempting",  "written",    "sent"      ],
  ["attempting",  "accepted",   "accepted"  ],
  ["attempting",  "seen",       "seen"      ],
  ["attempting",  "rejected",   "failed"    ],
  ["sent",        "repeated",   "queued"    ], // Only if the receiver drops repeats.
  ["attempting",  "repeated",   "queued"    ],
  ["sent",        "accepted",   "accepted"  ],
  ["sent",        "seen",       "seen"      ],
  ["sent",        "rejected",   "failed"    ],
  ["accepted",    "seen",       "seen"      ],
  ["queued",      "accepted",   "accepted"  ], // A late receipt of an earlier attempt.
  ["queued",      "seen",       "seen"      ],
  ["queued",      "rejected",   "failed"    ],
  ["failed",      "offered",    "queued"    ], // A surface is offered an item again (contract 4).
  ["queued",      "expired",    "expired"   ],
  ["queued",      "dropped",    "dropped"   ],
  // The other machine has reported how the message ended there.
  ["queued",      "failed_there",  "failed" ],
  ["sent",        "failed_there",  "failed" ],
  ["accepted",    "failed_there",  "failed" ],
  ["queued",      "expired_there", "expired"],
  ["sent",        "expired_there", "expired"],
  ["accepted",    "expired_there", "expired"],
  ["queued",      "dropped_there", "dropped"],
  ["sent",        "dropped_there", "dropped"],
  ["accepted",    "dropped_there", "dropped"],
]);

export type DeliveryState = StateOf<typeof deliveryMachine>;
export type DeliveryEvent = EventOf<typeof deliveryMachine>;

/** The states of an ask, and the meaning of each close reason (specification 3, "Ask"). */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";
import type { Reason } from "protocol/reasons.ts";

// deno-fmt-ignore
export const askMachine = stateMachine("ask", [
  // from  on                to
  ["open", "pulled",         "open"  ], // The first wait changes push to pull.
  ["open", "acked",          "closed"],
  ["open", "answered",       "closed"],
  ["open", "declined",       "closed"],
  ["open", "superseded",     "closed"], // A follow-up with `reply_to` replaces the ask.
  ["open", "unreachable",    "closed"], // The recipient is not addressable any more, or retired.
  ["open", "send_failed",    "closed"],
  ["open", "evicted",        "closed"], // Nobody answered in time (24 h by default).
  ["open", "cancelled",      "closed"],
]);

export type AskEvent = EventOf<typeof askMachine>;

/** Each close reason with its event and its outcome (contract 2). */
// deno-fmt-ignore
export const CLOSE_RULES = {
  // reason               on             outcome
  ack:                  ["acked",       "acknowledged"],
  ack_with_msg:         ["acked",       "answered"    ],
  answered:             ["answered",    "answered"    ],
  declined:             ["declined",    "declined"    ],
  reply_to:             ["superseded",  "failed"      ],
  send_failed:          ["send_failed", "failed"      ],
  peer_not_addressable: ["unreachable", "failed"      ],
  peer_retired:         ["unreachable", "failed"      ],
  evicted:              ["evicted",     "failed"      ],
  cancelled:            ["cancelled",   "cancelled"   ],
} as const satisfies { readonly [R in Reason]?: readonly [AskEvent, string] };

export type CloseReason = keyof typeof CLOSE_RULES;

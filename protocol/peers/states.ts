/** The lifecycle of a peer (specification 3, "Peer addressability and lifecycle"). */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const peerMachine = stateMachine("peer", [
  // from      on              to
  ["online",  "turn_started", "busy"   ],
  ["busy",    "turn_started", "busy"   ],
  ["busy",    "turn_ended",   "online" ],
  ["online",  "turn_ended",   "online" ],
  ["online",  "sighted",      "online" ],
  ["busy",    "sighted",      "busy"   ],
  ["offline", "sighted",      "online" ], // Evidence: a socket, a process, a touch.
  ["online",  "registered",   "online" ],
  ["busy",    "registered",   "online" ],
  ["offline", "registered",   "online" ],
  ["retired", "reclaimed",    "online" ], // Only with a live agent_pid, and never after DELETE.
  ["online",  "lost",         "offline"],
  ["busy",    "lost",         "offline"],
  ["offline", "lost",         "offline"],
  ["online",  "retired",      "retired"],
  ["busy",    "retired",      "retired"],
  ["offline", "retired",      "retired"],
  ["retired", "retired",      "retired"],
]);

export type PeerEvent = EventOf<typeof peerMachine>;

/** The line to the relay, as `GET /health` tells of it. Contract 9, "Tunnel". */

import { stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const relayClientMachine = stateMachine("uplink", [
  // from         on          to
  ["down",       "dialled",  "connecting"],
  ["connecting", "welcomed", "connected" ],
  ["connecting", "failed",   "down"      ], // Refused, unreachable, or silent for too long.
  ["connected",  "failed",   "down"      ], // Lost, or replaced by a newer one.
]);

export type RelayClientState = StateOf<typeof relayClientMachine>;

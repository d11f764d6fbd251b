/** The states of the connection to the relay, as in `GET /health` (contract 9, "Tunnel"). */

import { stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const relayClientMachine = stateMachine("relay_client", [
  // from         on          to
  ["down",       "opened",   "connecting"],
  ["connecting", "accepted", "connected" ],
  ["connecting", "failed",   "down"      ], // Refused, unreachable, or no answer in time.
  ["connected",  "failed",   "down"      ], // Lost, or superseded by a newer connection.
]);

export type RelayClientState = StateOf<typeof relayClientMachine>;

/** The states of the connection to the bus, as in `GET /machines`. */

import { stateMachine, type StateOf } from "kit/core/state_machine.ts";

// deno-fmt-ignore
export const busConnectionMachine = stateMachine("bus_connection", [
  // from         on          to
  ["down",       "opened",   "connecting"],
  ["down",       "accepted", "connected" ], // The bus connected again by itself.
  ["connecting", "accepted", "connected" ],
  ["connecting", "failed",   "down"      ], // Unreachable, not permitted, or a file is missing.
  ["connected",  "opened",   "connecting"], // Lost, and the bus has begun to connect again.
  ["connected",  "failed",   "down"      ], // Lost.
]);

export type BusConnectionState = StateOf<typeof busConnectionMachine>;

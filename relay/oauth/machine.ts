/** The lives of a client, a grant, its code and its refresh tokens (specification 5 and 8). */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

/** Whatever has expired, or was evicted while unused, is a row that is gone. */
// deno-fmt-ignore
export const clientMachine = stateMachine("oauth_client", [
  // from     on           to
  ["unused", "exchanged", "used"], // 24 hours become 90 days.
  ["used",   "exchanged", "used"], // 90 days from the latest exchange.
]);

// deno-fmt-ignore
export const grantMachine = stateMachine("oauth_grant", [
  // from     on           to
  ["inactive", "exchanged", "active" ], // The code came within its minute.
  ["active",   "refreshed", "active" ],
  ["active",   "revoked",   "revoked"], // By the client, or by the person.
  ["active",   "replayed",  "revoked"], // A code or a refresh token came a second time.
  ["revoked",  "replayed",  "revoked"],
  ["revoked",  "revoked",   "revoked"],
]);

// deno-fmt-ignore
export const codeMachine = stateMachine("oauth_code", [
  // from    on           to
  ["issued", "exchanged", "spent"],
  ["spent",  "replayed",  "spent"], // Which ends its grant.
]);

// deno-fmt-ignore
export const refreshMachine = stateMachine("oauth_refresh_token", [
  // from      on           to
  ["current",  "rotated",  "consumed"],
  ["consumed", "replayed", "consumed"], // Which ends its grant.
]);

export type GrantEvent = EventOf<typeof grantMachine>;

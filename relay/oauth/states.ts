/** The state machines of clients, grants, codes and refresh tokens (specification 5 and 8). */

import { type EventOf, stateMachine } from "kit/core/state_machine.ts";

/** There is no end state, because an expired or evicted client is deleted. */
// deno-fmt-ignore
export const clientMachine = stateMachine("oauth_client", [
  // from     on           to
  ["unused", "exchanged", "used"], // Kept for 90 days instead of 24 hours.
  ["used",   "exchanged", "used"], // Kept for 90 days from the latest exchange.
]);

// deno-fmt-ignore
export const grantMachine = stateMachine("oauth_grant", [
  // from     on           to
  ["inactive", "exchanged", "active" ], // The code was exchanged within its minute.
  ["active",   "refreshed", "active" ],
  ["active",   "revoked",   "revoked"], // By the client or by the person.
  ["active",   "replayed",  "revoked"], // A code or a refresh token was used twice.
  ["revoked",  "replayed",  "revoked"],
  ["revoked",  "revoked",   "revoked"],
]);

// deno-fmt-ignore
export const codeMachine = stateMachine("oauth_code", [
  // from    on           to
  ["issued", "exchanged", "spent"],
  ["spent",  "replayed",  "spent"], // This revokes the grant.
]);

// deno-fmt-ignore
export const refreshMachine = stateMachine("oauth_refresh_token", [
  // from      on           to
  ["current",  "rotated",  "consumed"],
  ["consumed", "replayed", "consumed"], // This revokes the grant.
]);

export type GrantEvent = EventOf<typeof grantMachine>;

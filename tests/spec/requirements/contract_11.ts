/** Requirements of section 11 of the contract: ids, runs of a daemon, and event streams. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const CONTRACT_11: readonly Requirement[] = [
  ["c11.ids.once",          "built", "A daemon id gives no id twice, also after its database was restored, copied or rolled back"],
  ["c11.ids.reused",        "built", "A repeat of an id with other content is refused `id_reused`, and its sender is told"],
  ["c11.run.bus",           "built", "A second live run of a daemon id takes no part in the bus (`identity_in_use`)"],
  ["c11.run.relay",         "relay", "The relay refuses a second live run of a daemon id (`identity_in_use`)"],
  ["c11.oauth.resource",     "relay", "At /oauth/token an absent resource is that of the code or grant; another one is invalid_target"],
  ["c11.oauth.registration", "relay", "Registration keeps the redirect URIs that are allowed and returns them, and answers any authentication with none"],
  ["c11.oauth.scopes",       "relay", "Unknown scopes beside agents:read are left out"],
  ["c11.oauth.read-only",    "relay", "Consent offers the requested access and, where writing was asked for, read only (access=read|write)"],
  ["c11.oauth.cors",         "relay", "Any page may call discovery, registration, tokens, revocation and /mcp, and nothing else"],
  ["c11.oauth.mcp-slash",    "relay", "/mcp/ is /mcp"],
  ["c11.oauth.errors",       "relay", "An authorization's error is redirected to loopback and to allowed clients; else a page names it and links there"],
  ["c11.stream.headers",    "built", "Event streams send `X-Accel-Buffering: no` and `Cache-Control: no-store, no-transform`"],
];

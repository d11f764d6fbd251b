/** Section 8 of the specification: limits. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const SECTION_8: readonly Requirement[] = [
  ["8.wait",                "messages", "A wait is bounded, about 50 s a call"],
  ["8.ask-blocking",        "messages", "A blocking question is held up to the daemon's wait cap"],
  ["8.inbox.limit",         "messages", "`limit` of GET /inbox is an integer"],
  ["8.relay.get-reply",     "relay",    "wait_seconds of get_reply is 0 to 20"],
  ["8.relay.access-token",  "relay",    "An access token lives 15 minutes"],
  ["8.relay.grant",         "relay",    "A grant lives 30 days at most"],
  ["8.relay.code",          "relay",    "An authorization code lives 1 minute"],
  ["8.relay.consent",       "relay",    "A consent form lives 10 minutes"],
  ["8.relay.abandoned",     "relay",    "Abandoned codes and inactive grants expire after 1 minute"],
  ["8.relay.unused-clients", "relay",   "At most 4,096 unused clients, each 24 hours; the oldest goes first"],
  ["8.relay.used-clients",  "relay",    "A client with an activated grant stays 90 days from its latest exchange"],
  ["8.relay.redirects",     "relay",    "Redirect URIs have at most 4 KiB in all"],
  ["8.relay.rate",          "relay",    "Registration: five for each address, then one a minute, below a global ceiling"],
  ["8.relay.replica",       "relay",    "One replica only while OAuth is enabled"],
  ["8.relay.cleanup",       "relay",    "Expiry is cleaned up on writes; token checks are indexed and read-only"],
];

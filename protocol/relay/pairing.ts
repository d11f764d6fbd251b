/** Contracts for pairing a browser with one machine behind the relay. */

import * as z from "zod";
import { shortText } from "kit/core/schema.ts";
import { atRelay, contract } from "protocol/contract.ts";
import { DaemonId, UNREACHABLE } from "protocol/relay/daemons.ts";

export const announceCode = contract({
  id: "relay.pairing.announce",
  method: "POST",
  path: "/api/v1/pairings",
  summary: "Lead a one-time code to the machine that made it; the relay gets its SHA-256 only",
  ...atRelay,
  body: z.object({ daemon_id: DaemonId, digest: z.string().regex(/^[0-9a-f]{64}$/) }),
  returns: z.object({
    /** Where a phone enters the code. */
    url: z.string(),
  }),
  fails: ["no_relay_secret", "wrong_form_token", "foreign_page", "too_many_codes", "code_refused"],
});

export const showPairing = contract({
  id: "relay.pairing.page",
  method: "GET",
  path: "/pair",
  summary: "The page on which a phone enters a code",
  ...atRelay,
  responseType: "text/html",
  returns: z.unknown(),
});

export const pairBrowser = contract({
  id: "relay.pairing.redeem",
  method: "POST",
  path: "/pair",
  summary: "Exchange a code for the cookie of a session with the machine that made the code",
  ...atRelay,
  body: z.object({
    code: z.string().max(64),
    name: shortText(64, 1).optional(),
    user_agent: shortText(512).optional(),
  }),
  returns: z.object({ page: z.string() }),
  fails: [
    ...UNREACHABLE,
    "foreign_page",
    "too_many_requests",
    "code_refused",
    "paired_elsewhere",
    "bad_daemon_answer",
  ],
});

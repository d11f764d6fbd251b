/** Contracts of shares at the relay: for owners, and for guests who have the link. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { atRelay, byId, contract } from "protocol/contract.ts";
import { DisplayText } from "kit/core/schema.ts";
import { Permissions, Share, ttl_seconds } from "protocol/shares.ts";

export const GUEST_TEXT_BYTES_MAX = 16_384;
const utf8 = new TextEncoder();

const OWNER = ["no_relay_secret", "foreign_page", "wrong_form_token"] as const;
const UNREACHABLE = ["unknown_machine", "machine_offline", "timed_out"] as const;

export const createShare = contract({
  id: "relay.shares.create",
  method: "POST",
  path: "/api/v1/shares",
  summary: "Create a link to one peer of one machine (bearer secret, or signed in)",
  ...atRelay,
  body: z.object({
    daemon_id: z.string().min(1).max(128),
    peer_id: z.string().min(1).max(128),
    permissions: Permissions.default("ro"),
    ttl_seconds,
  }),
  returns: Share,
  fails: [
    ...OWNER,
    ...UNREACHABLE,
    "unknown_peer",
    "bad_daemon_answer",
    "too_many_requests",
    "too_many_shares",
  ],
});
export type CreateShare = z.output<typeof createShare.body>;

export const listShares = contract({
  id: "relay.shares.list",
  method: "GET",
  path: "/api/v1/shares",
  summary: "List the shares of this secret",
  ...atRelay,
  returns: z.object({ shares: z.array(Share) }),
  fails: OWNER,
});

export const revokeShare = contract({
  id: "relay.shares.revoke",
  method: "DELETE",
  path: "/api/v1/shares/:id",
  summary: "Revoke a share and end its streams",
  ...atRelay,
  params: byId,
  returns: Ok,
  fails: [...OWNER, "unknown_share"],
});

const guest = { ...atRelay, params: byId } as const;

export const viewShare = contract({
  ...guest,
  id: "relay.shares.view",
  method: "GET",
  path: "/s/:id",
  summary: "The page that a guest sees of the peer",
  responseType: "text/html",
  query: z.object({ request: z.string().optional() }),
  returns: z.unknown(),
});

export const streamShare = contract({
  ...guest,
  id: "relay.shares.stream",
  method: "GET",
  path: "/s/:id/stream",
  summary: "Stream the events that name the peer, without those of the inbox",
  responseType: "text/event-stream",
  returns: z.unknown(),
  fails: [
    ...UNREACHABLE,
    "unknown_share",
    "too_many_requests",
    "too_many_viewers",
    "bad_daemon_answer",
  ],
});

export const askShared = contract({
  ...guest,
  id: "relay.shares.ask",
  method: "POST",
  path: "/s/:id/ask",
  summary: "Ask the peer; only for `rw` shares",
  body: z.object({
    text: DisplayText.min(1).refine(
      (text) => utf8.encode(text).length <= GUEST_TEXT_BYTES_MAX,
      `Longer than ${GUEST_TEXT_BYTES_MAX} bytes`,
    ),
  }),
  returns: z.object({ request_id: z.string(), status: z.literal("pending") }),
  fails: [
    ...UNREACHABLE,
    "foreign_page",
    "unknown_share",
    "share_read_only",
    "too_many_requests",
    "unknown_peer",
    "daemon_too_old",
    "bad_daemon_answer",
  ],
});

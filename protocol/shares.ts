/** The routes of shares, as data: links by which a guest reads or asks one peer. */

import * as z from "zod";
import { Ok } from "kit/http/contract.ts";
import { byId, contract } from "protocol/contract.ts";
import { Instant, Sender } from "kit/core/schema.ts";

export const SHARE_SECONDS = 86_400;
export const SHARE_SECONDS_MIN = 1;
export const SHARE_SECONDS_MAX = 30 * 86_400;

/** A guest with `ro` reads; a guest with `rw` may also ask the peer. */
export const Permissions = z.enum(["ro", "rw"]);

/** Time for which a share is valid. */
export const ttl_seconds = z.number().int().min(SHARE_SECONDS_MIN).max(SHARE_SECONDS_MAX)
  .default(SHARE_SECONDS);

/**
 * A share of a peer. The relay keeps shares in memory, so they end when it restarts (specification
 * 5).
 */
export const Share = z.object({
  share_id: z.string(),
  /** The link. It grants access to anyone who knows it. */
  url: z.string(),
  daemon_id: z.string(),
  peer_id: z.string(),
  display_name: z.string(),
  permissions: Permissions,
  /** Number of connected guests. */
  viewers: z.number().int(),
  created_at: Instant,
  expires_at: Instant,
}).meta({ id: "Share" });
export type Share = z.output<typeof Share>;

/** Errors of every route, because each calls the relay. */
const FAILS = ["relay_disabled", "relay_unreachable", "relay_refused"] as const;

export const createShare = contract({
  id: "shares.create",
  method: "POST",
  path: "/shares",
  summary: "Create a link to one peer for a guest",
  access: "caller",
  tunnel: "open",
  body: z.object({
    peer: z.string(),
    from_peer: Sender.optional(),
    permissions: Permissions.default("ro"),
    ttl_seconds,
  }),
  actor: { field: "body.from_peer" },
  returns: Share,
  fails: [...FAILS, "unknown_peer", "ambiguous_peer", "peer_elsewhere"],
});

export type CreateShare = z.output<typeof createShare.body>;

export const listShares = contract({
  id: "shares.list",
  method: "GET",
  path: "/shares",
  summary: "The links to peers of this machine",
  access: "caller",
  tunnel: "open",
  returns: z.object({ shares: z.array(Share) }),
  fails: [...FAILS],
});

export const revokeShare = contract({
  id: "shares.revoke",
  method: "DELETE",
  path: "/shares/:id",
  summary: "End a share; its guests are disconnected at once",
  access: "caller",
  tunnel: "open",
  params: byId,
  returns: Ok,
  fails: [...FAILS, "unknown_share"],
});

/** Tools that create and end links by which guests watch one peer. */

import { formatInstant } from "kit/core/local_time.ts";
import * as z from "zod";
import {
  createShare,
  Permissions,
  revokeShare,
  SHARE_SECONDS_MAX,
  SHARE_SECONDS_MIN,
} from "protocol/shares.ts";
import { SEND_HINTS, type Tool, tool, UPDATE_HINTS } from "../tool.ts";
import { callerId } from "./fields.ts";

const share = tool({
  name: "share_session",
  title: "Share a peer with a guest",
  description:
    "Create a link by which a guest watches one peer through the relay, and may send it asks " +
    "if permissions is rw. Anyone with the link is a guest, so use it only when " +
    "the user wants one. Do not use it to reach another agent (ask), and do not " +
    "post the link where others read it. It ends by itself, by revoke_share, or when the relay " +
    "restarts.",
  hints: { ...SEND_HINTS, openWorldHint: true },
  trustedOnly: true,
  input: z.object({
    peer: z.string().optional().describe("A name or a peer_id; you yourself by default"),
    permissions: Permissions.optional().describe("ro watches, by default; rw may ask as well"),
    ttl_seconds: z.number().int().min(SHARE_SECONDS_MIN).max(SHARE_SECONDS_MAX).optional()
      .describe("How long it lasts; a day by default"),
  }),
  output: z.object({
    share_id: z.string(),
    url: z.string(),
    peer_id: z.string(),
    permissions: Permissions,
    expires_at: z.string(),
  }),
  async run({ peer, ...rest }, { caller, call }) {
    const created = await call(createShare, {
      body: { peer: peer ?? callerId(caller), from_peer: callerId(caller), ...rest },
    });
    const { share_id, url, display_name, permissions, expires_at } = created;
    return {
      text:
        `@${display_name} is shared (${permissions}) until ${formatInstant(expires_at)}: ${url}\n` +
        `revoke_share with ${share_id} ends it.`,
      data: created,
    };
  },
});

const revoke = tool({
  name: "revoke_share",
  title: "End a share",
  description:
    "End a link that share_session made; its viewers are disconnected at once. Use it when " +
    "the user no longer wants the guest. Do not use it to end a peer or an ask.",
  hints: { ...UPDATE_HINTS, openWorldHint: true },
  trustedOnly: true,
  input: z.object({ share_id: z.string().min(1).describe("As share_session returned it") }),
  output: z.object({ share_id: z.string(), ok: z.literal(true) }),
  async run({ share_id }, toolContext) {
    await toolContext.call(revokeShare, { params: { id: share_id } });
    return { text: `${share_id} has ended.`, data: { share_id, ok: true as const } };
  },
});

export const SHARE_TOOLS: readonly Tool[] = [share, revoke];

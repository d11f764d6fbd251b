/** `mesh share`: creates, lists and revokes links that let a guest watch one peer. */

import type { WireResponse } from "kit/http/client.ts";
import {
  createShare,
  listShares,
  Permissions,
  revokeShare,
} from "../../daemon/features/shares/contract.ts";
import { apiCommand, type Command } from "../command/command.ts";
import { type Column, print, printTable, styled } from "../output/terminal.ts";

type Share = WireResponse<typeof listShares>["shares"][number];

const COLUMNS: readonly Column<Share>[] = [
  { title: "share", cell: ({ share_id }) => share_id, essential: true },
  { title: "peer", cell: ({ display_name }) => display_name },
  { title: "may", cell: ({ permissions }) => permissions },
  { title: "watching", cell: ({ viewers }) => String(viewers) },
  { title: "until", cell: ({ expires_at }) => expires_at },
];

export const SHARE_COMMANDS: readonly Command[] = [
  apiCommand({
    usage: "share <peer>",
    summary: "Create a link that lets a guest watch a peer through the relay",
    flags: {
      "--permissions <which>": "ro: watch; rw: also ask; default ro",
      "--ttl <seconds>": "how long the link is valid; by default one day",
    },
    example: "mesh share api --permissions rw --ttl 3600",
    call: ({ call }, args) => {
      const permissions = args.choice("permissions", Permissions.options);
      const ttl_seconds = args.number("ttl");
      return call(createShare, {
        body: {
          peer: args.text("peer"),
          ...(permissions && { permissions }),
          ...(ttl_seconds !== undefined && { ttl_seconds }),
        },
      });
    },
    show: ({ url, share_id, expires_at, permissions }, { terminal }) => {
      print(terminal, url);
      print(terminal, styled("dim", `${permissions}, until ${expires_at}; ${share_id}`));
    },
  }),
  apiCommand({
    usage: "share list",
    summary: "List the links to peers on this machine",
    example: "mesh share list",
    call: ({ call }) => call(listShares, {}),
    show: ({ shares }, { terminal }) =>
      printTable(terminal, COLUMNS, shares, "No shares. Create one with: mesh share PEER"),
  }),
  apiCommand({
    usage: "share revoke <id>",
    summary: "Revoke a share; its guests are disconnected at once",
    example: "mesh share revoke sh_…",
    call: ({ call }, args) => call(revokeShare, { params: { id: args.text("id") } }),
    show: (_, { terminal }) => print(terminal, styled("green", "revoked")),
  }),
];

/** The commands of shares: a link to one peer for a guest, what there are, and their end. */

import type { WireResponse } from "kit/http/client.ts";
import {
  createShare,
  listShares,
  Permissions,
  revokeShare,
} from "../../daemon/features/shares/contract.ts";
import { apiCommand, type Command } from "../command/command.ts";
import { UsageError } from "../client/failures.ts";
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
    summary: "Make a link by which a guest watches a peer through the relay",
    flags: {
      "--permissions <which>": "ro watches, rw may ask as well; ro by default",
      "--ttl <seconds>": "how long it lasts; a day by default",
    },
    example: "mesh share api --permissions rw --ttl 3600",
    call: ({ call }, args) => {
      const permissions = Permissions.optional().safeParse(args.get("permissions"));
      if (!permissions.success) {
        throw new UsageError(`--permissions: one of ${Permissions.options.join(", ")}`);
      }
      const ttl_seconds = args.number("ttl");
      return call(createShare, {
        body: {
          peer: args.text("peer"),
          ...(permissions.data && { permissions: permissions.data }),
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
    summary: "List the links to peers of this machine",
    example: "mesh share list",
    call: ({ call }) => call(listShares, {}),
    show: ({ shares }, { terminal }) =>
      printTable(terminal, COLUMNS, shares, "nothing is shared: `mesh share PEER` makes a link"),
  }),
  apiCommand({
    usage: "share revoke <id>",
    summary: "End a share; whoever watches is cut off at once",
    example: "mesh share revoke sh_…",
    call: ({ call }, args) => call(revokeShare, { params: { id: args.text("id") } }),
    show: (_, { terminal }) => print(terminal, styled("green", "revoked")),
  }),
];

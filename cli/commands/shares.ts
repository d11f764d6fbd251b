/** The commands of shares: a link to one peer for a guest, what there are, and their end. */

import type { Wire } from "kit/http/client.ts";
import {
  createShare,
  listShares,
  Permissions,
  revokeShare,
} from "../../daemon/features/shares/contract.ts";
import { type Command, verb } from "../command/command.ts";
import { Misused } from "../client/failures.ts";
import { type Column, ink, print, printTable } from "../output/print.ts";

type Share = Wire<typeof listShares>["shares"][number];

const COLUMNS: readonly Column<Share>[] = [
  { title: "share", of: ({ share_id }) => share_id, kept: true },
  { title: "peer", of: ({ display_name }) => display_name },
  { title: "may", of: ({ permissions }) => permissions },
  { title: "watching", of: ({ viewers }) => String(viewers) },
  { title: "until", of: ({ expires_at }) => expires_at },
];

export const SHARE_COMMANDS: readonly Command[] = [
  verb({
    words: "share <peer>",
    summary: "Make a link by which a guest watches a peer through the relay",
    flags: {
      "--permissions <which>": "ro watches, rw may ask as well; ro by default",
      "--ttl <seconds>": "how long it lasts; a day by default",
    },
    example: "mesh share api --permissions rw --ttl 3600",
    call: ({ call }, words) => {
      const permissions = Permissions.optional().safeParse(words.maybe("permissions"));
      if (!permissions.success) {
        throw new Misused(`--permissions: one of ${Permissions.options.join(", ")}`);
      }
      const ttl_seconds = words.number("ttl");
      return call(createShare, {
        body: {
          peer: words.text("peer"),
          ...(permissions.data && { permissions: permissions.data }),
          ...(ttl_seconds !== undefined && { ttl_seconds }),
        },
      });
    },
    show: ({ url, share_id, expires_at, permissions }, { terminal }) => {
      print(terminal, url);
      print(terminal, ink("dim", `${permissions}, until ${expires_at}; ${share_id}`));
    },
  }),
  verb({
    words: "share list",
    summary: "List the links to peers of this machine",
    example: "mesh share list",
    call: ({ call }) => call(listShares, {}),
    show: ({ shares }, { terminal }) =>
      printTable(terminal, COLUMNS, shares, "nothing is shared: `mesh share PEER` makes a link"),
  }),
  verb({
    words: "share revoke <id>",
    summary: "End a share; whoever watches is cut off at once",
    example: "mesh share revoke sh_…",
    call: ({ call }, words) => call(revokeShare, { params: { id: words.text("id") } }),
    show: (_, { terminal }) => print(terminal, ink("green", "revoked")),
  }),
];

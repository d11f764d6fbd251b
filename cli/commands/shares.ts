/** `mesh share`: creates, lists and revokes links that let a guest watch one peer. */

import { createShare, listShares, revokeShare } from "protocol/generated/endpoints.ts";
import { Permissions } from "protocol/shares.ts";
import { answerCommand, type Command } from "../command/command.ts";
import { styled } from "../output/terminal.ts";
import { formatInstant } from "../output/time.ts";

export const SHARE_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "share <peer>",
    summary: "Create a link that lets a guest watch a peer through the relay",
    flags: {
      "--permissions <which>": "ro: watch; rw: also ask; default ro",
      "--ttl <duration>": "how long the link is valid, such as 90 (s), 2m, 1h; by default one day",
    },
    example: "mesh share api --permissions rw --ttl 1h",
    call: async (context, args) => {
      const permissions = args.choice("permissions", Permissions.options);
      const { from_peer } = await context.lookup(args);
      const peer = args.text("peer");
      const body = { peer, from_peer, permissions, ttl_seconds: args.seconds("ttl") };
      return await context.call(createShare, { body });
    },
    show: ({ url, share_id, expires_at, permissions }, { terminal }) => {
      terminal.print(url);
      terminal.print(
        styled("dim", `${permissions}, until ${formatInstant(expires_at)}; ${share_id}`),
      );
    },
  }),
  answerCommand({
    usage: "share list",
    summary: "List the links to peers on this machine",
    example: "mesh share list",
    call: ({ call }) => call(listShares, {}),
    show: ({ shares }, { terminal }) =>
      terminal.printTable(shares, {
        SHARE: ({ share_id }) => share_id,
        PEER: ({ display_name }) => display_name,
        MAY: ({ permissions }) => permissions,
        WATCHING: ({ viewers }) => String(viewers),
        UNTIL: ({ expires_at }) => formatInstant(expires_at),
      }, { whole: ["SHARE"], empty: "No shares. Create one with: mesh share PEER" }),
  }),
  answerCommand({
    usage: "share revoke <id>",
    aliases: ["delete", "rm"],
    summary: "Revoke a share; its guests are disconnected at once",
    example: "mesh share revoke sh_…",
    call: ({ call }, args) => call(revokeShare, { params: { id: args.text("id") } }),
    show: (_, { terminal }) => terminal.print(styled("green", "revoked")),
  }),
];

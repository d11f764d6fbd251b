/** Routes of a peer's settings and of its groups: those of the same tag. Safe in a browser. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { Name, shortText } from "kit/core/schema.ts";
import { onePeer, Peer, PEER_FAILS, Tag, Tags, WakePolicy } from "protocol/peers/record.ts";

/** Maximum number of peers of one `@tag`: the limit of an ask to many peers. */
export const GROUP_PEERS_MAX = 100;
/** As large as the settings for all peers may be. */
const QUEUE_MAX = 1_000_000;
const PAIR_PER_MINUTE_MAX = 1_000_000;

export const setPeer = contract({
  id: "peers.set",
  method: "PATCH",
  path: "/peers/:id",
  summary: "Change a peer's settings; only a person changes its circle, its limits or its wakes",
  ...onePeer,
  tunnel: "admin",
  body: z.object({
    tags: Tags.optional().describe("All its tags from now on"),
    add_tags: Tags.default([]),
    remove_tags: Tags.default([]),
    description: shortText(2000).optional(),
    reminders: z.boolean().nullable().optional().describe(
      "Whether its stop hook reminds it of open asks; null follows the setting asks.reminders",
    ),
    hook_messages: z.boolean().optional().describe(
      "Whether its hooks hand it messages; without them, messages wait for another transport",
    ),
    queue_max: z.int().min(1).max(QUEUE_MAX).nullable().optional().describe(
      "How many messages may wait for it; null follows the setting daemon.queue.max_per_peer",
    ),
    pair_per_minute: z.int().min(0).max(PAIR_PER_MINUTE_MAX).nullable().optional().describe(
      "How many messages a minute one sender may send to it, 0 for any number; null follows the " +
        "setting daemon.limits.pair_per_minute",
    ),
    wake: WakePolicy.nullable().optional().describe(
      "The effect of asks while it sleeps: never, ask (the human) or always; null follows the " +
        "setting daemon.wake",
    ),
    circle: Name.optional().describe("Moves it there; its queue and its open asks stay with it"),
  }),
  actor: { field: "params.id" },
  returns: Peer,
  fails: [
    "role_fixed",
    ...PEER_FAILS,
    "peer_retired",
    "too_many_tags",
    "human_not_proven",
    "orchestrator_present",
  ],
});
/** The settings as a client gives them. */
export type GivenSettings = z.input<typeof setPeer.body>;
export type PeerSettings = z.output<typeof setPeer.body>;

export const listGroup = contract({
  id: "peers.group",
  method: "GET",
  path: "/groups/:tag",
  summary: "The peers that a tag means for a caller: those of its circle, else those of all",
  access: "caller",
  tunnel: "open",
  params: z.object({ tag: Tag }),
  query: onePeer.query,
  returns: z.object({ peers: z.array(Peer) }),
  fails: ["no_tagged_peer", "group_too_large", "ambiguous_peer"],
});

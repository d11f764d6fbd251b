/**
 * The peers that a tag means: the peers of the caller's circle, or of all circles if it has none.
 */

import { Problem } from "protocol/problems.ts";
import type { Reader } from "kit/data/sqlite.ts";
import { inCircle } from "../identity/lookup.ts";
import { type Scope, toCircles } from "../identity/name_lookup.ts";
import type { Address } from "protocol/peers/record.ts";
import * as rows from "../store.ts";
import { GROUP_PEERS_MAX } from "protocol/peers/groups.ts";

/** The tag that an argument such as `@backend` names; undefined for any other argument. */
export function tagOf(argument: string): string | undefined {
  return argument.startsWith("@") ? argument.slice(1) : undefined;
}

/**
 * The peers of this machine with a tag, without the human and the caller. As with names, peers in
 * the caller's circle come first. Without any, the tag means the peers of all circles.
 */
export function peersTagged(db: Reader, tag: string, scope: Scope): readonly Address[] {
  const tagged = rows.tagged(db, tag).filter(({ peer_id }) => peer_id !== scope.caller?.peer_id);
  const { only, first } = toCircles(scope);
  const circle = only ?? first;
  const near = circle === undefined ? [] : inCircle(tagged, circle);
  const found = near.length > 0 || only !== undefined ? near : tagged;
  if (found.length === 0) throw new Problem("no_tagged_peer", { tag });
  mustBeFew(`@${tag}`, found.length);
  return found;
}

/** Refuses more recipients than one message may have. */
export function mustBeFew(group: string, peers: number, peers_max = GROUP_PEERS_MAX): void {
  if (peers > peers_max) throw new Problem("group_too_large", { group, peers, peers_max });
}

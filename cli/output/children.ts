/** Prints subagents: among other peers below their parents, and of one peer in full. */

import type { Clock } from "kit/core/clock.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { getPeer, listPeers } from "protocol/peers/contract.ts";
import { isSubagent } from "protocol/derived/peers.ts";
import { styled, type Terminal } from "./terminal.ts";
import { formatAge } from "./time.ts";

type Peer = WireResponse<typeof listPeers>["peers"][number];

/** Maximum number of running subagents that are listed below a peer. */
const LISTED_MAX = 3;

/**
 * The peers in their order, each with its subagents below it. Without `all`, these are the newest
 * running ones, and `hidden` counts the other running ones.
 */
export function withSubagents(
  peers: readonly Peer[],
  { all }: { readonly all: boolean },
): { readonly rows: readonly Peer[]; readonly hidden: number } {
  const [subagents, others] = [peers.filter(isSubagent), peers.filter((peer) => !isSubagent(peer))];
  const byParent = Map.groupBy(subagents, ({ parent_peer_id }) => parent_peer_id);
  const isRunning = ({ status }: Peer) => status === "online" || status === "busy";
  const listed = new Set<Peer>();
  const rows = others.flatMap((peer) => {
    const children = byParent.get(peer.peer_id) ?? [];
    const shown = all ? children : children.filter(isRunning).slice(-LISTED_MAX);
    for (const child of shown) listed.add(child);
    return [peer, ...shown];
  });
  const left = subagents.filter((peer) => !listed.has(peer));
  if (all) return { rows: [...rows, ...left], hidden: 0 };
  return { rows, hidden: left.filter(isRunning).length };
}

/** Prints the subagents of one peer, newest first; nothing if it has none. */
export function showChildren(
  to: Terminal,
  { children, children_count }: Partial<
    Pick<WireResponse<typeof getPeer>, "children" | "children_count">
  >,
  clock: Clock,
): void {
  // An older daemon, on another machine, does not report them.
  if (children === undefined || children_count === undefined) return;
  if (children.length === 0) return;
  to.print();
  to.printTable(children, {
    SUBAGENT: ({ name }) => styled("cyan", name),
    TYPE: ({ type }) => type ?? "",
    STATUS: ({ ended_at }) => ended_at === null ? styled("yellow", "running") : "ended",
    STARTED: ({ started_at }) => formatAge(started_at, clock),
    ENDED: ({ ended_at }) => ended_at === null ? "" : formatAge(ended_at, clock),
  }, { whole: ["SUBAGENT"] });
  const cut = children_count - children.length;
  if (cut > 0) to.print(styled("dim", `and ${cut} older subagents`));
}

/** Peers by circle. */

import { visible } from "../../components/text/visible.tsx";
import type { Peer } from "../../state/records.ts";
import { PeerList } from "./peer_card.tsx";

/** `level` of the headings: with several machines, circles are below them. */
export function Circles(
  { peers, dense, level: Heading = "h2" }: {
    peers: readonly Peer[];
    dense: boolean;
    level?: "h2" | "h3";
  },
) {
  return (
    <>
      {byCircle(peers).map(([circle, members]) => (
        <section key={circle} class="group">
          <Heading>
            <bdi>{visible(circle)}</bdi>
            <span class="count">{members.length}</span>
          </Heading>
          <PeerList peers={members} dense={dense} />
        </section>
      ))}
    </>
  );
}

function byCircle(peers: readonly Peer[]): [string, Peer[]][] {
  return [...Map.groupBy(peers, ({ circle }) => circle)].sort(([a], [b]) => a.localeCompare(b));
}

/** Peers by circle, with the offline ones folded. */

import { useEffect, useState } from "preact/hooks";
import { useFold } from "../../components/act/folds.ts";
import { visible } from "../../components/text/visible.tsx";
import type { Peer } from "../../state/records.ts";
import { PeerList } from "./peer_card.tsx";

/** The rows of the first drawing: as many as a large screen shows. The others follow at once. */
const FIRST_ROWS = 30;

interface CirclesProps {
  readonly peers: readonly Peer[];
  /** The peers that are listed above all circles. */
  readonly above: readonly Peer[];
  readonly dense: boolean;
  /** True if a filter is active: then offline peers are not folded. */
  readonly is_filtered: boolean;
  /** The level of the headings: with several machines, circles are below them. */
  readonly level?: "h2" | "h3";
}

export function Circles(
  { peers, above, dense, is_filtered, level: Heading = "h2" }: CirclesProps,
) {
  let rows = useRows();
  return (
    <>
      {byCircle(peers.filter((peer) => !above.includes(peer))).map(([circle, members]) => {
        const isFolded = (peer: Peer) => !is_filtered && peer.status === "offline";
        const offline = members.filter(isFolded);
        const shown = members.filter((peer) => !isFolded(peer)).slice(0, rows);
        rows -= shown.length;
        return (
          <section key={circle} class="group stack">
            <Heading class="row">
              <bdi>{visible(circle)}</bdi>
              <span class="count hint">{members.length}</span>
            </Heading>
            <PeerList peers={shown} dense={dense} />
            {offline.length > 0 && <Offline circle={circle} peers={offline} dense={dense} />}
          </section>
        );
      })}
    </>
  );
}

/** The maximum number of rows to draw now. */
function useRows(): number {
  const [rows, setRows] = useState(FIRST_ROWS);
  useEffect(() => {
    const timer = setTimeout(() => setRows(Infinity));
    return () => clearTimeout(timer);
  }, []);
  return rows;
}

function Offline(
  { circle, peers, dense }: { circle: string; peers: readonly Peer[]; dense: boolean },
) {
  const [open, turn] = useFold(`offline/${circle}`, false);
  return (
    <>
      <button type="button" class="quiet" data-row aria-expanded={open} onClick={turn}>
        {`${peers.length} offline`}
      </button>
      {open && <PeerList peers={peers} dense={dense} />}
    </>
  );
}

function byCircle(peers: readonly Peer[]): [string, Peer[]][] {
  return [...Map.groupBy(peers, ({ circle }) => circle)].sort(([a], [b]) => a.localeCompare(b));
}

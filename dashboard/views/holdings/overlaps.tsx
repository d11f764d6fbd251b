/** The files that two agents write, as both were told. */

import * as at from "protocol/generated/endpoints.ts";
import { Age } from "../../components/basics.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import type { LogEvent } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { nameOfPeer } from "../../state/store.ts";

const NEWEST = "50";

/** `of`: only those of this peer. Nothing while there are none. */
export function Overlaps({ of }: { of?: string }) {
  const query = { type: "file_overlap", replay: NEWEST, limit: NEWEST };
  const load = () => call(at.listEvents, { query });
  const events = useResource("overlaps", ["files"], load).value.value?.events ?? [];
  return <OverlapList events={events} of={of} />;
}

export function OverlapList(
  { events, of }: { events: readonly LogEvent[]; of?: string | undefined },
) {
  const shown = events.flatMap((event) => toOverlap(event) ?? [])
    .filter(({ peers }) => of === undefined || peers.includes(of)).toReversed();
  if (shown.length === 0) return null;
  return (
    <section class="stack tight">
      <h2>Written by two agents</h2>
      <ul class="list">
        {shown.map(({ id, path, peers, at }) => (
          <li key={id} class="rail warn row list-row">
            <bdi class="argument">{visible(path)}</bdi>
            <span class="cluster">
              {peers.filter((peer_id) => peer_id !== of).map((peer_id) => (
                <PeerLink key={peer_id} id={peer_id} name={nameOfPeer(peer_id)} />
              ))}
              <Age at={at} suffix=" ago" />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Overlap {
  readonly id: number;
  readonly path: string;
  readonly peers: readonly string[];
  readonly at: string;
}

function toOverlap(event: LogEvent): Overlap | undefined {
  const { id, timestamp, path, first_peer_id, second_peer_id } = event;
  const peers = [first_peer_id, second_peer_id].filter((peer_id) => typeof peer_id === "string");
  return typeof path === "string" ? { id, path, peers, at: timestamp } : undefined;
}

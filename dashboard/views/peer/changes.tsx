/** Changes: git's status and diff of the peer's folder, read again when its turn ends. */

import { ResourceView } from "../../components/basics.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Peer } from "../../state/records.ts";
import { FileUses } from "../holdings/file_uses.tsx";
import { Overlaps } from "../holdings/overlaps.tsx";
import { TracedChanges } from "../holdings/traced_changes.tsx";
import { isRemote } from "../../state/remote.ts";
import { only, useResource } from "../../state/resource.ts";

/** The shortest time between two reads: each runs git. */
const INTERVAL_MS = 3_000;

export function PeerChanges({ peer }: { peer: Peer }) {
  const { peer_id } = peer;
  const params = { id: peer_id };
  const load = (signal: AbortSignal) => call(at.readChanges, { params, query: {}, signal });
  const options = { interval_ms: INTERVAL_MS };
  const resource = only(useResource(`changes ${peer_id}`, ["turns"], load, options), [peer_id]);
  const loadFile = async (file: string) =>
    (await call(at.readChanges, { params, query: { file } })).files[0];
  return (
    <div class="scroll-area changes" tabIndex={0} role="region" aria-label="Changes">
      <Overlaps of={peer_id} />
      <ResourceView resource={resource}>
        {(changes) => (
          <TracedChanges
            changes={changes}
            id={peer_id}
            loadFile={loadFile}
            refresh={resource.refresh}
            usesOf={(path) => <FileUses path={path} />}
            machine={isRemote(peer) ? peer.machine ?? "another machine" : undefined}
          />
        )}
      </ResourceView>
    </div>
  );
}

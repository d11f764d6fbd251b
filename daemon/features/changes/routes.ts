/** Routes of what changed in the folders of peers and jobs. */

import { type Route, route } from "kit/http/route.ts";
import type { Directory } from "../peers/directory.ts";
import * as contracts from "protocol/changes.ts";
import type { ReaderOf } from "../transcripts/readers.ts";
import type { Changes } from "./changes.ts";
import type { ChangesElsewhere } from "./elsewhere.ts";

export function changesRoutes(
  { changes, directory }: { readonly changes: Changes; readonly directory: Directory },
  readerOf: ReaderOf,
  elsewhere: ChangesElsewhere,
): Route[] {
  return [
    route(contracts.readChanges, ({ params, query, caller, headers, signal }) => {
      const peer = directory.findAnywhere(params.id, directory.scopeOf(query));
      const reader = readerOf(query.from_peer, caller, headers);
      if (peer.daemon_id === null) return changes.ofPeer(peer.peer_id, { query, reader, signal });
      // Two machines do not pass a request back and forth.
      if (reader.isElsewhere) directory.findFor(params.id, query);
      return changes.ofPeerElsewhere(peer, { query, reader }, elsewhere);
    }),
    route(contracts.readJobChanges, ({ params, query, caller, headers, signal }) => {
      const reader = readerOf(query.from_peer, caller, headers);
      return changes.ofJob(params.id, { query, reader, signal });
    }),
  ];
}

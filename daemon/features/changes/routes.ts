/** Routes of what changed in the folders of peers and jobs. */

import { type Route, route } from "kit/http/route.ts";
import type { Directory } from "../peers/directory.ts";
import * as contracts from "protocol/changes.ts";
import type { ReaderOf } from "../transcripts/readers.ts";
import type { Changes } from "./changes.ts";

export function changesRoutes(
  { changes, directory }: { readonly changes: Changes; readonly directory: Directory },
  readerOf: ReaderOf,
): Route[] {
  return [
    route(contracts.readChanges, ({ params, query, caller, headers, signal }) => {
      const { peer_id } = directory.findFor(params.id, query);
      const reader = readerOf(query.from_peer, caller, headers);
      return changes.ofPeer(peer_id, { query, reader, signal });
    }),
    route(contracts.readJobChanges, ({ params, query, caller, headers, signal }) => {
      const reader = readerOf(query.from_peer, caller, headers);
      return changes.ofJob(params.id, { query, reader, signal });
    }),
  ];
}

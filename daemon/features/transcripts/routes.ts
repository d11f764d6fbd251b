/** Routes of transcripts and of the tokens of sessions. */

import { type Route, route } from "kit/http/route.ts";
import type { Directory } from "../peers/directory.ts";
import * as contracts from "protocol/transcripts.ts";
import type { ReaderOf } from "./readers.ts";
import type { UsageQuery, UsageReport } from "protocol/usage.ts";
import type { Reader, Transcripts } from "./transcripts.ts";
import type { Usage } from "./usage.ts";

/** Reports tokens by a grouping, which a higher feature counts. */
type ReportOf = (query: UsageQuery, reader: Reader) => Promise<UsageReport>;

export function transcriptRoutes(
  { directory, transcripts, usage }: {
    directory: Directory;
    transcripts: Transcripts;
    usage: Usage;
  },
  readerOf: ReaderOf,
  reportOf: ReportOf,
): Route[] {
  return [
    route(contracts.readTranscript, ({ params, query, caller, headers }) => {
      const { peer_id } = directory.findFor(params.id, query);
      return transcripts.read(peer_id, query, readerOf(query.from_peer, caller, headers));
    }),
    route(contracts.getUsage, ({ params, query, caller, headers }) => {
      const { peer_id } = directory.findFor(params.id, query);
      return usage.of(peer_id, readerOf(query.from_peer, caller, headers));
    }),
    route(contracts.listUsage, async ({ query, caller, headers }) => {
      const { by, peer, from, to, days } = query;
      const reader = readerOf(query.from_peer, caller, headers);
      if (by !== undefined) {
        const peer_id = peer === undefined ? peer : directory.findFor(peer, query).peer_id;
        return await reportOf({ by, from, to, days, peer_id }, reader);
      }
      return { usage: await usage.list(reader) };
    }),
  ];
}

/** The route of blame. */

import { type Route, route } from "kit/http/route.ts";
import { blameLines } from "protocol/origins/blame.ts";
import type { ReaderOf } from "../transcripts/readers.ts";
import type { Blame } from "./blame.ts";

export function blameRoutes({ blame }: { readonly blame: Blame }, readerOf: ReaderOf): Route[] {
  return [
    route(
      blameLines,
      ({ query, caller, headers, signal }) =>
        blame.linesOf(query, readerOf(query.from_peer, caller, headers), signal),
    ),
  ];
}

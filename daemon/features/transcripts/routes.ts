/** Routes of transcripts and of the tokens of sessions. */

import { type Caller, type Route, route } from "kit/http/route.ts";
import type { Directory } from "../peers/directory.ts";
import * as rows from "../peers/store.ts";
import type { Context } from "kit/data/context.ts";
import * as contracts from "./contract.ts";
import type { Reader, Transcripts } from "./transcripts.ts";
import type { Usage } from "./usage.ts";

export interface TranscriptRoutesDeps {
  /** Whether the human sends the request. */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** Whether the kernel proves that this process, or a descendant of it, sends the request. */
  isProcess(pid: number, caller: Caller, max: number): boolean;
}

export function transcriptRoutes(
  { ctx, directory, transcripts, usage }: {
    ctx: Context;
    directory: Directory;
    transcripts: Transcripts;
    usage: Usage;
  },
  { isProvenHuman, isProcess }: TranscriptRoutesDeps,
): Route[] {
  /** The peer that a request claims to come from, if that is proved. */
  const provenPeer = (claimed: string | undefined, caller: Caller): string | undefined => {
    const peer = claimed === undefined
      ? undefined
      : directory.scopeOf({ from_peer: claimed }).caller;
    const peer_id = peer?.peer_id ?? undefined;
    if (peer_id === undefined) return undefined;
    // A tool of this daemon has no socket; it names the caller that it has identified.
    if (caller.remote === undefined && caller.via === undefined) return peer_id;
    const pid = rows.get(ctx.db, peer_id)?.agent_pid ?? undefined;
    return pid !== undefined && isProcess(pid, caller, Infinity) ? peer_id : undefined;
  };
  const readerOf = (from_peer: string | undefined, caller: Caller, headers: Headers): Reader => ({
    isHuman: isProvenHuman(caller, headers),
    isElsewhere: caller.via === "relay" || caller.via === "machine",
    peer_id: provenPeer(from_peer, caller),
  });
  return [
    route(contracts.readTranscript, ({ params, query, caller, headers }) => {
      const { peer_id } = directory.find(params.id, directory.scopeOf(query));
      return transcripts.read(peer_id, query, readerOf(query.from_peer, caller, headers));
    }),
    route(contracts.getUsage, ({ params, query, caller, headers }) => {
      const { peer_id } = directory.find(params.id, directory.scopeOf(query));
      return usage.of(peer_id, readerOf(query.from_peer, caller, headers));
    }),
    route(contracts.listUsage, async () => ({ usage: await usage.list() })),
  ];
}

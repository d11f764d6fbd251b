/** The proved sender of a request. It decides whose transcripts the sender may read. */

import type { Context } from "../../data/context.ts";
import type { Caller } from "kit/http/route.ts";
import type { ProcessId } from "../../host/processes.ts";
import type { Directory } from "../peers/directory.ts";
import { recordedProcess } from "../peers/identity/known_peer.ts";
import * as rows from "../peers/store.ts";
import type { Reader } from "./transcripts.ts";

interface ReaderProofs {
  /** True if the human sends the request. */
  isProvenHuman(caller: Caller, headers: Headers): boolean;
  /** True if this process sends the request, or a descendant that is no other peer's. */
  isSender(process: ProcessId, caller: Caller): boolean;
}

/** Finds who sends a request. `from_peer` is what the request claims. */
export type ReaderOf = (from_peer: string | undefined, caller: Caller, headers: Headers) => Reader;

export function readersOf(
  { ctx, directory }: { readonly ctx: Context; readonly directory: Directory },
  { isProvenHuman, isSender }: ReaderProofs,
): ReaderOf {
  /** The peer that a request claims to come from, if that is proved. */
  const provenPeer = (claimed: string | undefined, caller: Caller): string | undefined => {
    if (claimed === undefined) return undefined;
    const peer_id = directory.scopeOf({ from_peer: claimed }).caller?.peer_id;
    if (!peer_id) return undefined;
    // The daemon's own tools have no socket. They name the identified caller.
    if (caller.remote === undefined && caller.via === undefined) return peer_id;
    const record = rows.get(ctx.db, peer_id);
    const process = record && recordedProcess(record);
    return process && isSender(process, caller) ? peer_id : undefined;
  };
  return (from_peer, caller, headers) => ({
    isHuman: isProvenHuman(caller, headers),
    isElsewhere: caller.via === "relay" || caller.via === "machine",
    peer_id: provenPeer(from_peer, caller),
  });
}

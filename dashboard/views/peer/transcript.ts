/** Loads an agent's records of its session, or the reason why they are not shown. */

import { call, RELAYED } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Peer, TranscriptEntry } from "../../state/records.ts";
import { isRemote } from "../../state/remote.ts";
import { ApiError } from "kit/http/client.ts";

export interface LoadedTranscript {
  readonly entries?: readonly TranscriptEntry[];
  /** The position of earlier entries; null if there are none. */
  readonly before?: number | null;
  /** True if earlier entries exist that cannot be read. */
  readonly cut?: boolean;
  /** Advice about a refusal. */
  readonly note?: string;
  /** The code of a refusal; undefined for a peer that passes on no transcript. */
  readonly refusal?: string;
}

const NOTES: Readonly<Record<string, string>> = {
  human_not_proven: "This agent's record of its session is not shown: it is not proven that " +
    "a person looks at this page. Open the page with mesh open.",
  transcripts_off:
    "This agent's record of its session is not shown: the setting transcripts is off.",
};

function refused(refusal: string): LoadedTranscript {
  const note = NOTES[refusal];
  return note === undefined ? { refusal } : { refusal, note };
}

/** Nothing through a relay, or from other machines, which do not pass transcripts on. */
export async function loadTranscript(
  peer: Peer,
  { last, before }: { readonly last: number; readonly before?: number },
  signal?: AbortSignal,
): Promise<LoadedTranscript> {
  const isAgent = peer.backend !== null && peer.role !== "human";
  if (RELAYED || isRemote(peer) || !isAgent) return {};
  const request = { params: { id: peer.peer_id }, ...(signal && { signal }) };
  try {
    const { transcript_refusal } = await call(at.getUsage, { ...request, query: {} });
    if (transcript_refusal) return refused(transcript_refusal.error);
    const query = { last: String(last), ...(before !== undefined && { before: String(before) }) };
    const found = await call(at.readTranscript, { ...request, query });
    return { entries: found.entries, before: found.before, cut: found.cut };
  } catch (error) {
    if (error instanceof ApiError) return refused(error.problem.error);
    return {}; // An older daemon, or no answer, which the messages then report.
  }
}

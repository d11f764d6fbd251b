/** Loads an agent's records of its session, or the reason why the page does not show them. */

import { ApiError } from "kit/http/client.ts";
import { call, RELAYED } from "../../../state/calls.ts";
import { isRemote } from "../../../state/remote.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Peer, TranscriptEntry } from "../../../state/records.ts";

/** Maximum entries of a session on the page. */
const ENTRIES_SHOWN = 100;

interface LoadedTranscript {
  readonly transcript?: readonly TranscriptEntry[];
  readonly transcript_note?: string;
}

/** Advice about a refusal. Any other refusal means that there is nothing to show. */
const NOTES: Readonly<Record<string, string>> = {
  human_not_proven: "This agent's record of its session is not shown: it is not proven that " +
    "a person looks at this page. Open the page with mesh open.",
  transcripts_off:
    "This agent's record of its session is not shown: the setting transcripts is off.",
};

function noteOf(code: string): LoadedTranscript {
  const note = NOTES[code];
  return note === undefined ? {} : { transcript_note: note };
}

/** Nothing through a relay, or from other machines, which do not pass transcripts on. */
export async function loadTranscript(peer: Peer, signal: AbortSignal): Promise<LoadedTranscript> {
  const isAgent = peer.backend !== null && peer.role !== "human";
  if (RELAYED || isRemote(peer) || !isAgent) return {};
  const params = { id: peer.peer_id };
  try {
    const { transcript_refusal } = await call(at.getUsage, { params, query: {}, signal });
    if (transcript_refusal) return noteOf(transcript_refusal.error);
    const query = { last: String(ENTRIES_SHOWN) };
    return { transcript: (await call(at.readTranscript, { params, query, signal })).entries };
  } catch (error) {
    if (error instanceof ApiError) return noteOf(error.problem.error);
    return {}; // An older daemon, or no answer, which the messages then report.
  }
}

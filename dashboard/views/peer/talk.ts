/** Loads a conversation: the newest messages, earlier ones on demand, and the agent's turns. */

import { useMemo } from "preact/hooks";
import { call, RELAYED } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { isRemote } from "../../state/remote.ts";
import type {
  AgentTurn,
  Message,
  MessagePage,
  Peer,
  TranscriptEntry,
} from "../../state/records.ts";
import { only, useResource } from "../../state/resource.ts";
import type { Talk } from "./entries.ts";
import { ApiError } from "kit/http/client.ts";

const PAGE = 50;
/** Maximum messages of one load. */
export const MESSAGES_MAX = 500;

/** The conversation of a peer, and a function that puts the next page before it. */
export function useTalk(peer: Peer) {
  const { peer_id } = peer;
  const wanted = useMemo(() => ({ count: PAGE }), [peer_id]);
  const load = async (signal: AbortSignal): Promise<Talk> => {
    const turns = loadTurns(peer, signal);
    const transcript = loadTranscript(peer, signal);
    for (;;) {
      const { count } = wanted;
      const { messages, next } = await loadPages(peer_id, count, { signal });
      // Meanwhile an earlier page may have arrived, which this load has left out.
      if (count === wanted.count) {
        return { messages, next, turns: await turns, ...await transcript };
      }
    }
  };
  const topics = ["messages", "asks", "turns"] as const;
  const resource = only(useResource(`conversation ${peer_id}`, topics, load), [peer_id]);
  /** `prepare` runs just before the content changes. */
  const loadEarlier = async (prepare: () => void): Promise<void> => {
    const before = resource.value.peek();
    const count = Math.min(PAGE, MESSAGES_MAX - wanted.count);
    if (!before || before.next === null || count <= 0) return;
    const page = await loadPages(peer_id, count, { cursor: before.next });
    wanted.count += count;
    const now = resource.value.peek();
    prepare();
    if (now?.messages === before.messages) {
      const messages = [...before.messages, ...page.messages];
      resource.value.value = { ...now, messages, next: page.next };
    } // A new message has shifted the pages, which now overlap or leave a gap.
    else resource.refresh();
  };
  return { resource, loadEarlier };
}

/** A page of the daemon may hold fewer messages than its limit. */
async function loadPages(
  peer: string,
  count: number,
  { cursor, signal }: { cursor?: string; signal?: AbortSignal },
): Promise<MessagePage> {
  const messages: Message[] = [];
  let next = cursor ?? null;
  do {
    const limit = String(count - messages.length);
    const query = next === null ? { peer, limit } : { peer, limit, cursor: next };
    const page: MessagePage = await call(at.listMessages, signal ? { query, signal } : { query });
    messages.push(...page.messages);
    next = page.next;
  } while (next !== null && messages.length < count);
  return { messages, next };
}

/**
 * None through a relay without `relay.allow_admin`, from an older daemon, or for a peer of another
 * machine, which does not pass them on.
 */
async function loadTurns(peer: Peer, signal: AbortSignal): Promise<readonly AgentTurn[]> {
  if (RELAYED || isRemote(peer)) return [];
  const { peer_id } = peer;
  try {
    return (await call(at.listTurns, { params: { id: peer_id }, query: {}, signal })).turns;
  } catch {
    return [];
  }
}

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
async function loadTranscript(peer: Peer, signal: AbortSignal): Promise<LoadedTranscript> {
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

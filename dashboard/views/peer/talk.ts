/** Loads a conversation: the newest messages, earlier ones on demand, and the agent's turns. */

import { useMemo } from "preact/hooks";
import { call, RELAYED } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { isRemote } from "../../state/remote.ts";
import type { AgentTurn, Message, MessagePage, Peer } from "../../state/records.ts";
import { only, useResource } from "../../state/resource.ts";
import type { Talk } from "./entries.ts";
import { loadTranscript } from "./transcript.ts";

const PAGE = 50;
/** Maximum messages of one load. */
export const MESSAGES_MAX = 500;

/** The conversation of a peer, and a function that puts the next page before it. */
export function useTalk(peer: Peer) {
  const { peer_id } = peer;
  const wanted = useMemo(() => ({ count: PAGE }), [peer_id]);
  const load = async (signal: AbortSignal): Promise<Talk> => {
    const turns = loadTurns(peer, signal);
    const transcript = loadTranscript(peer, { last: ENTRIES_SHOWN }, signal);
    for (;;) {
      const { count } = wanted;
      const { messages, next } = await loadPages(peer_id, count, { signal });
      // Meanwhile an earlier page may have arrived, which this load has left out.
      if (count === wanted.count) {
        const { entries, note } = await transcript;
        const session = { transcript: entries, transcript_note: note };
        return { messages, next, turns: await turns, ...session };
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

/** The shared state of the page: peers, the inbox, open asks, the time. */

import { computed, signal } from "@preact/signals";
import { call, errorText, isRefusal } from "./calls.ts";
import { now, startClock } from "./clock.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Ask, AskPage, InboxItem, Peer } from "./records.ts";
import { Resource } from "./resource.ts";
import { isRemote, withShownName } from "./remote.ts";
import { blockedBehind, byUrgency, isSnoozed, type WaitingAsk } from "protocol/derived/waiting.ts";
import { waitOf } from "protocol/derived/waits.ts";

const OPEN_ASKS_MAX = "200";
const INBOX_MAX = "200";
const NOTICE_MS = 8000;

export { now };

/** The result of an act whose place on the page is gone. */
interface Notice {
  readonly text: string;
  /** Takes the act back. */
  readonly undo?: (() => Promise<unknown>) | undefined;
}
const NO_NOTICE: Notice = { text: "" };
export const notice = signal(NO_NOTICE);
let notice_timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a notice for a short time. */
export function notify(text: string, undo?: () => Promise<unknown>): void {
  notice.value = { text, undo };
  clearTimeout(notice_timer);
  notice_timer = setTimeout(() => notice.value = NO_NOTICE, NOTICE_MS);
}

/** Takes the act of the notice back. */
export function undoNotice(): void {
  const { undo } = notice.value;
  notice.value = NO_NOTICE;
  undo?.().catch((error) => notify(errorText(error)));
}

export const peers = new Resource(
  ["peers"],
  // Subagents are on the page of the peer that started them.
  async () =>
    (await call(at.listPeers, { query: { live: "true", subagents: "false" } })).peers.map(
      withShownName,
    ),
);
export const openAsks = new Resource(["asks"], async () => (await newestAsks()).asks);
/**
 * The inbox with all open asks to the human, once the peers are known, too: an incomplete inbox
 * must not look as if nothing waited. Null if no human is registered.
 */
export const inbox = new Resource(["inbox", "asks"], async () => {
  try {
    const [box, newest] = await Promise.all([
      call(at.listInbox, { query: { open: "true", limit: INBOX_MAX } }),
      newestAsks(),
    ]);
    const asks = isComplete(newest, box.items)
      ? newest.asks.filter(({ from_peer_id, to_peer_id }) =>
        [from_peer_id, to_peer_id].includes(box.human_peer_id)
      )
      : await openAsksOf(box.human_peer_id);
    await peers.whenLoaded();
    return { ...box, asks };
  } catch (error) {
    if (isRefusal(error, "no_human")) return null;
    throw error;
  }
});

let newest_asks: Promise<AskPage> | undefined;

/** The newest open asks. Resources that load in one turn share the request. */
function newestAsks(): Promise<AskPage> {
  queueMicrotask(() => newest_asks = undefined);
  return newest_asks ??= call(at.listAsks, { query: { state: "open", limit: OPEN_ASKS_MAX } });
}

/**
 * True if a page of open asks has those of all items. Both are read at once, so an ask may be newer
 * than the page; it must not look as if it had been closed.
 */
function isComplete({ asks, next }: AskPage, items: readonly InboxItem[]): boolean {
  const known = new Set(asks.map(({ correlation_id }) => correlation_id));
  const newest = asks.map(({ created_at }) => created_at).toSorted().at(-1) ?? "";
  return next === null &&
    !items.some(({ kind, replied, correlation_id, created_at }) =>
      kind === "ask" && !replied && correlation_id !== null && !known.has(correlation_id) &&
      created_at >= newest
    );
}

/** All open asks of a peer and to it, page by page: other asks may be newer. */
async function openAsksOf(peer_id: string): Promise<Ask[]> {
  const found: Ask[] = [];
  let cursor: string | null = null;
  do {
    const query = { state: "open" as const, peer_id, limit: OPEN_ASKS_MAX };
    const page: AskPage = await call(at.listAsks, {
      query: cursor === null ? query : { ...query, cursor },
    });
    found.push(...page.asks);
    cursor = page.next;
  } while (cursor !== null);
  return found;
}

export const peersById = computed(() =>
  new Map((peers.value.value ?? []).map((peer) => [peer.peer_id, peer]))
);

/** The name of a peer; its id if it is not known. */
export function nameOfPeer(peer_id: string): string {
  return peersById.value.get(peer_id)?.name ?? peer_id;
}

/** Agents, orchestrators and services that are not retired; without the human. */
export const livePeers = computed(() =>
  (peers.value.value ?? []).filter(({ status, role }) => status !== "retired" && role !== "human")
);

/** Live peers of this machine: other machines' programs cannot be started, ended or shared. */
export const localPeers = computed(() => livePeers.value.filter((peer) => !isRemote(peer)));

/** Items that the human has put off, the one that comes back first before the others. */
export const snoozedItems = computed(() =>
  (inbox.value.value?.items ?? []).filter((item) => isSnoozed(item, now.value))
    .sort((a, b) => (a.snoozed_until ?? "").localeCompare(b.snoozed_until ?? ""))
);
const shownItems = computed(() =>
  (inbox.value.value?.items ?? []).filter((item) => !isSnoozed(item, now.value))
);

/** The most urgent first. */
export const waitingAsks = computed<readonly WaitingAsk[]>(() => {
  const open = openAsks.value.value ?? [];
  const to_human = inbox.value.value?.asks ?? [];
  const asks = new Map(to_human.map((ask) => [ask.correlation_id, ask]));
  const found = shownItems.value.flatMap((item) => {
    const ask = item.kind === "ask" && item.correlation_id && asks.get(item.correlation_id);
    return ask ? [{ item, ask, behind: blockedBehind(ask, open) }] : [];
  });
  return found.sort(byUrgency);
});

/** Unread notes, and questions that were closed before the human has seen or answered them. */
export const unreadNotes = computed(() => {
  const open = new Set(inbox.value.value?.asks.map(({ correlation_id }) => correlation_id));
  return shownItems.value.filter(({ kind, read, replied, correlation_id }) =>
    !read && !replied && (kind === "notify" || !open.has(correlation_id ?? ""))
  );
});

/** Agents of this machine that wait at their terminal or a limit, without an ask to the human. */
export const waitingPeers = computed<readonly Peer[]>(() => {
  const asking = new Set(waitingAsks.value.map(({ ask }) => ask.from_peer_id));
  return localPeers.value.filter((peer) => waitOf(peer) && !asking.has(peer.peer_id));
});

/** Asks to the human that nobody has answered yet. */
export const answerCount = computed(() => waitingAsks.value.length);
export const attentionCount = computed(() =>
  waitingAsks.value.length + unreadNotes.value.length + waitingPeers.value.length
);

export function activateStore(): void {
  for (const resource of [peers, openAsks, inbox]) resource.activate();
  startClock();
}

/** A peer in a list: its activity, who waits for it, and the age of the evidence. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { countsText } from "protocol/derived/changes.ts";
import { contextPercent, contextText } from "protocol/derived/usage.ts";
import * as at from "protocol/generated/endpoints.ts";
import { Age, duration, State } from "../../components/basics.tsx";
import { AgentMark } from "../../components/icons/icon.tsx";
import { Steady } from "../../components/act/steady_content.tsx";
import { Counts } from "../../components/counts.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import { offlineReason } from "protocol/derived/peers.ts";
import type { Peer, SessionUsages } from "../../state/records.ts";
import { Resource } from "../../state/resource.ts";
import { waitState } from "protocol/derived/waits.ts";
import { statusWithSleep } from "protocol/derived/wakes.ts";
import { type ChangeCounts, changeCountsOf, readChangeCounts } from "../../state/change_counts.ts";
import { sessionState } from "../../state/session.ts";
import { link } from "../../state/router.ts";
import { now, peers as allPeers } from "../../state/store.ts";
import { StopButton } from "../peer/interrupt.tsx";
import { isAsleep, WakeButton } from "../peer/wake.tsx";

/** The time without a sign after which an agent at work may be stuck. */
const SILENT_MS = 10 * 60_000;
/** Context left, in percent, at which an agent soon summarizes its conversation. */
const LOW_CONTEXT_PERCENT = 15;
/** The interval at which the ages of the evidence are read again. */
const LOOK_MS = 60_000;
/** The age up to which a loaded list is not read again for its ages. */
const FRESH_MS = 1000;

/**
 * No event announces that a peer was seen, so the list is loaded again while it is visible.
 */
export function useFreshAges(): void {
  useEffect(() => {
    const look = () => {
      if (!document.hidden) allPeers.refresh();
    };
    // The first load may still be under way.
    if (allPeers.isOlderThan(FRESH_MS)) look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
}

interface ContextUse {
  readonly context_tokens: number;
  readonly context_limit: number | null;
}

/** The shortest time between two loads of contexts: turns of many agents may end at once. */
const CONTEXTS_INTERVAL_MS = 5_000;

/** Shared by the lists of all circles. */
const contexts = new Resource(["usage"], async () => {
  const answer = await call(at.listUsage, { query: {} });
  return new Map("usage" in answer ? answer.usage.flatMap(contextOf) : []);
}, CONTEXTS_INTERVAL_MS);
let lists = 0;
let deactivate: (() => void) | undefined;

/** The use of the context of each agent that records it, as of the end of its last turn. */
function useContexts(): ReadonlyMap<string, ContextUse> | undefined {
  useEffect(() => {
    if (lists++ === 0) {
      deactivate = contexts.activate();
      contexts.refresh();
    }
    return () => {
      if (--lists === 0) deactivate?.();
    };
  }, []);
  return contexts.value.value;
}

function contextOf({ peer_id, usage }: SessionUsages["usage"][number]): [string, ContextUse][] {
  const { context_tokens = null, context_limit = null } = usage ?? {};
  return context_tokens === null ? [] : [[peer_id, { context_tokens, context_limit }]];
}

export function PeerList(
  { peers, dense, current }: { peers: readonly Peer[]; dense: boolean; current?: string },
) {
  const contexts = useContexts();
  return (
    <ul class={`peers tiles ${dense ? "dense" : ""}`}>
      {peers.map((peer) => {
        const is_current = peer.peer_id === current;
        const context = contexts?.get(peer.peer_id);
        return (
          <li key={peer.peer_id}>
            <Steady of={[peer, is_current, dense, context]}>
              {() => <PeerCard {...{ peer, dense, context }} current={is_current} />}
            </Steady>
            {activityOf(peer) === "working" && <StopButton peer={peer} />}
            {isAsleep(peer) && <WakeButton peer={peer} />}
          </li>
        );
      })}
    </ul>
  );
}

interface CardProps {
  readonly peer: Peer;
  readonly current: boolean;
  readonly dense: boolean;
  readonly context: ContextUse | undefined;
}

function PeerCard({ peer, current, dense, context }: CardProps) {
  const { status, backend, model, path, description, pending_ask_count, tags } = peer;
  const facts = [backend, path && tail(path), model, ...tags.map((tag) => `@${tag}`)].filter(
    Boolean,
  ).join(" · ");
  const oldest = peer.oldest_pending_age_seconds;
  const card = useRef<HTMLAnchorElement>(null);
  const counts = useChangeCounts(card, peer);
  return (
    <a
      ref={card}
      class="peer card"
      data-row
      href={link("peers", peer.peer_id)}
      aria-current={current ? "page" : undefined}
    >
      <AgentMark backend={backend} is_person={peer.role === "human"} />
      <span class="peer-name row">
        <bdi>{visible(peer.name)}</bdi>
        {peer.role !== "agent" && <span class="kind hint">{peer.role}</span>}
      </span>
      <span class="peer-state cluster">
        {pending_ask_count > 0 && (
          <span class="hint" title="Open asks, and the age of the oldest">
            {pending_ask_count} open{oldest === null ? "" : ` · ${duration(oldest)}`}
          </span>
        )}
        {counts && (
          <span title="Lines that changed in its folder since its branch began">
            <Counts text={countsText(counts)} />
          </span>
        )}
        <Activity peer={peer} />
      </span>
      <span class="peer-facts row hint">
        {!dense && <bdi class="grow clip">{visible(facts)}</bdi>}
        <span class="peer-reach clip">
          {!dense && status !== "offline" && (
            <>
              <Reach peer={peer} brief />
              {peer.last_seen && " · "}
            </>
          )}
          {peer.last_seen && status !== "offline" && (
            <Evidence peer={peer} at={peer.last_seen} brief={!dense} />
          )}
          {status === "offline" && <Ending peer={peer} />}
        </span>
      </span>
      {!dense && context && <ContextLeft context={context} />}
      {description && <span class="task hint clip">{visible(description)}</span>}
    </a>
  );
}

/** The numbers of changed lines in the folder of a peer whose card is in sight. */
function useChangeCounts(
  card: RefObject<HTMLElement | null>,
  peer: Peer,
): ChangeCounts | undefined {
  const seen = useRef(peer);
  seen.current = peer;
  useEffect(() => {
    if (!card.current) return;
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting && !document.hidden) readChangeCounts(seen.current);
    });
    observer.observe(card.current);
    return () => observer.disconnect();
    // A new observer reports at once whether the card is in sight.
  }, [peer.peer_id, peer.turn_state, sessionState.value]);
  return changeCountsOf(peer.peer_id).value;
}

/** The part of the context that is left; without its size, the part that is used. */
function ContextLeft({ context }: { context: ContextUse }) {
  const percent = contextPercent(context);
  const left = percent === undefined ? undefined : Math.max(0, 100 - percent);
  const text = left === undefined
    ? `${shortCount(context.context_tokens)} tokens of context`
    : `${left} % of context left`;
  const isLow = left !== undefined && left <= LOW_CONTEXT_PERCENT;
  return (
    <span class="task hint clip" title={contextText(context)}>
      <span class={isLow ? "reason" : undefined}>{text}</span>
    </span>
  );
}

function shortCount(tokens: number): string {
  return tokens < 1000 ? String(tokens) : `${Math.round(tokens / 1000)}k`;
}

/** A word that is not shown, only spoken, if there is no room for it. */
function Spoken({ word, brief }: { word: string; brief: boolean }) {
  return <span class={brief ? "unseen" : undefined}>{`${word} `}</span>;
}

/** Since when a peer is offline, and why. */
function Ending({ peer }: { peer: Peer }) {
  const at = peer.offline_since ?? peer.last_seen;
  const reason = offlineReason(peer);
  return (
    <span class="seen-at">
      {at === null ? "ended" : (
        <>
          ended <Age at={at} suffix=" ago" />
        </>
      )}
      {reason && `: ${visible(reason)}`}
    </span>
  );
}

/** The age of the peer's last sign. */
function Evidence({ peer, at, brief }: { peer: Peer; at: string; brief: boolean }) {
  const is_silent = activityOf(peer) === "working" && now.value - Date.parse(at) > SILENT_MS;
  return is_silent
    ? (
      <span class="reason">
        no sign for <Age at={at} />
      </span>
    )
    : (
      <span class="seen-at">
        <Spoken word="seen" brief={brief} />
        <Age at={at} suffix=" ago" />
      </span>
    );
}

/** The peer's activity, and before it that it repeats itself: it may work or wait meanwhile. */
export function Activity({ peer }: { peer: Peer }) {
  return (
    <>
      {peer.looping && <State of="looping" />}
      <State of={activityOf(peer)} />
    </>
  );
}

/** The peer's activity; its status if nothing more is known. */
function activityOf(peer: Peer): string {
  const { status, turn_state } = peer;
  const waits = waitState(peer);
  if (waits !== undefined) return waits;
  const known = status !== "offline" && turn_state !== null && turn_state !== "idle";
  return known ? turn_state : statusWithSleep(peer);
}

/** The peer's transport, or the reason why it has none. */
export function Reach({ peer, brief = false }: { peer: Peer; brief?: boolean }) {
  const { role, transport, inbound_status, inbound_reason } = peer;
  if (role === "human") return <>inbox</>;
  const isReached = inbound_status === "ok" || inbound_status === "degraded";
  return (
    <>
      {isReached && <Spoken word="by" brief={brief} />}
      {isReached && transport} {inbound_status !== "ok" && <State of={inbound_status} />}
      {!brief && inbound_reason && (
        <span class="reason">{visible(inbound_reason.replaceAll("_", " "))}</span>
      )}
    </>
  );
}

/** The last two folders of a path. */
function tail(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 2 ? parts.slice(-2).join("/") : path;
}

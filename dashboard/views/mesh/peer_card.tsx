/** A peer in a list: its activity, who waits for it, and the age of the evidence. */

import { useEffect } from "preact/hooks";
import { Age, duration, State } from "../../components/basics.tsx";
import { Steady } from "../../components/act/steady_content.tsx";
import { visible } from "../../components/text/visible.tsx";
import type { Peer } from "../../state/records.ts";
import { waitState } from "protocol/derived/waits.ts";
import { link } from "../../state/router.ts";
import { now, peers as allPeers } from "../../state/store.ts";
import { StopButton } from "../peer/interrupt.tsx";

/** The time without a sign after which an agent at work may be stuck. */
const SILENT_MS = 10 * 60_000;
/** The interval at which the ages of the evidence are read again. */
const LOOK_MS = 60_000;

/**
 * No event announces that a peer was seen, so the list is loaded again while it is visible.
 */
export function useFreshAges(): void {
  useEffect(() => {
    const look = () => {
      if (!document.hidden) allPeers.refresh();
    };
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
}

export function PeerList(
  { peers, dense, current }: { peers: readonly Peer[]; dense: boolean; current?: string },
) {
  return (
    <ul class={`peers ${dense ? "dense" : ""}`}>
      {peers.map((peer) => {
        const is_current = peer.peer_id === current;
        return (
          <li key={peer.peer_id}>
            <Steady of={[peer, is_current, dense]}>
              {() => <PeerCard peer={peer} current={is_current} dense={dense} />}
            </Steady>
            {activityOf(peer) === "working" && <StopButton peer={peer} />}
          </li>
        );
      })}
    </ul>
  );
}

function PeerCard({ peer, current, dense }: { peer: Peer; current: boolean; dense: boolean }) {
  const { status, backend, model, path, description, pending_ask_count, tags } = peer;
  const facts = [backend, path && tail(path), model, ...tags.map((tag) => `@${tag}`)].filter(
    Boolean,
  ).join(" · ");
  const oldest = peer.oldest_pending_age_seconds;
  return (
    <a
      class="peer"
      data-row
      href={link("peers", peer.peer_id)}
      aria-current={current ? "page" : undefined}
    >
      <span class={`dot ${status}`} />
      <span class="peer-name">
        <bdi>{visible(peer.name)}</bdi>
        {peer.role !== "agent" && <span class="kind">{peer.role}</span>}
      </span>
      <span class="peer-state">
        {pending_ask_count > 0 && (
          <span class="pending" title="Open asks, and the age of the oldest">
            {pending_ask_count} open{oldest === null ? "" : ` · ${duration(oldest)}`}
          </span>
        )}
        <State of={activityOf(peer)} />
      </span>
      {!dense && (
        <span class="peer-facts">
          <bdi>{visible(facts)}</bdi>
        </span>
      )}
      <span class="peer-reach">
        {!dense && status !== "offline" && (
          <>
            <Reach peer={peer} brief />
            {peer.last_seen && " · "}
          </>
        )}
        {peer.last_seen && (
          <Evidence peer={peer} at={peer.last_seen} brief={!dense && status !== "offline"} />
        )}
      </span>
      {description && <span class="task">{visible(description)}</span>}
    </a>
  );
}

/** A word that is not shown, only spoken, if there is no room for it. */
function Spoken({ word, brief }: { word: string; brief: boolean }) {
  return <span class={brief ? "unseen" : undefined}>{`${word} `}</span>;
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

/** The peer's activity; its status if nothing more is known. */
export function activityOf(peer: Peer): string {
  const { status, turn_state } = peer;
  const waits = waitState(peer);
  if (waits !== undefined) return waits;
  const known = status !== "offline" && turn_state !== null && turn_state !== "idle";
  return known ? turn_state : status;
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
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
}

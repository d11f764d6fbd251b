/** The conversation of a peer: its messages and its own turns, in the order of their times. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Steady } from "../../components/act/steady_content.tsx";
import { Act, Clock, Empty, ResourceView } from "../../components/basics.tsx";
import { Compose } from "../../components/compose.tsx";
import { Bubble } from "../../components/message.tsx";
import type { AgentTurn, Peer, TranscriptEntry } from "../../state/records.ts";
import { type Entry, type Talk, toEntries } from "./entries.ts";
import { MESSAGES_MAX, useTalk } from "./talk.ts";
import { Markdown } from "../../components/markdown.tsx";
import { visible } from "../../components/text/visible.tsx";
import { PeerPermissions } from "../attention/questions.tsx";

/** A reader this close to the end sees new messages as they arrive. */
const NEAR_END_PX = 120;

export function Conversation({ peer }: { peer: Peer }) {
  const { resource, loadEarlier } = useTalk(peer);
  const { scroller, onScroll, keepPlace } = usePlace(resource.value.value);
  const earlier = () => loadEarlier(keepPlace);
  return (
    <>
      <div
        class="conversation"
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
      >
        <ResourceView resource={resource}>
          {(talk) => <Entries talk={talk} peer_id={peer.peer_id} earlier={earlier} />}
        </ResourceView>
        <PeerPermissions peer_id={peer.peer_id} />
      </div>
      <Writing peer={peer} />
    </>
  );
}

function Entries(
  { talk, peer_id, earlier }: { talk: Talk; peer_id: string; earlier: () => Promise<void> },
) {
  const entries = useMemo(() => toEntries(talk), [talk]);
  const is_full = talk.messages.length >= MESSAGES_MAX;
  return (
    <>
      {talk.next !== null && !is_full && <Act run={earlier} class="quiet">Earlier messages</Act>}
      {talk.next !== null && is_full && (
        <p class="hint">
          {`The newest ${MESSAGES_MAX} messages are shown. The log finds earlier ones.`}
        </p>
      )}
      {talk.transcript_note !== undefined && <p class="hint">{talk.transcript_note}</p>}
      {entries.length === 0 && (
        <Empty title="No messages yet">
          What you and this peer send each other appears here, with the entries of its session.
        </Empty>
      )}
      <ul class="bubbles stack">
        {entries.map((entry) => (
          <Steady
            key={entry.key}
            of={[entry.message, entry.turn, entry.record?.position, entry.reply_attachments]}
          >
            {() => <EntryRow entry={entry} peer_id={peer_id} />}
          </Steady>
        ))}
      </ul>
    </>
  );
}

function EntryRow(
  { entry: { message, turn, record, reply_attachments }, peer_id }: {
    entry: Entry;
    peer_id: string;
  },
) {
  if (record) return <RecordEntry record={record} />;
  if (turn) return <AgentTurnEntry turn={turn} />;
  return message
    ? (
      <Bubble
        message={message}
        to_peer={message.from_peer_id !== peer_id}
        reply_attachments={reply_attachments}
      />
    )
    : null;
}

function Writing({ peer }: { peer: Peer }) {
  if (peer.role === "human" || peer.status === "retired") return null;
  if (peer.addressable) return <Compose key={peer.peer_id} peer={peer} />;
  const reason = peer.addressable_reason ?? "inbound only";
  return <p class="compose hint">It takes no messages: {reason}.</p>;
}

/**
 * Keeps the end in sight while a reader is near it, and keeps the reader's place when earlier
 * messages are inserted above.
 */
function usePlace(content: unknown) {
  const scroller = useRef<HTMLDivElement>(null);
  const at_end = useRef(true);
  /** The height of the content below the top edge, which the next change keeps. */
  const below = useRef<number>(undefined);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box || below.current === undefined) return;
    box.scrollTop = box.scrollHeight - below.current;
    below.current = undefined;
  }, [content]);
  useEffect(() => showEnd(scroller, at_end), [content]);
  const onScroll = ({ currentTarget: box }: { currentTarget: HTMLDivElement }) => {
    at_end.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
  };
  const keepPlace = () => {
    const box = scroller.current;
    at_end.current = false;
    below.current = box ? box.scrollHeight - box.scrollTop : undefined;
  };
  return { scroller, onScroll, keepPlace };
}

function showEnd(
  { current: box }: RefObject<HTMLDivElement | null>,
  at_end: { readonly current: boolean },
): void {
  if (box && at_end.current) box.scrollTop = box.scrollHeight;
}

const LABELS = { user: "prompt in its terminal", assistant: "end of its turn" } as const;

function AgentTurnEntry({ turn }: { turn: AgentTurn }) {
  const { role, text, truncated, tool_calls, at } = turn;
  return (
    <li class={`turn rail stack tight ${role === "user" ? "to-peer" : ""}`} data-row tabIndex={-1}>
      <header>
        <span class="kind hint">{LABELS[role]}</span>
        <Clock at={at} />
      </header>
      <Markdown text={text} />
      {truncated && <p class="hint">Shortened here; the agent's terminal has it in full.</p>}
      {tool_calls.length > 0 && (
        <details>
          <summary>
            {tool_calls.length === 1 ? "1 tool call" : `${tool_calls.length} tool calls`}
          </summary>
          <pre>{visible(toText(tool_calls))}</pre>
        </details>
      )}
    </li>
  );
}

function toText(tool_calls: AgentTurn["tool_calls"]): string {
  return tool_calls.map((tool_call) => JSON.stringify(tool_call, null, 2)).join("\n");
}

const RECORDS: Readonly<Record<TranscriptEntry["kind"], string>> = {
  prompt: "prompt in its session",
  text: "said in its session",
  tool_call: "called",
  tool_result: "result",
};

/** An entry of the agent's transcript; calls and results are folded. */
function RecordEntry({ record }: { record: TranscriptEntry }) {
  const { kind, text, chars, tool, at } = record;
  const isTalk = kind === "prompt" || kind === "text";
  const title = [RECORDS[kind], tool].filter(Boolean).join(" ");
  return (
    <li
      class={`turn rail stack tight ${kind === "prompt" ? "to-peer" : ""}`}
      data-row
      tabIndex={-1}
    >
      {isTalk
        ? (
          <>
            <header>
              <span class="kind hint">{visible(title)}</span>
              {at !== null && <Clock at={at} />}
            </header>
            <Markdown text={text} />
          </>
        )
        : (
          <details>
            <summary>{visible(title)}</summary>
            <pre>{visible(text)}</pre>
          </details>
        )}
      {chars > text.length && (
        <p class="hint">Shortened here; the agent's session file has it in full.</p>
      )}
    </li>
  );
}

/** A message: one line, and below it the text, the reply, the attachments and the trace. */

import type { Attachment, Message } from "../state/records.ts";
import { isOutside, originMark } from "protocol/derived/origins.ts";
import { useFold } from "./act/folds.ts";
import { link } from "../state/router.ts";
import { Attachments } from "./attachments.tsx";
import { Clock, State } from "./basics.tsx";
import { Markdown } from "./markdown.tsx";
import { visible } from "./text/visible.tsx";
import { TraceView } from "./trace.tsx";

export { Attachments };

export function PeerLink({ id, name }: { id: string | null; name: string }) {
  if (id === null) return <bdi class="who">{visible(name)}</bdi>;
  return (
    <a class="who" href={link("peers", id)}>
      <bdi>{visible(name)}</bdi>
    </a>
  );
}

/** Between sender and recipient. */
export function To({ sign = "→" }: { sign?: string }) {
  return (
    <span>
      <span aria-hidden="true">{sign}</span>
      <span class="unseen">to</span>
    </span>
  );
}

/** A mark beside a name that is, or looks like, the human's without a proof. */
export function Voice({ of }: { of: Message["reply_voice"] }) {
  return of === "unverified" ? <State of="unverified" tone="warn" /> : null;
}

/** A mark beside a message whose chain began outside; older daemons send no chain. */
export function Origin({ of }: { of: Message["chain"] | undefined }) {
  return isOutside(of) ? <State of={originMark(of)} tone="warn" /> : null;
}

/** A mark beside an urgent message; messages of the human are always urgent. */
function Urgent({ message: { urgent, voice } }: { message: Message }) {
  return urgent && voice !== "human" ? <State of="urgent" tone="warn" /> : null;
}

/** A message of a conversation: on the right if sent to the peer, coloured if by the human. */
export function Bubble(
  { message, to_peer, reply_attachments }: {
    message: Message;
    to_peer: boolean;
    reply_attachments?: readonly Attachment[] | undefined;
  },
) {
  const { from_peer_id, from_peer_name, to_peer_id, to_peer_name, kind, created_at } = message;
  return (
    <li
      class={`bubble card ${to_peer ? "to-peer" : ""} ${message.voice === "human" ? "own" : ""}`}
      data-row
      tabIndex={-1}
      id={message.message_id}
    >
      <header>
        <PeerLink id={from_peer_id} name={from_peer_name} />
        <Voice of={message.voice} />
        <Origin of={message.chain} />
        <To />
        <PeerLink id={to_peer_id} name={to_peer_name} />
        <span class="kind hint">{kind}</span>
        <Urgent message={message} />
        <Clock at={created_at} />
      </header>
      <Content message={message} reply_attachments={reply_attachments} />
    </li>
  );
}

/** The text, the reply, the attachments and the trace. */
export function Content(
  { message, traced: traced_first = false, reply_attachments = [] }: {
    message: Message;
    traced?: boolean;
    reply_attachments?: readonly Attachment[] | undefined;
  },
) {
  const { message_id, text, attachments, kind, closed_at, reply, responder } = message;
  const [traced, turn] = useFold(`trace/${message_id}`, traced_first);
  const has_trace = kind === "ask" || kind === "notify";
  return (
    <>
      <Markdown text={text} />
      <Attachments of={attachments} />
      {closed_at !== null && kind === "ask" && (
        <div class="reply rail good stack tight">
          <header>
            <bdi class="who">{visible(responder ?? "mesh")}</bdi>
            <Voice of={message.reply_voice} />
            <State of={message.outcome ?? message.close_reason ?? "closed"} />
            <Clock at={closed_at} />
          </header>
          {reply && <Markdown text={reply} />}
          <Attachments of={reply_attachments} />
        </div>
      )}
      <footer>
        <State of={message.state} />
        {message.reason && (
          <span class="reason">{visible(message.reason.replaceAll("_", " "))}</span>
        )}
        {kind === "ask" && closed_at === null && <State of="open" />}
        {has_trace && (
          <button type="button" class="quiet" aria-expanded={traced} onClick={turn}>Trace</button>
        )}
      </footer>
      {traced && <TraceView id={message_id} />}
    </>
  );
}

/** The first line without the marks of Markdown. */
export function firstLine(text: string): string {
  const marked = text.trimStart().split("\n", 1)[0] ?? "";
  const plain = marked.replace(/^(?:#{1,6}|>|[-*]) +/, "").replaceAll(/\*\*|`/g, "");
  // The first row of a table.
  const line = plain.startsWith("|")
    ? plain.split("|").map((cell) => cell.trim()).filter(Boolean).join(" · ")
    : plain;
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

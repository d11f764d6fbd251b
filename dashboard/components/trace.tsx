/** The trace of a message: why it was not read, then each stage with its time and its proof. */

import { useEffect, useRef } from "preact/hooks";
import { call } from "../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { currentState } from "protocol/derived/delivery_state.ts";
import type { Message, Trace } from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { ResourceView } from "./basics.tsx";
import { visible } from "./text/visible.tsx";
import { WaitNoteOf } from "./notes/wait_note.tsx";

export function TraceView({ id }: { id: string }) {
  const load = async () => {
    const [trace, message] = await Promise.all([
      call(at.getTrace, { params: { trace_id: id } }),
      call(at.getMessage, { params: { id } }),
    ]);
    return { trace, message };
  };
  const resource = useResource(id, ["messages", "asks"], load);
  return (
    <section class="trace" aria-label="Trace">
      <ResourceView resource={resource}>
        {({ trace, message }) => (
          <>
            <Unread message={message} trace={trace} />
            <Stages trace={trace} />
          </>
        )}
      </ResourceView>
    </section>
  );
}

/** The state of a message that nobody has read yet, and the reason for which it waits. */
function Unread({ message, trace }: { message: Message; trace: Pick<Trace, "stages"> }) {
  const isOver = message.state === "seen" || message.closed_at !== null;
  if (isOver) return null;
  const { text, succeeded } = currentState(message, trace.stages);
  return (
    <>
      <p class={succeeded ? "hint" : "reason"}>{visible(`Not read: ${text}`)}</p>
      <WaitNoteOf id={message.to_peer_id} />
    </>
  );
}

export function Stages({ trace: { stages } }: { trace: Pick<Trace, "stages"> }) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => list.current?.scrollIntoView({ block: "nearest" }), []);
  const started = Date.parse(stages[0]?.ts ?? "");
  return (
    <ol class="timeline stack tight" ref={list}>
      {stages.map(({ seq, stage, status, ts, detail }) => (
        <li key={seq} class={status}>
          <span class="stage">
            {stage.replaceAll("_", " ")}
            {status === "fail" && " ✕ failed"}
          </span>
          <time dateTime={ts} title={new Date(ts).toLocaleString()}>
            {elapsedText(Date.parse(ts) - started)}
          </time>
          <span class="detail">{visible(detail ?? "")}</span>
        </li>
      ))}
    </ol>
  );
}

/** The time since the message was created. */
function elapsedText(ms: number): string {
  if (ms < 1000) return `+${Math.max(0, ms)} ms`;
  return ms < 60_000 ? `+${(ms / 1000).toFixed(1)} s` : `+${Math.round(ms / 60_000)} min`;
}

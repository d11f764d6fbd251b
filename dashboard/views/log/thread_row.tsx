/** One thread of the log as a row, which opens in place with its texts, files and traces. */

import { FoldRow } from "../../components/act/fold_row.tsx";
import { Age, Clock, State } from "../../components/basics.tsx";
import { Content, firstLine, Origin, To, Voice } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { momentText } from "../../components/time/times.ts";
import { useFold } from "../../components/act/folds.ts";
import type { Message } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { stateOf, type Thread } from "./threads.ts";

export function ThreadRow({ thread: { first, rest } }: { thread: Thread }) {
  const [open, turn] = useFold(`log/${first.message_id}`, false);
  const reply = first.kind === "ask" && first.reply ? firstLine(first.reply) : "";
  return (
    <li class="log-row">
      <FoldRow open={open} turn={turn}>
        <Age at={first.created_at} />
        <Parties message={first} />
        <span class="kind hint">{first.kind}</span>
        <span class="first clip" dir="auto">
          {visible(firstLine(first.snippet ?? first.text))}
          {reply && <span class="replied">↳ {visible(reply)}</span>}
        </span>
        <State of={stateOf(first)} />
      </FoldRow>
      {open && <Detail first={first} rest={rest} />}
    </li>
  );
}

function Parties(
  { message: { chain, from_peer_name, to_peer_name, kind, voice } }: { message: Message },
) {
  return (
    <span class="parties row clip">
      <bdi class="who">{visible(from_peer_name)}</bdi>
      <Voice of={voice} />
      <Origin of={chain} />
      <To sign={kind === "broadcast" ? "⇉" : "→"} />
      <bdi class="who">{visible(to_peer_name)}</bdi>
    </span>
  );
}

function Detail({ first, rest }: { first: Message; rest: readonly Message[] }) {
  const at = new Date(first.created_at);
  return (
    <div class="row-detail stack">
      <p class="hint">
        {first.circle && (
          <>
            Circle <bdi>{visible(first.circle)}</bdi>,{" "}
          </>
        )}
        <time dateTime={first.created_at} title={at.toLocaleString()}>{momentText(+at)}</time>,{" "}
        {first.kind === "ask" ? <a href={link("asks", first.message_id)}>the ask</a> : null}{" "}
        <code>{first.message_id}</code>
      </p>
      <Content message={first} traced />
      {rest.length > 0 && (
        <ol class="thread-steps rail stack tight" aria-label="The rest of the thread">
          {rest.map((message) => (
            <li key={message.delivery_id} class="row">
              <Clock at={message.created_at} />
              <Parties message={message} />
              <span class="kind hint">{message.kind}</span>
              <span class="first clip grow" dir="auto">{visible(firstLine(message.text))}</span>
              <State of={message.state} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

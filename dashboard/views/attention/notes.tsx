/** Unread notifications, and what a person has put off. */

import { useSwipe } from "../../components/act/swipe.ts";
import { Act, Age, State } from "../../components/basics.tsx";
import { RecordBoundary } from "../../components/act/record_boundary.tsx";
import { Icon } from "../../components/icons/icon.tsx";
import { Markdown } from "../../components/markdown.tsx";
import { Attachments, firstLine, PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call, errorText } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { bringBack, markRead } from "../../state/inbox_acts.ts";
import type { InboxItem } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { go, link } from "../../state/router.ts";
import { inbox, notify, snoozedItems } from "../../state/store.ts";
import { Later } from "./put_off.tsx";

export function Notes({ notes }: { notes: readonly InboxItem[] }) {
  return (
    <>
      {notes.length > 0 && (
        <header class="row">
          <h2>Unread</h2>
          {notes.length > 1 && (
            <Act class="quiet" run={() => markRead(notes)}>Mark all as read</Act>
          )}
        </header>
      )}
      <ul class="cards stack">
        {notes.map((item) => (
          <RecordBoundary key={item.item_id} of={item}>
            <Note item={item} />
          </RecordBoundary>
        ))}
      </ul>
    </>
  );
}

const report = (error: unknown) => notify(errorText(error));

export function Note({ item }: { item: InboxItem }) {
  const { from_peer_id } = item;
  const swipe = useSwipe({
    right: from_peer_id === null
      ? undefined
      : { label: "Reply", act: () => go(link("peers", from_peer_id)) },
    left: { label: "Mark as read", act: () => markRead([item]).catch(report) },
  });
  return (
    <li {...swipe} id={`card-${item.item_id}`} class="card" data-row tabIndex={-1}>
      <header>
        <PeerLink id={from_peer_id} name={item.from} />
        <span class="grow" />
        <Age at={item.created_at} suffix=" ago" />
      </header>
      {item.correlation_id && item.kind === "ask" && <MissedQuestion id={item.correlation_id} />}
      <Markdown text={item.text} />
      <Attachments of={item.attachments} />
      <div class="answer-tools cluster">
        <Act run={() => markRead([item])}>
          <Icon name="read" />Mark as read
        </Act>
        <Later item={item} />
        {item.correlation_id && (
          <a class="button quiet" data-open href={link("asks", item.correlation_id)}>Its ask</a>
        )}
        {from_peer_id && (
          <a class="button quiet" href={link("peers", from_peer_id)}>
            <Icon name="answer" />Reply
          </a>
        )}
      </div>
    </li>
  );
}

function MissedQuestion({ id }: { id: string }) {
  const { value } =
    useResource(`missed ${id}`, [], () => call(at.getAsk, { params: { id } })).value;
  return (
    <p class="where hint">
      This question is closed{value?.outcome && (
        <>
          : <State of={value.outcome} />
        </>
      )}
    </p>
  );
}

/** The items that a person has put off, folded. */
export function Snoozed() {
  const items = snoozedItems.value;
  if (items.length === 0) return null;
  return (
    <details class="context">
      <summary>{`${items.length} put off`}</summary>
      <ul class="cards stack">
        {items.map((item) => (
          <li key={item.item_id} class="card" data-row tabIndex={-1}>
            <header>
              <PeerLink id={item.from_peer_id} name={item.from} />
              <span class="grow" />
              {item.snoozed_until && (
                <span class="waits hint">
                  comes back <Age at={item.snoozed_until} future />
                </span>
              )}
            </header>
            <p dir="auto">{visible(firstLine(item.text))}</p>
            <div class="answer-tools cluster">
              <Act run={() => bringBack(item).then(inbox.refresh)}>Bring it back now</Act>
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}

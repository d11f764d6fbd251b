/** Attention on a wide page: the items as a list, and beside it the chosen one with its thread. */

import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import * as at from "protocol/generated/endpoints.ts";
import { waitSentence } from "protocol/derived/waits.ts";
import { isPermission } from "protocol/derived/waiting.ts";
import { Act, Age, State } from "../../components/basics.tsx";
import { RecordBoundary } from "../../components/act/record_boundary.tsx";
import { useSteadiness } from "../../components/act/steady.ts";
import { AgentMark } from "../../components/icons/icon.tsx";
import { Bubble, firstLine } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import { markRead } from "../../state/inbox_acts.ts";
import type { InboxItem, Peer } from "../../state/records.ts";
import { only, useResource } from "../../state/resource.ts";
import { filter, link, route } from "../../state/router.ts";
import { inbox, peersById } from "../../state/store.ts";
import { AskCard } from "./ask_card.tsx";
import { Note } from "./notes.tsx";
import { idOf, type ShownQuestion } from "./order.ts";
import { useQuestions } from "./questions.tsx";
import { WaitingAgent } from "./waiting_agent.tsx";

/** Maximum earlier messages beside an item. */
const THREAD_MAX = "10";

/** A row of the list, and the card that it opens. */
interface Entry {
  readonly id: string;
  readonly of: unknown;
  readonly peer_id: string | null;
  readonly name: string;
  readonly title: string;
  readonly since: string | null;
  readonly state?: string | undefined;
  readonly card: VNode;
}

export function Panes(
  { notes, peers }: { notes: readonly InboxItem[]; peers: readonly Peer[] },
) {
  const list = useRef<HTMLUListElement>(null), pane = useRef<HTMLUListElement>(null);
  const { shown, sorter } = useQuestions(list);
  useSteadiness(pane);
  const groups = [
    { title: "Waiting for your answer", act: sorter, entries: shown.map(entryOfQuestion), list },
    { title: "Waiting at their terminal", entries: peers.map(entryOfPeer) },
    {
      title: "Unread",
      act: notes.length > 1 && (
        <Act class="quiet" run={() => markRead(notes)}>
          Mark all as read
        </Act>
      ),
      entries: notes.map(entryOfNote),
    },
  ];
  const chosen = useChosen(groups.flatMap(({ entries }) => entries));
  return (
    <div class="panes">
      <div class="stack loose">
        {groups.map(({ title, act, entries, list }) => (
          <section key={title} class="stack">
            {entries.length > 0 && (
              <header>
                <h2>{title}</h2>
                {act}
              </header>
            )}
            <ul class="cards" ref={list ?? null}>
              {entries.map((entry) => (
                <Row key={entry.id} entry={entry} is_chosen={entry.id === chosen?.id} />
              ))}
            </ul>
          </section>
        ))}
      </div>
      <section class="pane stack loose" aria-label="The chosen item" data-pane>
        <ul ref={pane}>
          {chosen && <RecordBoundary key={chosen.id} of={chosen.of}>{chosen.card}</RecordBoundary>}
        </ul>
        {chosen?.peer_id && (
          <Thread key={chosen.id} peer_id={chosen.peer_id} before={chosen.since} />
        )}
      </section>
    </div>
  );
}

/** The entry in the address; without it the one that took its place in the list. */
function useChosen(entries: readonly Entry[]): Entry | undefined {
  const last = useRef(0);
  const named = entries.findIndex(({ id }) => id === route.value.query.get("at"));
  const index = named >= 0 ? named : Math.min(last.current, entries.length - 1);
  last.current = Math.max(index, 0);
  return entries[index];
}

function Row({ entry, is_chosen }: { entry: Entry; is_chosen: boolean }) {
  const { id, peer_id, name, title, since, state } = entry;
  const choose = () => filter({ at: id });
  return (
    <li>
      <a
        class="row list-row"
        data-row
        data-card={`card-${id}`}
        href={link("attention", "", { at: id })}
        aria-current={is_chosen ? "true" : undefined}
        onFocus={choose}
        onClick={(event) => {
          event.preventDefault();
          choose();
        }}
      >
        <AgentMark backend={peersById.value.get(peer_id ?? "")?.backend ?? null} />
        <bdi class="who clip">{visible(name)}</bdi>
        {state && <State of={state} tone="warn" />}
        <span class="grow" />
        {since && <Age at={since} />}
        <span class="row-title clip hint" dir="auto">{visible(title)}</span>
      </a>
    </li>
  );
}

function entryOfQuestion(shown: ShownQuestion): Entry {
  const { ask } = shown.waiting;
  const { question } = ask;
  return {
    id: idOf(shown),
    of: ask,
    peer_id: ask.from_peer_id,
    name: ask.from_peer_name,
    title: question?.act?.title ?? firstLine(ask.text),
    since: ask.created_at,
    state: isPermission(question) ? "permission" : question?.blocking ? "blocked" : undefined,
    card: <AskCard shown={shown} />,
  };
}

function entryOfPeer(peer: Peer): Entry {
  const { peer_id, name, waits_for, last_seen, description } = peer;
  const { since = last_seen, kind: state = "awaiting_input" } = waits_for ?? {};
  const title = waitSentence(peer) ?? description ?? "";
  const card = <WaitingAgent peer={peer} />;
  return { id: peer_id, of: peer, peer_id, name, title, since, state, card };
}

function entryOfNote(item: InboxItem): Entry {
  const { item_id: id, from_peer_id: peer_id, from: name, created_at: since } = item;
  const title = firstLine(item.text);
  return { id, of: item, peer_id, name, title, since, card: <Note item={item} /> };
}

/** The last messages between the person and the sender, from before the item. */
function Thread({ peer_id, before }: { peer_id: string; before: string | null }) {
  const person = inbox.value.value?.human_peer_id;
  const query = { peer: peer_id, limit: THREAD_MAX, ...(person && { with: person }) };
  const load = () => call(at.listMessages, { query });
  const resource = only(useResource(`thread ${peer_id}`, ["messages"], load), [peer_id]);
  const messages = (resource.value.value?.messages ?? [])
    .filter(({ created_at }) => before === null || created_at < before)
    .toReversed();
  if (!person || messages.length === 0) return null;
  return (
    <>
      <h2>Earlier between you</h2>
      <ul class="bubbles stack">
        {messages.map((message) => (
          <Bubble
            key={message.message_id}
            message={message}
            to_peer={message.from_peer_id !== peer_id}
          />
        ))}
      </ul>
    </>
  );
}

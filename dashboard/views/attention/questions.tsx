/** The questions to the human. They do not move while a person looks at them. */

import { type Signal, signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isPermission, type WaitingAsk } from "protocol/derived/waiting.ts";
import { useSteadiness } from "../../components/act/steady.ts";
import { RecordBoundary } from "../../components/act/record_boundary.tsx";
import { closedAsks, hasDraft, lateAnswers, pending } from "../../state/answering.ts";
import { snoozedItems, waitingAsks } from "../../state/store.ts";
import { AskCard } from "./ask_card.tsx";
import { arrange, countMisplaced, idOf, type ShownQuestion } from "./order.ts";

/** Kept longer than the view: a draft may wait for its question. */
export const shownQuestions = signal<readonly ShownQuestion[]>([]);

/** The questions in their order, and a button that sorts them if that order is not by urgency. */
export function useQuestions(list: RefObject<HTMLUListElement | null>) {
  const [, setLooks] = useState(0);
  const { shown, waiting } = useShown(list, waitingAsks.value, shownQuestions);
  const urgent = countMisplaced(shown, waiting);
  const sort = () => {
    shownQuestions.value = [];
    setLooks((looks) => looks + 1);
  };
  const sorter = urgent > 0 && (
    <button type="button" onClick={sort}>
      {urgent === 1 ? "1 below is more urgent" : `${urgent} below are more urgent`}: sort
    </button>
  );
  return { shown, sorter };
}

export function Questions() {
  const list = useRef<HTMLUListElement>(null);
  const { shown, sorter } = useQuestions(list);
  return (
    <section class="stack loose">
      {shown.length > 0 && (
        <header class="row">
          <h2>Waiting for your answer</h2>
          {sorter}
        </header>
      )}
      <Cards list={list} shown={shown} />
    </section>
  );
}

/** The permissions that one peer waits for, beside its conversation. */
export function PeerPermissions({ peer_id }: { peer_id: string }) {
  const list = useRef<HTMLUListElement>(null);
  const remembered = useSignal<readonly ShownQuestion[]>([]);
  const open = waitingAsks.value.filter(({ ask }) =>
    ask.from_peer_id === peer_id && isPermission(ask.question)
  );
  const { shown } = useShown(list, open, remembered);
  return (
    <section>
      {shown.length > 0 && <h2>Waits for your permission</h2>}
      <Cards list={list} shown={shown} />
    </section>
  );
}

function Cards(
  { list, shown }: { list: RefObject<HTMLUListElement | null>; shown: readonly ShownQuestion[] },
) {
  return (
    <ul class="cards stack" ref={list}>
      {shown.map((question) => (
        <RecordBoundary key={idOf(question)} of={question.waiting.ask}>
          <AskCard shown={question} />
        </RecordBoundary>
      ))}
    </ul>
  );
}

/** The questions in their order on the page. `remembered` has the order of the last time. */
function useShown(
  list: RefObject<HTMLUListElement | null>,
  open: readonly WaitingAsk[],
  remembered: Signal<readonly ShownQuestion[]>,
) {
  const waiting = open.filter(({ ask }) => !closedAsks.value.has(ask.correlation_id));
  const put_off = new Set(snoozedItems.value.map(({ correlation_id }) => correlation_id));
  const before = remembered.peek().filter((question) => !closedAsks.value.has(idOf(question)));
  const shown = arrange(before, waiting, {
    attended: isAttended(list.current, before),
    isKept: (id) =>
      !put_off.has(id) &&
      (lateAnswers.value.has(id) || pending.value.has(id) || hasDraft(id) || holdsFocus(id)),
  }).map(withOwnAnswer);
  useLayoutEffect(() => {
    if (!areSame(shown, remembered.peek())) remembered.value = shown;
  });
  useSteadiness(list);
  return { shown, waiting };
}

/** A running answer has not ended its question; an answer that came too late has. */
function withOwnAnswer(shown: ShownQuestion): ShownQuestion {
  const id = idOf(shown);
  const ended = lateAnswers.value.has(id) || (shown.ended && !pending.value.has(id));
  return ended === shown.ended ? shown : { waiting: shown.waiting, ended };
}

function areSame(some: readonly ShownQuestion[], others: readonly ShownQuestion[]): boolean {
  return some.length === others.length && some.every(({ waiting, ended }, index) => {
    const other = others[index];
    return other !== undefined && waiting === other.waiting && ended === other.ended;
  });
}

/** True if a person may be about to act on one of the questions. */
function isAttended(list: HTMLElement | null, shown: readonly ShownQuestion[]): boolean {
  if (shown.some((question) => hasDraft(idOf(question)))) return true;
  const place = list?.closest(".panes") ?? list?.parentElement ?? null;
  return place !== null && (place.matches(":hover") || place.contains(document.activeElement));
}

function holdsFocus(id: string): boolean {
  const own = `#card-${CSS.escape(id)}, [data-card="card-${CSS.escape(id)}"]`;
  return (document.activeElement?.closest(own) ?? null) !== null;
}

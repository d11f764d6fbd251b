/** A question with everything that a person needs to answer it. */

import { useSwipe } from "../../components/act/swipe.ts";
import { Age, State } from "../../components/basics.tsx";
import { AgentMark } from "../../components/icons/icon.tsx";
import { Exact, Markdown } from "../../components/markdown.tsx";
import { Attachments, PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import type { Ask, Peer } from "../../state/records.ts";
import { peersById } from "../../state/store.ts";
import { isPermission } from "protocol/derived/waiting.ts";
import { ActView, useSight } from "./act_view.tsx";
import { Answer } from "./answer.tsx";
import { AskerContext } from "./context.tsx";
import type { ShownQuestion } from "./order.ts";
import { Remaining } from "./permission.tsx";

export function AskCard({ shown }: { shown: ShownQuestion }) {
  const { waiting: { item, ask, behind }, ended } = shown;
  const { question } = ask;
  const act = question?.act;
  const sight = useSight(act);
  const peer = ask.from_peer_id === null ? undefined : peersById.value.get(ask.from_peer_id);
  const swipe = useSwipe(ended ? {} : { right: { label: "Answer", act: showAnswer } });
  return (
    <li
      {...swipe}
      id={`card-${ask.correlation_id}`}
      class={`card ${ended ? "ended" : question?.blocking ? "blocking" : ""}`}
      data-row
      tabIndex={-1}
    >
      <header>
        {peer && <AgentMark backend={peer.backend} />}
        <PeerLink id={ask.from_peer_id} name={ask.from_peer_name} />
        {ask.circle && <span class="chip">{visible(ask.circle)}</span>}
        {isPermission(question)
          ? <State of="permission" tone="warn" />
          : question?.blocking && <State of="blocked" />}
        <span class="grow" />
        {!ended && <Waits ask={ask} />}
      </header>
      {act && (
        <h3 class="title">
          <bdi>{visible(act.title)}</bdi>
        </h3>
      )}
      {peer && <Where peer={peer} shown={act ? act.command && act.folder : null} />}
      {!ended && behind.names.length > 0 && (
        <p class="reason">
          Waiting behind this question: <bdi>{visible(listNames(behind.names))}</bdi>
          {behind.since < ask.created_at && (
            <>
              , the longest for <Age at={behind.since} />
            </>
          )}
        </p>
      )}
      {act ? <ActView ask={ask} act={act} sight={sight} /> : (
        <>
          <Wording ask={ask} />
          {question?.metadata && <Details of={question.metadata} />}
          <Attachments of={ask.attachments} />
        </>
      )}
      {peer && !ended && <AskerContext peer={peer} question_id={ask.correlation_id} />}
      <Answer ask={ask} item={item} ended={ended} isSeen={sight.isSeen} />
    </li>
  );
}

/** Opens the field of the answer; options are only shown, because a swipe chooses nothing. */
function showAnswer(row: HTMLElement): void {
  const field = row.querySelector<HTMLElement>("textarea[data-answer]");
  (field ?? row).focus({ preventScroll: true });
  (field ?? row.querySelector(".options") ?? row).scrollIntoView({ block: "center" });
}

function Waits({ ask: { question, created_at, expires_at } }: { ask: Ask }) {
  return (
    <span class="waits hint">
      waits <Age at={created_at} />
      {expires_at && isPermission(question) && (
        <>
          , <Remaining until={expires_at} />
        </>
      )}
      {expires_at && !isPermission(question) && (
        <>
          , expires <Age at={expires_at} future />
        </>
      )}
    </span>
  );
}

/**
 * The text of the question. Text that a person approves or chooses is shown as it was written:
 * Markdown would show `rm *.bak *.tmp` without its stars.
 */
function Wording({ ask: { text, question } }: { ask: Ask }) {
  const prompt = question?.prompt ?? null;
  const is_choice = question?.kind === "choice" || isPermission(question);
  if (!is_choice) {
    return (
      <>
        <Markdown text={text} />
        {prompt !== null && prompt !== text && <Markdown text={prompt} />}
      </>
    );
  }
  const is_exact = prompt === null || prompt === text || isPermission(question);
  return (
    <>
      {is_exact ? <Exact text={text} /> : <Markdown text={text} />}
      {prompt !== null && prompt !== text && <Exact text={prompt} />}
    </>
  );
}

/** At most three names, and the number of others. */
function listNames(names: readonly string[]): string {
  const more = names.length - 3;
  return names.slice(0, 3).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** The asker's folder, unless it is `shown` elsewhere, and description. */
export function Where({ peer, shown = null }: { peer: Peer; shown?: string | null }) {
  const { backend, model, path, description } = peer;
  const facts = [backend, model, path === shown ? null : path].filter((fact) => fact !== null);
  return (
    <p class="where hint">
      <bdi>{visible(facts.join(" · "))}</bdi>
      {description && <span class="task hint">{visible(description)}</span>}
    </p>
  );
}

/** The asker's data about the question, such as the tool. */
function Details({ of }: { of: Record<string, unknown> }) {
  return (
    <dl class="details inset">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{visible(name.replaceAll("_", " "))}</dt>
          <dd>
            <pre>{visible(typeof value === "string" ? value : JSON.stringify(value, null, 2))}</pre>
          </dd>
        </div>
      ))}
    </dl>
  );
}

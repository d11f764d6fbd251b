/** The answer to a question: its options, a text, or that it was closed elsewhere. */

import { useState } from "preact/hooks";
import { isTooSoon, moving } from "../../components/act/steady.ts";
import { useSubmit } from "../../components/act/submit.ts";
import { Failed } from "../../components/basics.tsx";
import { isSend } from "../../components/compose.tsx";
import { visible } from "../../components/text/visible.tsx";
import { announce } from "../../state/announce.ts";
import { answerDraft, giveAnswer, lateAnswers, type Reply } from "../../state/answering.ts";
import { draftOf, keepDraft } from "../../state/drafts.ts";
import type { Ask } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { EndedQuestion } from "./ended.tsx";

const TOO_SOON = "The questions have just moved. Press again.";

/** The written text, and the sending of an answer. */
function useAnswer(ask: Ask) {
  const { correlation_id } = ask;
  const { busy, error, submit, renew } = useSubmit();
  const [text, setText] = useState(() => draftOf(answerDraft(correlation_id)));
  const edit = (next: string) => {
    setText(next);
    renew();
    keepDraft(answerDraft(correlation_id), next);
  };
  const give = (reply: Reply, said: string) =>
    submit(async (headers) => {
      const done = await giveAnswer(ask, reply, headers);
      announce(done ? said : "Too late: the question was closed before.");
    });
  const card = `card-${correlation_id}`;
  const idle = busy || moving.value.has(card);
  /** A click that is not meant for another card. */
  const press = (reply: Reply, said: string) => (event: MouseEvent) => {
    if (isTooSoon(event, card)) announce(TOO_SOON);
    else give(reply, said);
  };
  return { text, edit, idle, give, press, error };
}

type AnswerState = ReturnType<typeof useAnswer>;

export function Answer({ ask, ended }: { ask: Ask; ended: boolean }) {
  const { question, correlation_id } = ask;
  const answer = useAnswer(ask);
  const { text, idle, press, error } = answer;
  const takes_text = !question || question.kind === "text";
  return (
    <div class="answer">
      {!ended && question && question.options && question.options.length > 0 && (
        <div class="options">
          {question.options.map(({ id, title }) => (
            <button
              type="button"
              key={id}
              data-answer
              aria-disabled={idle}
              onClick={press({ option_id: id }, `Answered: ${title || id}`)}
            >
              <bdi>{visible(title || id)}</bdi>
            </button>
          ))}
        </div>
      )}
      {takes_text && (!ended || text !== "") && (
        <AnswerText ask={ask} ended={ended} answer={answer} />
      )}
      {ended && (
        <EndedQuestion
          ask={ask}
          text={takes_text ? text : ""}
          late={lateAnswers.value.get(correlation_id)}
        />
      )}
      {!ended && (
        <div class="answer-tools">
          {(!question || question.kind === "acknowledge") && (
            <button
              type="button"
              class={question ? "primary" : "quiet"}
              data-answer={question ? true : undefined}
              aria-disabled={idle}
              onClick={press({}, "Acknowledged")}
            >
              Acknowledge
            </button>
          )}
          <a class="button quiet" data-open href={link("asks", correlation_id)}>Details</a>
        </div>
      )}
      {error !== undefined && <Failed error={error} />}
    </div>
  );
}

function AnswerText(
  { ask, ended, answer: { text, edit, idle, give, press } }: {
    ask: Ask;
    ended: boolean;
    answer: AnswerState;
  },
) {
  const written = text.trim() !== "";
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isSend(event)) return;
    event.preventDefault();
    if (ended) announce("The question is closed. Your text was not sent.");
    else if (written) give({ text }, "Answered");
  };
  return (
    <div class="answer-line">
      <textarea
        rows={1}
        value={text}
        data-answer
        aria-label={ended ? `Your text to ${ask.from_peer_name}` : `Answer ${ask.from_peer_name}`}
        placeholder="Your answer…"
        onInput={(event) => edit(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {!ended && (
        <button
          type="button"
          class="primary"
          aria-disabled={idle || !written}
          onClick={written ? press({ text }, "Answered") : undefined}
        >
          Answer
        </button>
      )}
      {!ended && written && (
        <button
          type="button"
          aria-disabled={idle}
          onClick={press({ text, declined: true }, "Declined")}
        >
          Decline
        </button>
      )}
    </div>
  );
}

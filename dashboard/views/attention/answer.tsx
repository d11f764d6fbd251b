/** The answer to a question: its options, a text, or how it was closed elsewhere. */

import { useEffect } from "preact/hooks";
import { useSubmit } from "../../components/act/submit.ts";
import { Age, Failed } from "../../components/basics.tsx";
import { isSend } from "../../components/compose.tsx";
import { visible } from "../../components/text/visible.tsx";
import { announce } from "../../state/announce.ts";
import { askAnew, finish, isOwn, lateAnswers } from "../../state/answering.ts";
import type { Ask, InboxItem } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { Copy } from "../../components/copy.tsx";
import { call, isRefusal } from "../../state/calls.ts";
import { endingOf } from "protocol/derived/endings.ts";
import * as at from "protocol/generated/endpoints.ts";
import { useResource } from "../../state/resource.ts";
import { Later } from "./put_off.tsx";
import { PermissionOptions } from "./permission.tsx";
import { type AnswerState, useAnswer } from "./use_answer.ts";

/** `isSeen`: true if all was shown of the act that a permission permits. */
export function Answer(
  { ask, item, ended, isSeen }: {
    ask: Ask;
    item: InboxItem;
    ended: boolean;
    isSeen: boolean;
  },
) {
  const { question, correlation_id } = ask;
  const act = question?.act;
  const answer = useAnswer(ask);
  const { text, idle, press, error } = answer;
  const takes_text = !question || question.kind === "text";
  return (
    <div class="stack">
      {!ended && act && <PermissionOptions ask={ask} act={act} answer={answer} isSeen={isSeen} />}
      {!ended && !act && question && question.options && question.options.length > 0 && (
        <Options options={question.options} answer={answer} />
      )}
      {takes_text && (!ended || text !== "") && (
        <AnswerText ask={ask} ended={ended} answer={answer} />
      )}
      {ended && (
        <EndedQuestion
          ask={ask}
          text={takes_text || act ? text : ""}
          late={lateAnswers.value.get(correlation_id)}
        />
      )}
      {!ended && (
        <div class="answer-tools cluster">
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
          {!question?.blocking && <Later item={item} />}
          <a class="button quiet" data-open href={link("asks", correlation_id)}>Details</a>
        </div>
      )}
      {error !== undefined && <Failed error={error} />}
    </div>
  );
}

function Options(
  { options, answer: { idle, press } }: {
    options: NonNullable<NonNullable<Ask["question"]>["options"]>;
    answer: AnswerState;
  },
) {
  return (
    <div class="options cluster">
      {options.map(({ id, title }) => (
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
    <div class="row end">
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

/** `late`: the ask as it was when the answer of this page came too late. */
function EndedQuestion(
  { ask, text, late }: { ask: Ask; text: string; late: Ask | undefined },
) {
  const { correlation_id, from_peer_name } = ask;
  const load = () => call(at.getAsk, { params: { id: correlation_id } });
  const resource = useResource(`ended ${correlation_id}`, ["asks"], load);
  const { busy, error, submit } = useSubmit();
  const now = late ?? resource.value.value;
  const own = now !== undefined && isOwn(now);
  useEffect(() => {
    if (own) finish(correlation_id);
  }, [own]);
  const again = () =>
    submit(async (headers) => {
      await askAnew(ask, text, headers);
      announce(`Sent to ${from_peer_name} as a new ask`);
    });
  return (
    <>
      <p class="ending">
        {now
          ? (
            <>
              <bdi>{visible(endingOf(now))}</bdi>{" "}
              {now.closed_at && <Age at={now.closed_at} suffix=" ago" />}
            </>
          )
          : isRefusal(resource.error.value, "unknown_ask")
          ? "The daemon does not know this question any more."
          : "The question is closed."}
        {late ? " Your answer was not used." : text.trim() && " Your text was not sent."}
      </p>
      <div class="answer-tools cluster">
        {text.trim() && (
          <>
            <button type="button" aria-disabled={busy} onClick={again}>
              Send it as a new ask
            </button>
            <Copy text={text} label="Copy your text" />
          </>
        )}
        <button type="button" class="quiet" onClick={() => finish(correlation_id)}>
          {text.trim() ? "Discard" : "Close"}
        </button>
      </div>
      {error !== undefined && <Failed error={error} />}
    </>
  );
}

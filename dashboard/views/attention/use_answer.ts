/** The text that a person writes as an answer, and the sending of answers. */

import { useState } from "preact/hooks";
import { isTooSoon, moving } from "../../components/act/steady.ts";
import { useSubmit } from "../../components/act/submit.ts";
import { announce } from "../../state/announce.ts";
import { answerDraft, draftOf, giveAnswer, keepDraft, type Reply } from "../../state/answering.ts";
import type { Ask } from "../../state/records.ts";

const TOO_SOON = "The questions have just moved. Press again.";

/** The written text, and the sending of an answer. */
export function useAnswer(ask: Ask) {
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

export type AnswerState = ReturnType<typeof useAnswer>;

/** The answers to a permission: allow, deny, and deny with a reason that the agent reads. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ALLOW, DENY } from "protocol/derived/waiting.ts";
import { Icon, type IconName } from "../../components/icons/icon.tsx";
import { isSend } from "../../components/compose.tsx";
import { visible } from "../../components/text/visible.tsx";
import { announce } from "../../state/announce.ts";
import { currentTime } from "../../state/clock.ts";
import type { Ask } from "../../state/records.ts";
import type { Act } from "./act_view.tsx";
import type { AnswerState } from "./use_answer.ts";

const NOT_SEEN = "Show all of it first. Then you can allow it.";

interface PermissionProps {
  readonly ask: Ask;
  readonly act: Act;
  readonly answer: AnswerState;
  /** True if all of the act was shown. */
  readonly isSeen: boolean;
}

export function PermissionOptions({ ask, act, answer, isSeen }: PermissionProps) {
  const { idle, press, text } = answer;
  const [isWriting, setWriting] = useState(text !== "");
  const options = ask.question?.options ?? [];
  const denial = options.find(({ id }) => id === DENY);
  const first = options.find(({ id }) => id === ALLOW);
  const allow = ({ id, title }: Option) => (event: MouseEvent) => {
    if (isSeen) press({ option_id: id }, `Answered: ${title || id}`)(event);
    else announce(NOT_SEEN);
  };
  const permitting = (option: Option, digit?: string) => (
    <Choice
      key={option.id}
      digit={digit}
      tone={digit ? "primary" : undefined}
      icon={digit ? "allow" : undefined}
      idle={idle || !isSeen}
      press={allow(option)}
    >
      {option.title || option.id}
    </Choice>
  );
  return (
    <>
      <div class="options cluster">
        {first && permitting(first, "1")}
        {denial && (
          <Choice
            digit="2"
            tone="danger"
            icon="deny"
            idle={idle}
            press={press({ option_id: DENY }, "Denied")}
          >
            {denial.title || DENY}
          </Choice>
        )}
        {denial && act.takes_reason && (
          <Choice
            digit="3"
            tone="danger"
            press={() => setWriting(!isWriting)}
            opens={isWriting}
          >
            Deny and say why
          </Choice>
        )}
        {options.filter((option) => option !== first && option !== denial)
          .map((option) => permitting(option))}
      </div>
      {!isSeen && <p class="hint">{NOT_SEEN}</p>}
      {denial && !act.takes_reason && (
        <p class="hint">This agent takes no reason: write to it after you have denied.</p>
      )}
      {isWriting && <Reason ask={ask} answer={answer} />}
    </>
  );
}

type Option = NonNullable<NonNullable<Ask["question"]>["options"]>[number];

/** A button that a key presses, too, while its row has the focus. `opens`: it unfolds a part. */
function Choice(
  { digit, tone, icon, idle = false, opens, press, children }: {
    digit?: string | undefined;
    tone: "primary" | "danger" | undefined;
    icon?: IconName | undefined;
    idle?: boolean;
    opens?: boolean;
    press: (event: MouseEvent) => void;
    children: string;
  },
) {
  return (
    <button
      type="button"
      class={tone}
      data-answer
      data-key={digit}
      aria-keyshortcuts={digit}
      aria-disabled={idle}
      aria-expanded={opens}
      onClick={press}
    >
      {icon && <Icon name={icon} />}
      <bdi>{visible(children)}</bdi>
      {digit && <kbd aria-hidden="true">{digit}</kbd>}
    </button>
  );
}

function Reason(
  { ask, answer: { text, edit, idle, give, press } }: Pick<PermissionProps, "ask" | "answer">,
) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const reply = { option_id: DENY, message: text };
  const written = text.trim() !== "";
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isSend(event)) return;
    event.preventDefault();
    if (written && !idle) give(reply, "Denied");
  };
  return (
    <div class="row end">
      <textarea
        ref={field}
        rows={1}
        value={text}
        aria-label={`Why ${ask.from_peer_name} may not do it`}
        placeholder="What it should do instead…"
        onInput={(event) => edit(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <button
        type="button"
        class="danger"
        aria-disabled={idle || !written}
        onClick={written ? press(reply, "Denied") : undefined}
      >
        Deny
      </button>
    </div>
  );
}

/** The time in which a person can answer, and the effect of no answer. */
export function Remaining({ until }: { until: string }) {
  const [now, setNow] = useState(currentTime);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(currentTime()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));
  const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return (
    <>
      denied in <time class="age" role="timer" dateTime={until}>{time}</time> without an answer
    </>
  );
}

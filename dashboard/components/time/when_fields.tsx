/** The fields for the time of an action, with their meaning below them. */

import { now } from "../../state/store.ts";
import { Choices } from "../basics.tsx";
import { NextFires } from "./fires.tsx";
import { momentText, TIMEZONE } from "./times.ts";
import { type Mode, nextHour, readWhen, type WhenText } from "./when.ts";
import { currentTime } from "../../state/clock.ts";

export function emptyWhen(mode: Mode): WhenText {
  return {
    mode,
    span: "10m",
    local: nextHour(currentTime()),
    cron: "0 9 * * 1-5",
    timezone: TIMEZONE,
  };
}

const MODES: Readonly<Record<Mode, string>> = {
  now: "Now",
  in: "After a while",
  at: "At a time",
  recurring: "Again and again",
};

const PATTERNS = [
  ["0 9 * * 1-5", "each weekday at 09:00"],
  ["0 3 * * *", "each day at 03:00"],
  ["@hourly", "each hour"],
  ["*/15 * * * *", "each quarter of an hour"],
  ["0 9 * * 1", "each Monday at 09:00"],
] as const;

export function WhenFields(
  { when, change, modes }: {
    when: WhenText;
    change: (when: WhenText) => void;
    modes: readonly Mode[];
  },
) {
  const set = (name: keyof WhenText) => ({ currentTarget: { value } }: FieldEvent) =>
    change({ ...when, [name]: value });
  return (
    <fieldset>
      <legend>When</legend>
      <Choices<Mode>
        label="When"
        chosen={when.mode}
        choose={(mode) => change({ ...when, mode })}
        options={modes.map((mode) => [mode, MODES[mode]] as const)}
      />
      {when.mode === "in" && (
        <label>
          After
          <input value={when.span} placeholder="10m, 2h, 1h30m, 2d" onInput={set("span")} />
        </label>
      )}
      {when.mode === "at" && (
        <label>
          Day and time, in {TIMEZONE}
          <input type="datetime-local" value={when.local} onInput={set("local")} />
        </label>
      )}
      {when.mode === "recurring" && (
        <div class="tiles fit">
          <label>
            Cron pattern
            <input value={when.cron} list="cron-patterns" onInput={set("cron")} />
          </label>
          <datalist id="cron-patterns">
            {PATTERNS.map(([cron, text]) => <option key={cron} value={cron} label={text} />)}
          </datalist>
          <label>
            Time zone
            <input value={when.timezone} list="timezones" onInput={set("timezone")} />
          </label>
          <datalist id="timezones">
            {[...new Set(["UTC", TIMEZONE])].map((zone) => <option key={zone} value={zone} />)}
          </datalist>
        </div>
      )}
      <Meaning when={when} />
    </fieldset>
  );
}

interface FieldEvent {
  readonly currentTarget: { readonly value: string };
}

function Meaning({ when }: { when: WhenText }) {
  const read = readWhen(when, now.value);
  switch (read.kind) {
    case "now":
      return null;
    case "invalid":
      return <p class="reason">{read.problem}</p>;
    case "once":
      return <p class="hint">{`On ${momentText(read.at)}.`}</p>;
    case "recurring":
      return <NextFires cron={read.cron} timezone={read.timezone} />;
  }
}

/** One schedule in full. */

import { Act, Age, State } from "../../components/basics.tsx";
import { NextFires } from "../../components/time/fires.tsx";
import { Markdown } from "../../components/markdown.tsx";
import { To } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Schedule } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { nameOfPeer } from "../../state/store.ts";

/** The recipient is looked up when the schedule fires, so it may be a name. */
export function Recipient({ schedule: { to_peer } }: { schedule: Schedule }) {
  return <bdi class="who">{visible(nameOfPeer(to_peer))}</bdi>;
}

const DIGEST_HINT = "A digest of the time since its last message follows the text";

export function ScheduleCard({ schedule, refresh }: { schedule: Schedule; refresh: () => void }) {
  const { schedule_id, state, cron, next_fire_at } = schedule;
  const timezone = schedule.timezone ?? "UTC";
  const cancel = () => call(at.cancelSchedule, { params: { id: schedule_id } }).then(refresh);
  return (
    <li class="card" data-row tabIndex={-1}>
      <header>
        <bdi class="who">{visible(schedule.from_peer_name)}</bdi>
        <To />
        <Recipient schedule={schedule} />
        <span class="kind hint">{schedule.kind}</span>
        {schedule.digest && <span class="chip" title={DIGEST_HINT}>with a digest</span>}
        <State of={state} />
        <span class="grow" />
        {next_fire_at && (
          <span>
            fires <Age at={next_fire_at} future />
          </span>
        )}
        {state === "active" && (
          <Act run={cancel} class="danger" confirm={lossOf(schedule)}>Cancel it</Act>
        )}
      </header>
      <Markdown text={schedule.text} />
      <Last schedule={schedule} />
      {cron && (
        <p>
          <code>{cron}</code> <span class="hint">{timezone}</span>
        </p>
      )}
      {cron && state === "active" && (
        <NextFires cron={cron} timezone={timezone} first={next_fire_at} />
      )}
    </li>
  );
}

function lossOf({ cron }: Schedule): string {
  return cron === null ? "The message is not sent." : "The message is not sent again.";
}

function Last({ schedule }: { schedule: Schedule }) {
  const { last_fired_at, last_error, last_message_id, kind } = schedule;
  return (
    <p class="hint">
      {last_fired_at
        ? (
          <>
            Last fired <Age at={last_fired_at} suffix=" ago" />
          </>
        )
        : "Not fired yet"}
      {kind === "ask" && last_message_id && (
        <>
          {": "}
          <a href={link("asks", last_message_id)}>the ask</a>
        </>
      )}
      {last_error && <span class="reason">{visible(` ${last_error.replaceAll("_", " ")}`)}</span>}
    </p>
  );
}

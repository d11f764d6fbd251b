/** The calendar as a list: a section for each day, a row for each fire. */

import { useState } from "preact/hooks";
import { FoldRow } from "../../components/act/fold_row.tsx";
import { Age } from "../../components/basics.tsx";
import { firstLine, To } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { now } from "../../state/store.ts";
import { type Day, dayText, type Fire } from "./agenda.ts";
import { Recipient, ScheduleCard } from "./card.tsx";

export function Agenda({ days, refresh }: { days: readonly Day[]; refresh: () => void }) {
  return (
    <div class="agenda">
      {days.map(({ begins, fires }) => (
        <section key={begins} class="group stack">
          <h2 class="row">
            {dayText(begins, now.value)} <span class="count hint">{fires.length}</span>
          </h2>
          <ul class="list">
            {fires.map((fire) => (
              <FireRow
                key={`${fire.schedule.schedule_id} ${fire.at}`}
                fire={fire}
                refresh={refresh}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function FireRow(
  { fire: { at, schedule, repeated }, refresh }: { fire: Fire; refresh: () => void },
) {
  const [open, setOpen] = useState(false);
  const instant = new Date(at).toISOString();
  return (
    <li class={`log-row ${repeated ? "repeated" : ""}`}>
      <FoldRow open={open} turn={() => setOpen(!open)}>
        <time dateTime={instant}>
          {new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}
        </time>
        <span class="parties row clip">
          <bdi class="who">{visible(schedule.from_peer_name)}</bdi>
          <To />
          <Recipient schedule={schedule} />
        </span>
        <span class="kind hint">{schedule.kind}</span>
        <span class="first clip" dir="auto">
          {schedule.digest && <span class="chip">digest</span>} {visible(firstLine(schedule.text))}
        </span>
        <span class="fire-when hint row">
          {schedule.cron && <code>{schedule.cron}</code>}
          <Age at={instant} future />
        </span>
      </FoldRow>
      {open && (
        <ul class="row-detail stack">
          <ScheduleCard schedule={schedule} refresh={refresh} />
        </ul>
      )}
    </li>
  );
}

/** Schedules: messages for later by day; creating one, cancelling one. */

import { useState } from "preact/hooks";
import { Choices, Empty, ResourceView } from "../components/basics.tsx";
import { Icon } from "../components/icons/icon.tsx";
import { call } from "../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Schedule } from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { filter, preferred } from "../state/router.ts";
import { humanName } from "../state/session.ts";
import { livePeers, now } from "../state/store.ts";
import { agendaOf } from "./schedules/agenda.ts";
import { Agenda } from "./schedules/agenda_list.tsx";
import { ScheduleCard } from "./schedules/card.tsx";
import { CreateSchedule } from "./schedules/create.tsx";
import { Subscriptions } from "./schedules/subscriptions.tsx";

type Tab = "calendar" | "all" | "ended" | "when";

export function Schedules() {
  const load = () => call(at.listSchedules, { query: {} });
  const resource = useResource("schedules", ["schedules"], load, { kept: true });
  const [creating, setCreating] = useState(false);
  const created = () => (setCreating(false), resource.refresh());
  const tab = toTab(preferred("tab"));
  return (
    <>
      <div class="toolbar">
        <Choices<Tab>
          label="Schedules"
          chosen={tab}
          choose={(next) => filter({ tab: next })}
          options={[["calendar", "Calendar"], ["all", "Active"], ["ended", "Ended"], [
            "when",
            "When",
          ]]}
        />
        <span class="grow" />
        <button
          type="button"
          class="primary"
          aria-expanded={creating}
          disabled={humanName.value === null || livePeers.value.length === 0}
          onClick={() => setCreating(!creating)}
        >
          <Icon name="start" />New schedule
        </button>
      </div>
      {creating && humanName.value !== null && (
        <CreateSchedule from={humanName.value} created={created} />
      )}
      {tab === "when" ? <Subscriptions /> : (
        <ResourceView resource={resource}>
          {({ schedules }) => (
            <ScheduleList tab={tab} schedules={schedules} refresh={resource.refresh} />
          )}
        </ResourceView>
      )}
    </>
  );
}

function ScheduleList(
  { tab, schedules, refresh }: {
    tab: Tab;
    schedules: readonly Schedule[];
    refresh: () => void;
  },
) {
  const active = schedules.filter(({ state }) => state === "active");
  const shown = tab === "ended" ? schedules.filter(({ state }) => state !== "active") : active;
  if (shown.length === 0) {
    return (
      <Empty
        title={tab === "ended" ? "No schedule has ended" : "Nothing is scheduled"}
        command='mesh schedule create me "Look at the build" --at 10m'
      >
        A schedule sends a message later, or again and again.
      </Empty>
    );
  }
  if (tab === "calendar") return <Agenda days={agendaOf(active, now.value)} refresh={refresh} />;
  return (
    <ul class="cards stack">
      {shown.map((schedule) => (
        <ScheduleCard key={schedule.schedule_id} schedule={schedule} refresh={refresh} />
      ))}
    </ul>
  );
}

function toTab(text: string | null): Tab {
  return text === "all" || text === "ended" || text === "when" ? text : "calendar";
}

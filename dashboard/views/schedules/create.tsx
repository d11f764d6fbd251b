/** A new schedule: to whom, what, and when. */

import { useState } from "preact/hooks";
import { useFormSubmit } from "../../components/act/submit.ts";
import { Choices, Failed } from "../../components/basics.tsx";
import { SelectField } from "../../components/fields.tsx";
import { readWhen, type When } from "../../components/time/when.ts";
import { emptyWhen, WhenFields } from "../../components/time/when_fields.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { ScheduleRequest } from "../../state/records.ts";
import { livePeers } from "../../state/store.ts";
import { currentTime } from "../../state/clock.ts";

type Kind = "ask" | "notify";

export function CreateSchedule({ from, created }: { from: string; created: () => void }) {
  const [to_peer, setPeer] = useState(livePeers.value[0]?.peer_id ?? "");
  const [kind, setKind] = useState<Kind>("notify");
  const [when, setWhen] = useState(() => emptyWhen("in"));
  const [text, setText] = useState("");
  const { busy, error, send, renew } = useFormSubmit<ScheduleRequest>();
  /** A changed form is another schedule. */
  const change = <T,>(set: (value: T) => void) => (value: T) => {
    renew();
    set(value);
  };
  const read = readWhen(when, currentTime());
  const submit = (event: Event) => {
    event.preventDefault();
    const time = timeOf(readWhen(when, currentTime()));
    if (!ready || !time) return;
    send(
      () => ({ from_peer: from, to_peer, kind, text, ...time }),
      (body, headers) => call(at.createSchedule, { body, headers }).then(created),
    );
  };
  const ready = text.trim() !== "" && to_peer !== "" && read.kind !== "invalid";
  return (
    <form class="card form" onSubmit={submit} aria-label="New schedule">
      <SelectField
        label="To"
        value={to_peer}
        options={livePeers.value.map(({ peer_id, name, circle }) =>
          [peer_id, `${name} (${circle})`] as const
        )}
        choose={change(setPeer)}
      />
      <Choices<Kind>
        label="Kind"
        chosen={kind}
        choose={change(setKind)}
        options={[["notify", "Notify"], ["ask", "Ask"]]}
      />
      <label>
        Message
        <textarea
          rows={3}
          value={text}
          onInput={(event) => change(setText)(event.currentTarget.value)}
        />
      </label>
      <WhenFields when={when} change={change(setWhen)} modes={["in", "at", "recurring"]} />
      {error !== undefined && <Failed error={error} />}
      <div class="answer-tools cluster">
        <button type="submit" class="primary" aria-disabled={busy} disabled={!ready}>
          Schedule it
        </button>
      </div>
    </form>
  );
}

function timeOf(when: When) {
  if (when.kind === "recurring") return { cron: when.cron, timezone: when.timezone };
  return when.kind === "once" ? { fire_at: new Date(when.at).toISOString() } : undefined;
}

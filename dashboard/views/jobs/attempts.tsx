/** The attempts of a job: each with its executor, its stages and its end. */

import { Age, duration, State } from "../../components/basics.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { TraceView } from "../../components/trace.tsx";
import type { OneJob } from "../../state/records.ts";
import { nameOfPeer } from "../../state/store.ts";

type Attempt = OneJob["runner"]["attempts"][number];

const EXECUTORS: Readonly<Record<Attempt["executor"], string>> = {
  assigned: "the assigned peer",
  reused: "the peer of the last attempt",
  resumed: "started, with its last session",
  spawned: "started for it",
};

export function Attempts({ job: { runner: { attempts, current_attempt_id } } }: { job: OneJob }) {
  if (attempts.length === 0) return null;
  return (
    <section>
      <h3>Attempts</h3>
      <ol class="attempts stack" reversed>
        {attempts.toReversed().map((attempt) => (
          <AttemptRow
            key={attempt.attempt_id}
            attempt={attempt}
            current={attempt.attempt_id === current_attempt_id}
          />
        ))}
      </ol>
    </section>
  );
}

function AttemptRow({ attempt, current }: { attempt: Attempt; current: boolean }) {
  const { number, state, executor, executor_peer_id, reason, delivery_id } = attempt;
  return (
    <li class="rail" aria-current={current ? "true" : undefined}>
      <p class="cluster">
        <strong>{`Attempt ${number}`}</strong>
        <State of={state} />
        <span>
          {executor_peer_id && (
            <>
              <PeerLink id={executor_peer_id} name={nameOfPeer(executor_peer_id)} />
              {", "}
            </>
          )}
          {EXECUTORS[executor]}
        </span>
        {reason && <span class="reason">{visible(reason.replaceAll("_", " "))}</span>}
        <span class="grow" />
        <Age at={attempt.started_at} suffix=" ago" />
      </p>
      <ol class="cluster hint">
        {stagesOf(attempt).map(([name, at]) => (
          <li key={name}>
            {name}{" "}
            <time dateTime={at} title={new Date(at).toLocaleString()}>
              {sinceStart(attempt, at)}
            </time>
          </li>
        ))}
      </ol>
      {delivery_id && (
        <details>
          <summary>How the prompt arrived</summary>
          <TraceView id={delivery_id} />
        </details>
      )}
    </li>
  );
}

function stagesOf({ delivered_at, armed_at, ended_at }: Attempt): [name: string, at: string][] {
  const all = [["delivered", delivered_at], ["turn began", armed_at], ["ended", ended_at]] as const;
  return all.flatMap(([name, at]): [string, string][] => at === null ? [] : [[name, at]]);
}

function sinceStart({ started_at }: Attempt, at: string): string {
  const seconds = (Date.parse(at) - Date.parse(started_at)) / 1000;
  return seconds < 10 ? `after ${seconds.toFixed(1)} s` : `after ${duration(seconds)}`;
}

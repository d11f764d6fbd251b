/** The board: jobs by state, and below it recurring jobs. */

import { Age, Empty, State } from "../../components/basics.tsx";
import { nextFires } from "../../components/time/times.ts";
import { firstLine } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import type { JobInList, JobLists, TemplateInList } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { nameOfPeer, now } from "../../state/store.ts";

const COLUMNS: readonly (readonly [title: string, states: readonly string[]])[] = [
  ["Waiting", ["queued", "dispatching"]],
  ["Running", ["delivered", "running"]],
  ["Needs somebody", ["awaiting_input", "blocked"]],
  ["Done", ["completed"]],
  ["Not done", ["failed", "unavailable", "expired", "cancelled"]],
];
const COLUMN_MAX = 30;

export function Board({ lists: { work, recurring } }: { lists: JobLists }) {
  return (
    <>
      {work.length + recurring.length === 0 && (
        <Empty title="No jobs" command='mesh jobs create "Fix the flaky test" --to NAME'>
          A job is work that survives a restart: an agent does it now, at a time, or again and
          again.
        </Empty>
      )}
      {work.length > 0 && (
        <div class="board tiles fit">
          {COLUMNS.map(([title, states]) => (
            <Column
              key={title}
              title={title}
              jobs={work.filter(({ state }) => states.includes(state))}
            />
          ))}
        </div>
      )}
      {recurring.length > 0 && (
        <section class="group stack">
          <h2 class="row">
            Recurring <span class="count hint">{recurring.length}</span>
          </h2>
          <ul class="cards stack">
            {recurring.map((template) => (
              <TemplateCard key={template.calendar_id} template={template} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Column({ title, jobs }: { title: string; jobs: readonly JobInList[] }) {
  return (
    <section class="board-column stack">
      <h2 class="row">
        {title}
        <span class="count hint">{jobs.length}</span>
      </h2>
      <ul class="cards stack">
        {jobs.slice(0, COLUMN_MAX).map((job) => (
          <li key={job.job_id}>
            <JobCard job={job} />
          </li>
        ))}
      </ul>
      {jobs.length > COLUMN_MAX && <p class="hint">and {jobs.length - COLUMN_MAX} more</p>}
    </section>
  );
}

function JobCard({ job }: { job: JobInList }) {
  const { assigned_peer_id, progress, result_summary, state_reason, due_at } = job;
  const waits_for = job.state === "queued" && due_at && Date.parse(due_at) > now.value;
  return (
    <a class="card" data-row href={link("jobs", job.job_id)}>
      <strong>
        <bdi>{visible(job.title)}</bdi>
      </strong>
      <span class="cluster">
        <State of={job.state} />
        {assigned_peer_id && <bdi class="who">{visible(nameOfPeer(assigned_peer_id))}</bdi>}
        {waits_for ? <Age at={due_at} future /> : <Age at={job.updated_at} />}
      </span>
      {progress !== null && <Progress value={progress} />}
      {result_summary && <span class="task hint">{visible(firstLine(result_summary))}</span>}
      {state_reason && <span class="reason">{visible(state_reason.replaceAll("_", " "))}</span>}
    </a>
  );
}

export function Progress({ value }: { value: number }) {
  return <progress max={100} value={value} aria-label={`${value} %`} />;
}

/** The number of runs of a recurring job. */
export function runsText(occurrences: number): string {
  if (occurrences === 0) return "not run yet";
  return occurrences === 1 ? "ran once" : `ran ${occurrences} times`;
}

function TemplateCard({ template }: { template: TemplateInList }) {
  const { title, state, cron, timezone, next_due_at, occurrences } = template;
  const [next] = next_due_at ? [Date.parse(next_due_at)] : nextFires(cron, timezone, now.value, 1);
  return (
    <li>
      <a class="card" data-row href={link("jobs", template.calendar_id)}>
        <span class="cluster">
          <strong>
            <bdi>{visible(title)}</bdi>
          </strong>
          <State of={state} />
          <span class="grow" />
          <code>{cron}</code>
          <span class="hint">{timezone}</span>
          {state === "active" && next !== undefined && (
            <span class="hint">
              next <Age at={new Date(next).toISOString()} future />
            </span>
          )}
          <span class="hint">{runsText(occurrences)}</span>
        </span>
      </a>
    </li>
  );
}

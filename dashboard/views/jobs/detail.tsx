/** One job: its fields, its progress, its attempts, its checks and its result. */

import { Act, Age, Fact, State } from "../../components/basics.tsx";
import { NextFires } from "../../components/time/fires.tsx";
import { Markdown } from "../../components/markdown.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import type { JobRecord, OneJob } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { nameOfPeer } from "../../state/store.ts";
import { Attempts } from "./attempts.tsx";
import { JobChanges } from "./changes.tsx";
import { Progress, runsText } from "./board.tsx";
import { checksOf, withoutChecks } from "./checks.ts";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";

type Template = Exclude<JobRecord, OneJob>;

export function Detail({ job, refresh }: { job: JobRecord; refresh: () => void }) {
  const id = "job_id" in job ? job.job_id : job.calendar_id;
  return (
    <article class="card job">
      <header>
        <h2>
          <bdi>{visible(job.title)}</bdi>
        </h2>
        <State of={job.state} />
        <span class="grow" />
        <code class="hint">{id}</code>
      </header>
      {"job_id" in job ? <JobProgress job={job} /> : null}
      <Verbs id={id} state={job.state} refresh={refresh} />
      {"job_id" in job ? <Outcome job={job} /> : <Recurrence template={job} />}
      {"job_id" in job && job.runner.attempt_count > 0 && <JobChanges key={id} job={job} />}
      <section>
        <h3>Prompt</h3>
        <Markdown text={job.execution.prompt.body} />
      </section>
      {"job_id" in job && <Attempts job={job} />}
      <Facts job={job} />
    </article>
  );
}

/** The reason of its state, and its progress. */
function JobProgress({ job }: { job: OneJob }) {
  const { state_reason, progress, progress_events, cancellation_reason } = job;
  const note = progress_events.at(-1);
  return (
    <>
      {state_reason && <p class="reason">{visible(state_reason.replaceAll("_", " "))}</p>}
      {cancellation_reason && (
        <p class="reason">
          <bdi>{visible(cancellation_reason)}</bdi>
        </p>
      )}
      {progress !== null && <Progress value={progress} />}
      {note?.note && (
        <p class="hint">
          <bdi>{visible(note.note)}</bdi> <Age at={note.at} suffix=" ago" />
        </p>
      )}
    </>
  );
}

function Outcome({ job }: { job: OneJob }) {
  const { result_summary, error, artifacts } = job;
  const checks = checksOf(job.execution.checks, job.result_data);
  const data = withoutChecks(job.result_data);
  return (
    <>
      {result_summary && (
        <section class="reply rail good stack tight">
          <h3>Result</h3>
          <Markdown text={result_summary} />
        </section>
      )}
      {error && (
        <p class="rail warn error">
          <bdi>{visible(error)}</bdi>
        </p>
      )}
      {checks.length > 0 && (
        <section>
          <h3>Checks</h3>
          <ul class="checks stack">
            {checks.map(({ name, result, output }) => (
              <li
                key={name}
                class={result === "passed" ? "ok" : result === "failed" ? "fail" : ""}
              >
                <strong>
                  <bdi>{visible(name)}</bdi>
                </strong>
                <span>{result}</span>
                {output && <pre class="details inset">{visible(output)}</pre>}
              </li>
            ))}
          </ul>
        </section>
      )}
      {data && <Json title="Data" value={data} />}
      {artifacts.length > 0 && <Json title="Artifacts" value={artifacts} />}
    </>
  );
}

function Json({ title, value }: { title: string; value: unknown }) {
  return (
    <section>
      <h3>{title}</h3>
      <pre class="details inset" tabIndex={0} role="region" aria-label={title}>
        {visible(JSON.stringify(value, null, 2))}
      </pre>
    </section>
  );
}

function Recurrence({ template }: { template: Template }) {
  const { cron, timezone, occurrences, last_due_at, last_occurrence_work_id: last } = template;
  return (
    <section>
      <p>
        <code>{cron}</code> {timezone}, {runsText(occurrences)}
        {last_due_at && last && (
          <>
            , <a href={link("jobs", last)}>last</a> <Age at={last_due_at} suffix=" ago" />
          </>
        )}
      </p>
      {template.state === "active"
        ? <NextFires cron={cron} timezone={timezone} first={template.next_due_at} />
        : <p class="hint">It fires again only after it was resumed, or with “Run now”.</p>}
    </section>
  );
}

/** The executor, the owner and the times. */
function Facts({ job }: { job: JobRecord }) {
  const { execution: { target, process_scope, continuity }, owner_peer_id, kind, circle } = job;
  const assigned = "job_id" in job ? job.assigned_peer_id : target.assigned_peer_id;
  return (
    <dl class="facts">
      {assigned && (
        <Fact name="Done by">
          <PeerLink id={assigned} name={nameOfPeer(assigned)} />
        </Fact>
      )}
      {target.path && (
        <Fact name="Folder">
          <code>{visible(target.path)}</code>
          {target.backend && `, with ${target.backend}`}
          {target.profile && `, profile ${target.profile}`}
        </Fact>
      )}
      <Fact name="Executor">
        {process_scope === "per_fire" ? "ends with the job" : "stays after the job"}
        {target.backend &&
          (continuity === "resume" ? ", resumes its session" : ", begins a fresh session")}
      </Fact>
      <Fact name="Kind">
        <bdi>{visible(kind)}</bdi>, circle <bdi>{visible(circle)}</bdi>
      </Fact>
      {owner_peer_id && (
        <Fact name="For">
          <PeerLink id={owner_peer_id} name={nameOfPeer(owner_peer_id)} />
        </Fact>
      )}
      <Fact name="Created">
        <Age at={job.created_at} suffix=" ago" />
      </Fact>
      {"job_id" in job && <Times job={job} />}
    </dl>
  );
}

function Times(
  { job: { due_at, deadline_at, expires_at, source_kind, source_id } }: { job: OneJob },
) {
  return (
    <>
      {due_at && (
        <Fact name="Due">
          <Age at={due_at} future />
        </Fact>
      )}
      {deadline_at && (
        <Fact name="Deadline">
          <Age at={deadline_at} future />
        </Fact>
      )}
      {expires_at && (
        <Fact name="Expires">
          <Age at={expires_at} future />
        </Fact>
      )}
      {source_kind === "calendar" && source_id && (
        <Fact name="Made by">
          <a href={link("jobs", source_id)}>a recurring job</a>
        </Fact>
      )}
    </>
  );
}

const ROUTES = {
  run: at.runJob,
  retry: at.retryJob,
  pause: at.pauseJob,
  resume: at.resumeJob,
  cancel: at.cancelJob,
} as const;
type Verb = keyof typeof ROUTES;

/** The actions that a state allows. */
const VERBS: Readonly<Record<string, readonly Verb[]>> = {
  queued: ["run", "cancel"],
  dispatching: ["cancel"],
  delivered: ["retry", "cancel"],
  running: ["cancel"],
  awaiting_input: ["cancel"],
  blocked: ["cancel"],
  failed: ["retry"],
  unavailable: ["retry"],
  active: ["run", "pause", "cancel"],
  paused: ["resume", "run", "cancel"],
};

const TEXTS: Readonly<Record<Verb, string>> = {
  run: "Run now",
  retry: "Retry",
  pause: "Pause",
  resume: "Resume",
  cancel: "Cancel the job",
};

function Verbs(
  { id, state, refresh }: { id: string; state: string; refresh: () => void },
) {
  const verbs = VERBS[state] ?? [];
  if (verbs.length === 0) return null;
  return (
    <div class="answer-tools cluster">
      {verbs.map((verb) => <JobAction key={verb} id={id} verb={verb} refresh={refresh} />)}
    </div>
  );
}

function JobAction({ id, verb, refresh }: { id: string; verb: Verb; refresh: () => void }) {
  const run = () => call(ROUTES[verb], { params: { id }, body: {} }).then(refresh);
  if (verb !== "cancel") return <Act run={run}>{TEXTS[verb]}</Act>;
  const confirm = "It does not run again. An agent at work on it gets a message to stop.";
  return <Act run={run} class="danger" confirm={confirm}>{TEXTS[verb]}</Act>;
}

/** The actions of a person on a job, by its state. */

import { Act } from "../../components/basics.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";

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

export function Verbs(
  { id, state, refresh }: { id: string; state: string; refresh: () => void },
) {
  const verbs = VERBS[state] ?? [];
  if (verbs.length === 0) return null;
  return (
    <div class="answer-tools">
      {verbs.map((verb) => <JobAction key={verb} id={id} verb={verb} refresh={refresh} />)}
    </div>
  );
}

function JobAction({ id, verb, refresh }: { id: string; verb: Verb; refresh: () => void }) {
  const run = () => call(ROUTES[verb], { params: { id }, body: {} }).then(refresh);
  if (verb !== "cancel") return <Act run={run}>{TEXTS[verb]}</Act>;
  const confirm = "It does not run again. An agent at work on it is told to stop.";
  return <Act run={run} class="danger" confirm={confirm}>{TEXTS[verb]}</Act>;
}

/** A new job: its prompt, executor, time and checks. */

import { useEffect, useState } from "preact/hooks";
import { useFormSubmit } from "../../components/act/submit.ts";
import { Choices, Failed, ResourceView } from "../../components/basics.tsx";
import { SelectField } from "../../components/fields.tsx";
import { readWhen } from "../../components/time/when.ts";
import { emptyWhen, WhenFields } from "../../components/time/when_fields.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { JobRequest } from "../../state/records.ts";
import { useResource } from "../../state/resource.ts";
import { link } from "../../state/router.ts";
import { humanName } from "../../state/session.ts";
import { localPeers } from "../../state/store.ts";
import { CannotStart } from "../spawn/cannot_start.tsx";
import { AgentChoice, backendsOf } from "../spawn/choices.tsx";
import { FolderInput } from "../spawn/folder_input.tsx";
import { type JobText, problemOf, toJobBody } from "./job_body.ts";
import { currentTime } from "../../state/clock.ts";

function emptyJob(): JobText {
  return {
    title: "",
    prompt: "",
    target: localPeers.value.length > 0 ? "peer" : "folder",
    assigned_peer: localPeers.value[0]?.peer_id ?? "",
    path: "",
    backend: undefined,
    profile: "",
    checks: "",
    when: emptyWhen("now"),
  };
}

/** The fields, and the sending of the job. */
function useJob(created: (id: string) => void) {
  const [text, setText] = useState(emptyJob);
  const { busy, error, send, renew } = useFormSubmit<JobRequest>();
  const problem = problemOf(text, readWhen(text.when, currentTime()));
  /** A changed form is another job. */
  const change = (next: JobText) => {
    renew();
    setText(next);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const when = readWhen(text.when, currentTime());
    if (problem !== undefined || when.kind === "invalid") return;
    send(() => toJobBody(text, when, humanName.value), async (body, headers) => {
      const made = await call(at.createJob, { body, headers });
      created("job_id" in made ? made.job_id : made.calendar_id);
    });
  };
  return { text, problem, busy, error, change, submit };
}

export function CreateJob({ created }: { created: (id: string) => void }) {
  const { text, problem, busy, error, change, submit } = useJob(created);
  const set =
    (name: "title" | "prompt" | "checks") => (event: { currentTarget: { value: string } }) =>
      change({ ...text, [name]: event.currentTarget.value });
  return (
    <form class="card form" onSubmit={submit} aria-label="New job">
      <label>
        Title
        <input value={text.title} maxLength={255} onInput={set("title")} />
      </label>
      <label>
        Prompt
        <textarea
          rows={4}
          value={text.prompt}
          placeholder="What is to be done, and how you know that it is done"
          onInput={set("prompt")}
        />
      </label>
      <Target text={text} change={change} />
      <WhenFields
        when={text.when}
        change={(when) => change({ ...text, when })}
        modes={["now", "in", "at", "recurring"]}
      />
      <label>
        Checks
        <input
          value={text.checks}
          placeholder="Names from jobs.checks of the configuration, separated by spaces"
          onInput={set("checks")}
        />
      </label>
      {error !== undefined && <Failed error={error} />}
      <div class="answer-tools cluster">
        <button type="submit" class="primary" aria-disabled={busy} disabled={problem !== undefined}>
          Create the job
        </button>
        <a class="button quiet" href={link("jobs")}>Discard</a>
        {problem && <span class="hint">{problem}</span>}
      </div>
    </form>
  );
}

function Target({ text, change }: { text: JobText; change: (text: JobText) => void }) {
  return (
    <fieldset>
      <legend>Who does it</legend>
      <Choices
        label="Who does it"
        chosen={text.target}
        choose={(target) => change({ ...text, target })}
        options={[["peer", "A peer"], ["folder", "A new agent in a folder"]]}
      />
      {text.target === "peer"
        ? (
          <SelectField
            label="Peer"
            value={text.assigned_peer}
            options={localPeers.value.map(({ peer_id, name, circle, status }) =>
              [peer_id, `${name} (${circle}, ${status})`] as const
            )}
            choose={(assigned_peer) => change({ ...text, assigned_peer })}
          />
        )
        : <NewAgent text={text} change={change} />}
    </fieldset>
  );
}

/** The folder, the kind of agent and its profile, as far as the configuration allows them. */
function NewAgent({ text, change }: { text: JobText; change: (text: JobText) => void }) {
  const config = useResource("spawn config", [], () => call(at.spawnConfig, {}));
  const found = config.value.value;
  useEffect(() => {
    if (found && text.backend === undefined) change({ ...text, backend: backendsOf(found)[0] });
  }, [found]);
  return (
    <ResourceView resource={config}>
      {(settings) => {
        if (!settings.enabled) return <CannotStart config={settings} />;
        return (
          <>
            <FolderInput value={text.path} change={(path) => change({ ...text, path })} />
            <AgentChoice
              config={settings}
              chosen={text}
              change={(kind) => change({ ...text, ...kind })}
            />
          </>
        );
      }}
    </ResourceView>
  );
}

/** Restarts a peer: the dry run first, then the restart's stages as they pass. */

import { useState } from "preact/hooks";
import { Act, Clock, Failed, ResourceView, State } from "../../components/basics.tsx";
import { OptionalText } from "../../components/fields.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Restart } from "../../state/records.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { humanName } from "../../state/session.ts";
import { type ActionProps, ActionWindow, CommandLine, useAct } from "../../components/window.tsx";

/** The texts of the stages of a restart. */
const STAGES: Readonly<Record<string, string>> = {
  preflight: "checked",
  quiesce: "waits for the end of its turn",
  stop: "ends its process",
  launch: "starts it in the same pane",
  register: "waits until it registers",
  seed: "sends the first message",
};
/** The stages before anything is stopped. */
const CANCELLABLE = ["preflight", "quiesce"];

export function RestartWindow({ peer: { peer_id, name }, close }: ActionProps) {
  const [fresh, setFresh] = useState(false);
  const [message, setMessage] = useState("");
  const params = { id: peer_id };
  const from = humanName.value === null ? {} : { from_peer: humanName.value };
  const last = useResource(`${peer_id} restart`, ["peers"], async () => {
    const { restart } = await call(at.getPeer, { params: { id: peer_id }, query: {} });
    return restart.last;
  });
  const plan = useResource(
    `${peer_id} plan ${fresh}`,
    ["peers"],
    () => call(at.restartPeer, { params, body: { dry_run: true, fresh } }),
  );
  const { act, result, ...state } = useAct(() => {
    const seed = message.trim() === "" ? {} : { message };
    return call(at.restartPeer, { params, body: { fresh, wait: false, ...from, ...seed } });
  }, () => refreshTopics(["peers"]));
  const latest = last.value.value ?? undefined;
  const shown = latest && (latest.restart_id === result?.restart_id ||
      latest.outcome === "in_progress")
    ? latest
    : result;
  const possible = plan.value.value?.outcome === "would_restart";
  return (
    <ActionWindow
      title={`Restart ${name}`}
      label="Restart it"
      close={close}
      done={shown !== undefined}
      act={shown || !possible ? undefined : act}
      {...state}
    >
      {shown ? <Progress restart={shown} peer_id={peer_id} /> : (
        <>
          <ResourceView resource={plan}>{(found) => <Plan plan={found} />}</ResourceView>
          <Fresh checked={fresh} change={setFresh} />
          {possible && <OptionalText label="First message" value={message} change={setMessage} />}
        </>
      )}
    </ActionWindow>
  );
}

function Fresh({ checked, change }: { checked: boolean; change: (fresh: boolean) => void }) {
  return (
    <label class="check row">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => change(event.currentTarget.checked)}
      />
      Fresh: begin a new session, without the memory of the present one
    </label>
  );
}

function Plan({ plan: { outcome, would_run, resume_mode, failed } }: { plan: Restart }) {
  return (
    <div role="status" class="stack">
      {outcome === "would_restart"
        ? (
          <p>
            When its turn is over, its process is ended and started again in the same pane.{" "}
            {resume_mode === "resumed"
              ? "It resumes its session."
              : "It begins a new session: it will not remember this one."}{" "}
            Messages that wait for it and open asks are kept.
          </p>
        )
        : (
          <p class="reason">
            It cannot be restarted{resume_mode === "resumed" && " with its session"}:{" "}
            {failed?.detail ?? "the reason is not known"}.
          </p>
        )}
      {would_run !== null && (
        <>
          <p class="hint">Would run; values that may be secret are not shown:</p>
          <CommandLine argv={would_run} />
        </>
      )}
    </div>
  );
}

function Progress({ restart, peer_id }: { restart: Restart; peer_id: string }) {
  const { outcome, stages, failed, resume_mode } = restart;
  const [refused, setRefused] = useState<string>();
  const reached = stages.at(-1)?.stage ?? "preflight";
  const cancel = async () => {
    const answer = await call(at.cancelRestart, { params: { id: peer_id }, query: {} });
    setRefused(answer.cancelled ? undefined : answer.reason.replaceAll("_", " "));
    refreshTopics(["peers"]);
  };
  return (
    <div role="status" class="stack">
      <p>
        <State of={outcome} tone={TONES[outcome] ?? "busy"} />
        {outcome === "restarted" && (resume_mode === "resumed" ? " with its session" : " afresh")}
      </p>
      <ol class="timeline stack tight">
        {stages.map(({ stage, at: when }) => (
          <li key={stage} class={failed?.stage === stage ? "fail" : "ok"}>
            <span class="stage">{stage}</span>
            <Clock at={when} />
            <span class="detail">{STAGES[stage] ?? ""}</span>
          </li>
        ))}
      </ol>
      {failed && (
        <p class="reason">
          It failed at {failed.stage}: {failed.detail}
        </p>
      )}
      {outcome === "in_progress" && CANCELLABLE.includes(reached) && (
        <Act run={cancel}>Cancel the restart</Act>
      )}
      {refused !== undefined && <Failed error={new Error(`It was not cancelled: ${refused}.`)} />}
    </div>
  );
}

const TONES: Readonly<Record<string, "good" | "bad" | "calm">> = {
  restarted: "good",
  failed: "bad",
  cancelled: "calm",
};

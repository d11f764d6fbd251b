/** Forks a peer, as an agent of another kind, or copies it, with its conversation until now. */

import { useState } from "preact/hooks";
import { ResourceView } from "../../components/basics.tsx";
import { OptionalText, SelectField } from "../../components/fields.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { Backend } from "../../state/records.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { backendsOf, commandOf, ProfileChoice } from "../spawn/choices.tsx";
import { SpawnedAgent } from "../spawn/spawned.tsx";
import { type ActionProps, ActionWindow, CommandLine, useAct } from "../../components/window.tsx";
import { humanName } from "../../state/session.ts";

export function Fork({ peer: { peer_id, name, path, circle, backend: own }, close }: ActionProps) {
  const config = useResource("spawn config", [], () => call(at.spawnConfig, {}));
  const found = config.value.value;
  const backends = found ? backendsOf(found).filter((backend) => backend !== own) : [];
  const [chosen, setBackend] = useState<Backend>();
  const [profile, setProfile] = useState("");
  const backend = chosen ?? backends[0];
  const { act, result, ...state } = useAct(async () => {
    if (!backend) return undefined;
    const body = { backend, ...(profile !== "" && { profile }) };
    return await call(at.forkPeer, { params: { id: peer_id }, body });
  }, () => refreshTopics(["peers"]));
  return (
    <ActionWindow
      title={`Fork ${name}`}
      label="Start it"
      close={close}
      done={result !== undefined}
      act={backend && found?.enabled ? act : undefined}
      {...state}
    >
      {result ? <SpawnedAgent spawned={result} /> : (
        <ResourceView resource={config}>
          {(settings) =>
            settings.enabled && backend
              ? (
                <>
                  <p>
                    A new agent starts in <code>{path}</code>, in circle{" "}
                    <bdi>{visible(circle)}</bdi>. <bdi>{visible(name)}</bdi>{" "}
                    goes on undisturbed; its conversation is not copied.
                  </p>
                  <SelectField
                    label="Agent"
                    value={backend}
                    options={backends.map((name) => [name, name] as const)}
                    choose={(next) => (setBackend(next), setProfile(""))}
                  />
                  <ProfileChoice
                    config={settings}
                    backend={backend}
                    chosen={profile}
                    choose={setProfile}
                  />
                  <CommandLine argv={commandOf(settings, backend, profile)} />
                </>
              )
              : (
                <p>
                  There is no agent of another kind to start. Add its command to{" "}
                  <code>spawn.commands</code> in the configuration.
                </p>
              )}
        </ResourceView>
      )}
    </ActionWindow>
  );
}

export function Copy({ peer: { peer_id, name, path, turn_state }, close }: ActionProps) {
  const [message, setMessage] = useState("");
  const { act, result, ...state } = useAct(async () => {
    const from = humanName.value === null ? {} : { from_peer: humanName.value };
    const seed = message.trim() === "" ? {} : { message };
    return await call(at.forkSession, { params: { id: peer_id }, body: { ...from, ...seed } });
  }, () => refreshTopics(["peers"]));
  return (
    <ActionWindow
      title={`Copy ${name}`}
      label="Start the copy"
      close={close}
      done={result !== undefined}
      act={act}
      {...state}
    >
      {result ? <SpawnedAgent spawned={result} /> : (
        <>
          <p>
            The same kind of agent starts in <code>{path}</code>, with a copy of the conversation of
            {" "}
            <bdi>{visible(name)}</bdi>, which goes on undisturbed.
          </p>
          {turn_state === "working" && (
            <p class="hint">It is in a turn: the copy has what is written until now.</p>
          )}
          <OptionalText label="First message" value={message} change={setMessage} />
        </>
      )}
    </ActionWindow>
  );
}

/** Copies a peer: starts the same agent again, with a copy of the conversation until now. */

import { useState } from "preact/hooks";
import { visible } from "../../components/text/visible.tsx";
import { type ActionProps, ActionWindow, useAct } from "../../components/window.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { refreshTopics } from "../../state/resource.ts";
import { humanName } from "../../state/session.ts";
import { SpawnedAgent } from "../spawn/spawned.tsx";

export function Copy({ peer: { peer_id, name, path, turn_state }, close }: ActionProps) {
  const [message, setMessage] = useState("");
  const { act, result, ...state } = useAct(async () => {
    const from = humanName.value === null ? {} : { from_peer: humanName.value };
    const seed = message.trim() === "" ? {} : { message };
    return await call(at.forkSession, { params: { id: peer_id }, body: { ...from, ...seed } });
  });
  const submit = async () => {
    if (await act()) refreshTopics(["peers"]);
  };
  return (
    <ActionWindow
      title={`Copy ${name}`}
      label="Start the copy"
      close={close}
      done={result !== undefined}
      act={submit}
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
          <label>
            <span>
              First message <span class="hint">(optional)</span>
            </span>
            <textarea
              rows={2}
              value={message}
              onInput={(event) => setMessage(event.currentTarget.value)}
            />
          </label>
        </>
      )}
    </ActionWindow>
  );
}

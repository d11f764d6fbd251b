/** Renames a peer. */

import { useState } from "preact/hooks";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { refreshTopics } from "../../state/resource.ts";
import { notify } from "../../state/store.ts";
import { NameField } from "../spawn/naming.tsx";
import { type ActionProps, ActionWindow, useAct } from "../../components/window.tsx";

export function Rename({ peer, close }: ActionProps) {
  const [name, setName] = useState(peer.name);
  const { act, ...state } = useAct(() =>
    call(at.renamePeer, { params: { id: peer.peer_id }, query: {}, body: { name } })
  );
  const submit = async () => {
    const renamed = await act();
    if (!renamed) return;
    notify(`${peer.name} is now called ${renamed.name}.`);
    refreshTopics(["peers", "messages", "asks"]);
    close();
  };
  return (
    <ActionWindow
      title={`Rename ${peer.name}`}
      label="Rename it"
      close={close}
      act={submit}
      disabled={name === peer.name}
      {...state}
    >
      <NameField label="New name" value={name} change={setName} required />
      <p class="hint">
        Messages to the old name no longer reach it. Earlier messages keep the old name.
      </p>
    </ActionWindow>
  );
}

/** Hands the work of a peer over to another peer, and shows what the file has and lacks. */

import { useState } from "preact/hooks";
import { OptionalText, SelectField } from "../../components/fields.tsx";
import { visible } from "../../components/text/visible.tsx";
import { type ActionProps, ActionWindow, useAct } from "../../components/window.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import type { HandedOff } from "../../state/records.ts";
import { refreshTopics } from "../../state/resource.ts";
import { humanName } from "../../state/session.ts";
import { livePeers } from "../../state/store.ts";

export function HandOver({ peer: { peer_id, name }, close }: ActionProps) {
  const others = livePeers.value.filter((peer) =>
    peer.peer_id !== peer_id && peer.role !== "human" && peer.status !== "offline"
  );
  const [chosen, setChosen] = useState<string>();
  const [note, setNote] = useState("");
  const to_peer = chosen ?? others[0]?.peer_id;
  const from_peer = humanName.value;
  const { act, result, ...state } = useAct(async () => {
    if (to_peer === undefined || from_peer === null) return undefined;
    const own = note.trim() === "" ? {} : { note };
    const body = { from_peer, to_peer, of_peer: peer_id, ...own };
    return await call(at.handOff, { body });
  }, () => refreshTopics(["messages"]));
  const isPossible = to_peer !== undefined && from_peer !== null;
  return (
    <ActionWindow
      title={`Hand over the work of ${name}`}
      label="Hand it over"
      close={close}
      done={result !== undefined}
      act={isPossible ? act : undefined}
      {...state}
    >
      {result ? <Sent sent={result} /> : isPossible
        ? (
          <>
            <p>
              Its last turns, its open asks and the names of the files it touched go to another peer
              as one file. Secrets are masked. The asks themselves stay with{" "}
              <bdi>{visible(name)}</bdi>.
            </p>
            <SelectField
              label="To"
              value={to_peer}
              options={others.map(({ peer_id, name, backend }) =>
                [peer_id, [visible(name), backend && ` (${backend})`]] as const
              )}
              choose={setChosen}
            />
            <OptionalText label="Note" rows={3} value={note} change={setNote} />
          </>
        )
        : (
          <p>
            {from_peer === null
              ? "Only a person hands over the work of an agent: set human.name in the configuration."
              : "There is no other live peer to take it over."}
          </p>
        )}
    </ActionWindow>
  );
}

function Sent({ sent: { manifest: { to, counts, left_out }, delivery_state } }: {
  sent: HandedOff;
}) {
  return (
    <div role="status" class="stack">
      <p>
        Sent to <bdi>{visible(to.name)}</bdi>: {delivery_state}. {counts.turns} turns,{" "}
        {counts.files} files, {counts.open_asks_to + counts.open_asks_from} open asks;{" "}
        {counts.masked_secrets} secrets were masked.
      </p>
      {left_out.map(({ what, why }) => (
        <p key={what} class="hint">Left out: {visible(what)}, because {visible(why)}.</p>
      ))}
    </div>
  );
}

/** Close and kill: both are final, and first show what is lost. */

import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import * as at from "protocol/generated/endpoints.ts";
import { refreshTopics } from "../../state/resource.ts";
import { go, link } from "../../state/router.ts";
import { notify } from "../../state/store.ts";
import { LossList } from "./losses.tsx";
import { type ActionProps, ActionWindow, useAct } from "../../components/window.tsx";

export function Close({ peer, close }: ActionProps) {
  const { peer_id, name, agent_pid } = peer;
  const { act, ...state } = useAct(
    () => call(at.closePeer, { params: { id: peer_id }, query: {} }),
    () => leave(`${name} is closed.`),
  );
  return (
    <ActionWindow
      title={`Close ${name}?`}
      label="Close it"
      danger
      close={close}
      act={act}
      {...state}
    >
      <p>
        <bdi>{visible(name)}</bdi> leaves the mesh for good: its identity cannot be used again.{" "}
        {agent_pid !== null && `Its program, process ${agent_pid}, is left running.`}
      </p>
      <LossList peer={peer} />
    </ActionWindow>
  );
}

export function Kill({ peer, close }: ActionProps) {
  const { peer_id, name, agent_pid, turn_state } = peer;
  const { act, ...state } = useAct(
    () => call(at.killPeer, { params: { id: peer_id }, query: {}, body: {} }),
    (killed) => leave(`${name} is retired: process ${killed.agent_pid} ended by ${killed.signal}.`),
  );
  return (
    <ActionWindow title={`Kill ${name}?`} label="Kill it" danger close={close} act={act} {...state}>
      <p>
        Process {agent_pid} of <bdi>{visible(name)}</bdi> is ended, and the peer is retired.{" "}
        {turn_state === "working"
          ? "It is at work now. Work that it has not written to disk is lost."
          : "Work that it has not written to disk is lost."}
      </p>
      <LossList peer={peer} />
    </ActionWindow>
  );
}

/** Leaves the peer's own view, which has nothing left to show. */
function leave(text: string): void {
  notify(text);
  refreshTopics(["peers", "asks", "messages"]);
  go(link("mesh"));
}

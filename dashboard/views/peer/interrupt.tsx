/** The button that stops a peer's turn, and its window: the question, and then what happened. */

import * as at from "protocol/generated/endpoints.ts";
import { whyNotInterrupted } from "protocol/derived/interrupts.ts";
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Icon } from "../../components/icons/icon.tsx";
import { visible } from "../../components/text/visible.tsx";
import { type ActionProps, ActionWindow, useAct } from "../../components/window.tsx";
import { call, errorText, isUnavailable, RELAYED } from "../../state/calls.ts";
import type { Peer } from "../../state/records.ts";
import { isRemote } from "../../state/remote.ts";
import { refreshTopics, useResource } from "../../state/resource.ts";
import { sessionState } from "../../state/session.ts";
import { notify } from "../../state/store.ts";
import { Kill } from "./actions.tsx";

/** The peer whose window is open. It stays open when the turn ends, which removes some buttons. */
export const stopWindow = signal<Peer | undefined>(undefined);

/** Stops what a peer does now. Disabled with the reason where that is impossible. */
export function StopButton({ peer }: { peer: Peer }) {
  const refusal = useRefusal();
  const reason = whyNotInterrupted(peer) ?? refusal;
  return (
    <button
      type="button"
      class="stop-turn"
      aria-disabled={reason !== undefined}
      aria-label={`Stop the turn of ${peer.name}`}
      title={reason ?? "Interrupt what it does now; it goes on running"}
      onClick={() => {
        // A phone shows no title.
        if (reason === undefined) stopWindow.value = peer;
        else notify(`Not stopped: ${reason}`);
      }}
    >
      <Icon name="interrupt" />
      <span>Stop</span>
    </button>
  );
}

/** The reason why this page may neither stop nor wake an agent; undefined if it may. */
export function useRefusal(): string | undefined {
  const managing = useResource("managing", [], askOnce).value.value;
  if (managing?.refusal !== undefined) return managing.refusal;
  const { value } = sessionState;
  return RELAYED || value === "human" || value === "asking"
    ? undefined
    : "This page is not signed in as a person: open it with mesh open";
}

let asked: ReturnType<typeof mayManage> | undefined;

/** Every button asks, and the machine answers once. A failure is asked again. */
function askOnce(): ReturnType<typeof mayManage> {
  return asked ??= mayManage().catch((error) => {
    asked = undefined;
    throw error;
  });
}

/** A relay passes on what manages a machine only if the machine allows it. */
async function mayManage(): Promise<{ readonly refusal?: string }> {
  if (!RELAYED) return {};
  try {
    await call(at.getConfig, {});
    return {};
  } catch (error) {
    if (isUnavailable(error)) return { refusal: errorText(error) };
    throw error;
  }
}

export function StopWindow({ peer, close }: ActionProps) {
  const { peer_id, name } = peer;
  const [kills, setKills] = useState(false);
  const { act, result, ...state } = useAct(
    () => call(at.interruptPeer, { params: { id: peer_id }, query: {}, body: {} }),
    () => refreshTopics(["peers", "messages", "jobs"]),
  );
  if (kills) return <Kill peer={peer} close={close} />;
  const isUnproved = result?.outcome === "asked" || state.error !== undefined;
  return (
    <ActionWindow
      title={`Stop ${name}?`}
      label="Stop it"
      close={close}
      done={result !== undefined}
      act={act}
      {...state}
    >
      {result
        ? (
          <p role="status" class={isUnproved ? "reason" : undefined}>
            <bdi>{visible(result.detail)}</bdi>
          </p>
        )
        : (
          <p>
            Its turn is interrupted as its user would do it. <bdi>{visible(name)}</bdi>{" "}
            goes on running and keeps its conversation; what it has changed stays.
          </p>
        )}
      {isUnproved && !isRemote(peer) && peer.agent_pid !== null && (
        <button
          type="button"
          class="danger"
          onClick={() => setKills(true)}
        >
          Kill it…
        </button>
      )}
    </ActionWindow>
  );
}

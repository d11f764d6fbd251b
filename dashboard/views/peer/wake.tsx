/** The button that wakes a sleeping agent. */

import * as at from "protocol/generated/endpoints.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";
import { useState } from "preact/hooks";
import { call, errorText } from "../../state/calls.ts";
import type { Peer } from "../../state/records.ts";
import { refreshTopics } from "../../state/resource.ts";
import { notify } from "../../state/store.ts";
import { useRefusal } from "./interrupt.tsx";

/** True for an agent that a person can wake. */
export function isAsleep({ wake }: Peer): boolean {
  return wake?.state === "asleep" || wake?.state === "asking";
}

/** Starts the agent again with its session. Disabled with the reason where that is impossible. */
export function WakeButton({ peer }: { peer: Peer }) {
  const { peer_id, name } = peer;
  const [isBusy, setBusy] = useState(false);
  const reason = useRefusal();
  const wake = async () => {
    setBusy(true);
    try {
      const request = { params: { id: peer_id }, query: {}, body: {} };
      const answer = await call(at.wakePeer, request);
      notify(wakeSentence(name, answer.wake) ?? `${name} is awake`);
      refreshTopics(["peers", "messages"]);
    } catch (error) {
      notify(`${name} was not woken: ${errorText(error)}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      type="button"
      class="stop-turn wake"
      disabled={isBusy}
      aria-disabled={reason !== undefined}
      aria-label={`Wake ${name}`}
      title={reason ?? "Start it again with its session; it then stays awake"}
      onClick={() => reason === undefined ? void wake() : notify(`Not woken: ${reason}`)}
    >
      Wake
    </button>
  );
}

/** The output of `mesh why` for a message that a hook handed over within a turn. */

import assert from "node:assert/strict";
import { explainMessage } from "../../../cli/output/message_explanation.ts";
import { messageOf } from "../../support/dashboard/records.ts";

const AT = "2026-01-01T12:00:00.000Z";

function stage(stage: string, detail: string | null = null) {
  const status = "ok" as const;
  return { seq: 1, stage, status, peer_id: "b", from_peer_id: "a", ts: AT, detail };
}

function explanation(
  message: Parameters<typeof messageOf>[0],
  ...stages: ReturnType<typeof stage>[]
) {
  const trace = {
    trace_id: "notif-1",
    kind: "notify" as const,
    unverified: false,
    chain: null,
    stages,
  };
  return explainMessage(messageOf(message), trace).map(({ text }) => text);
}

Deno.test("a message that waits for a tool call says so", () => {
  const reason = "native: tool_call_awaited";
  assert.deepEqual(explanation({ state: "queued", reason }, stage("queued", reason)), [
    "Now: it is queued for bob: its agent's own queue: it is read only after the turn, and a hook " +
    "hands over an urgent message before.",
  ]);
});

Deno.test("a message that a hook handed over is not said to be in a prompt", () => {
  const steps = [stage("attempting", "hook"), stage("sent"), stage("seen")];
  assert.deepEqual(explanation({ state: "seen" }, ...steps), [
    "The daemon tried its hook, or a client that leases its queue.",
    "It was sent.",
    "bob has seen it: the agent went on with what its hook was given.",
    "Now: it was read.",
  ]);
});

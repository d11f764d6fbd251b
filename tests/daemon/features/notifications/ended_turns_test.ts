/** The turn in which an ask was read ends without an answer: the asker is notified once. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { connectWorker } from "../../../support/daemon/jobs.ts";
import { ask, get, post } from "../../../support/daemon/peer_clients.ts";
import type { World } from "../../../support/world.ts";

async function readAsk(w: World) {
  const web = await connectWorker(w, "web");
  const api = await connectWorker(w);
  const correlation_id = await ask(w, "web", "api");
  const report = (body: Record<string, unknown>) => post(w, `/peers/${api.peer_id}/turn`, body);
  await report({
    turn_state: "working",
    prompt:
      `[mesh] <peer-message type="ask" id="${correlation_id}" from="@web">Ready?</peer-message>`,
  });
  await w.tick();
  const notices = () =>
    web.socket.of("notify").map(({ text }) => text).filter((text) => text.includes(correlation_id));
  const stages = async () => {
    const trace = await get(w, `/traces/${correlation_id}`);
    return trace.stages.map(({ stage }: { stage: string }) => stage);
  };
  return { api, correlation_id, report, notices, stages };
}

const ENDS = [
  ["interrupted", "turn_interrupted", /was interrupted before an answer/],
  ["rate_limit", "turn_failed", /is throttled by its provider; ask-/],
  ["context_overflow", "turn_failed", /ended with an error \(context_overflow\)/],
] as const;

for (const [error, stage, text] of ENDS) {
  Deno.test(`an asker learns that the turn of its ask ended: ${error}`, async () => {
    await using w = world();
    const { correlation_id, report, notices, stages } = await readAsk(w);
    await report({ turn_state: "idle", error });
    assert.equal(notices().length, 1);
    assert.match(notices()[0] ?? "", text);
    assert((await stages()).includes(stage));
    assert.equal((await get(w, `/asks/${correlation_id}`)).state, "open");
    await report({ turn_state: "idle", error });
    assert.equal(notices().length, 1, "once");
  });
}

Deno.test("an asker learns that the answering agent's process ended within its turn", async () => {
  await using w = world();
  const { api, notices, stages } = await readAsk(w);
  await post(w, `/peers/${api.peer_id}/offline`, { reason: "agent_exited", source: "process" });
  assert.match(notices()[0] ?? "", /ended with its process/);
  assert((await stages()).includes("turn_killed"));
});

Deno.test("no asker is notified of a completed turn, of an unread ask or of an answered ask", async () => {
  await using w = world();
  const { correlation_id, report, notices } = await readAsk(w);
  await report({ turn_state: "idle", last_message: "I will look into it" });
  assert.deepEqual(notices(), []);
  const unread = await ask(w, "web", "api");
  await post(w, "/ack", { correlation_id, message: "Port 8080", from_peer: "api" });
  const told = notices().length;
  await report({ turn_state: "working", prompt: "Something else" });
  await report({ turn_state: "idle", error: "interrupted" });
  assert.equal(notices().length, told);
  assert.equal((await get(w, `/asks/${unread}`)).state, "open");
});

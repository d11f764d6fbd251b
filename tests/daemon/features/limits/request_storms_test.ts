/** Agents that send requests without end: they are interrupted, and the person is told. */

import assert from "node:assert/strict";
import type { AgentPeer, InterruptAttempt } from "../../../../daemon/features/agents/adapter.ts";
import { limitWorld } from "../../../support/daemon/limits.ts";
import { ask, eventData, get } from "../../../support/daemon/peer_clients.ts";

/** A world in which the agent `doc` announces its requests, and has received so many bytes. */
async function stormWorld(received: (seconds: number) => number) {
  const at = await limitWorld({ settings: { "human.name": "sam" } });
  const { agents: { gemini }, w } = at;
  const begun = w.clock.now();
  const interrupted: string[] = [];
  Object.assign(gemini, {
    storm: { after_ms: 10_000, receivedBytes: () => received((w.clock.now() - begun) / 1000) },
    interrupt: ({ peer_id }: AgentPeer): Promise<InterruptAttempt> => {
      interrupted.push(peer_id);
      return Promise.resolve({ state: "asked", by: "1 Escape" });
    },
  });
  return { ...at, at, interrupted };
}

/** Ticks each second, while what runs in the background goes on. */
async function pass(w: Awaited<ReturnType<typeof stormWorld>>["w"], seconds: number) {
  for (let second = 0; second < seconds; second++) await w.tick();
}

Deno.test("an agent that receives data without a request is interrupted once, and its queue waits", async () => {
  const { at, interrupted, w, doc, hook, limit } = await stormWorld((seconds) => 4_000 * seconds);
  await using _ = at;
  await hook(doc, "UserPromptSubmit", { prompt: "Go" });
  await pass(w, 9);
  assert.deepEqual(interrupted, []);
  const id = await ask(w, "cli", doc.name);
  await pass(w, 12);
  assert.deepEqual(interrupted, [doc.peer_id]);
  assert.equal(eventData(w, "limit_storm").length, 1);
  const { state, evidence } = await limit("gemini");
  assert.deepEqual([state, evidence?.source], ["exhausted", "process table"]);
  const { items } = await get(w, "/inbox");
  assert(items.some(({ text }: { text: string }) => text.includes("without end")));
  const later = await ask(w, "cli", doc.name);
  await pass(w, 2);
  assert.equal((await at.message(later)).state, "queued");
  assert.notEqual(id, later);
});

Deno.test("an agent that only waits for its provider, or whose turn is over, is left alone", async () => {
  const { at, interrupted, w, doc, hook, limit } = await stormWorld((seconds) => 100 * seconds);
  await using _ = at;
  await hook(doc, "UserPromptSubmit", { prompt: "Go" });
  await pass(w, 70);
  assert.deepEqual(interrupted, []);
  assert.equal((await limit("gemini")).state, "clear");
});

Deno.test("an agent that receives much at times is left alone: a retry, a pasted text, a hook's end", async () => {
  const { at, interrupted, w, doc, hook } = await stormWorld((seconds) =>
    50_000 * Math.floor(seconds / 9)
  );
  await using _ = at;
  await hook(doc, "UserPromptSubmit", { prompt: "Go" });
  await pass(w, 70);
  assert.deepEqual(interrupted, []);
});

/** Turns that an error ended: who reports them, and who is told. */

import assert from "node:assert/strict";
import { formatInstant } from "kit/core/local_time.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import {
  addPeer,
  connectPeer,
  eventData,
  get,
  post,
} from "../../../support/daemon/peer_clients.ts";
import { readSubscription, subscribe, turn } from "../../../support/daemon/schedules.ts";
import { world } from "../../../support/world.ts";

Deno.test("a turn that an error ends is reported with the error's class, and also as finished [4.when.failed]", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada");
  await addPeer(w, "web");
  await turn(w, "web", "working");
  const { subscription_id: id } = await subscribe(w, "peer:web failed");
  await subscribe(w, "peer:web finished");
  await w.tick(1);
  await post(w, "/peers/web/turn", { turn_state: "idle", error: "rate_limit" });
  await w.tick(1);
  const told = ada.of("notify").map(({ text }) => text ?? "");
  const proof = "An error (rate_limit) ended a turn of web at " +
    `${formatInstant("2030-01-01T00:00:01.000Z")}.`;
  assert.ok(told.includes(`Subscription ${id}: ${proof}`), told.join("\n"));
  assert.equal(told.length, 2);
  assert.deepEqual(eventData(w, "turn_failed").map(({ error }) => error), ["rate_limit"]);
});

Deno.test("a turn that ends well, or that its user interrupts, has not failed", async () => {
  await using w = world();
  await connectPeer(w, "ada");
  await addPeer(w, "web");
  const { subscription_id: id } = await subscribe(w, "peer:web failed");
  for (const state of ["working", "idle", "working", "awaiting_input", "idle"] as const) {
    await turn(w, "web", state);
    await w.tick(1);
  }
  assert.equal((await readSubscription(w, id)).state, "active");
});

Deno.test("a client on /ws reports the error that ended its turn", async () => {
  await using w = world();
  const web = await connectPeer(w, "web");
  await web.send({ type: "status", status: "online", turn_state: "idle", error: "ApiError" });
  assert.deepEqual(eventData(w, "turn_failed").map(({ error }) => error), ["ApiError"]);
  await web.send({ type: "status", status: "online", error: "It said: no" });
  assert.equal(web.of("error")[0]?.error, "bad_frame");
  assert.equal(eventData(w, "turn_failed").length, 1);
});

Deno.test("Claude Code's StopFailure ends the turn, and an error of another form is unknown", async () => {
  await using w = world({ hooks: { "claude-code": claudeCodeHooks } });
  const session = { session_id: "s-1", cwd: "/work/api" };
  const report = (event: object) => post(w, "/hooks/claude-code", { ...session, ...event });
  for (const error of ["overloaded", "Words, and more of them", undefined]) {
    await report({ hook_event_name: "UserPromptSubmit", prompt: "Go on" });
    assert.deepEqual(await report({ hook_event_name: "StopFailure", error }), { status: 200 });
  }
  await w.tick(0); // The answer leaves before the commit and its effects.
  assert.deepEqual(
    eventData(w, "turn_failed").map(({ error }) => error),
    ["overloaded", "unknown", "unknown"],
  );
  const { peers: [peer] } = await get(w, "/peers");
  assert.deepEqual([peer.status, peer.turn_state], ["online", "idle"]);
});

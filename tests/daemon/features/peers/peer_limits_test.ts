/** The limits of one peer, which a person sets, and whether its hooks hand it messages. */

import assert from "node:assert/strict";
import { setPeer } from "protocol/peers/groups.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { type World, world } from "../../../support/world.ts";
import { addPeer, get, notify, post, signIn } from "../../../support/daemon/peer_clients.ts";

async function change(w: World, id: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await w.fetch(`/peers/${id}`, {
    method: "PATCH",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
  return { status: response.status, ...await response.json() };
}

async function statusOf(w: World, to_peer: string, from_peer = "ada"): Promise<number> {
  const answer = await w.post("/notify", { from_peer, to_peer, text: "Hi" });
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("a peer's own queue limit holds at once, for it alone, until it is removed", async () => {
  await using w = world({ settings: { "human.name": "sam", "daemon.queue.max_per_peer": "4" } });
  const page = await signIn(w);
  for (const name of ["api", "web"]) await addPeer(w, name);
  await notify(w, "ada", "api");
  await notify(w, "ada", "api");
  assert.equal((await change(w, "api", { queue_max: 2 }, page)).queue_max, 2);
  assert.equal(await statusOf(w, "api"), 429);
  for (let n = 0; n < 3; n++) assert.equal(await statusOf(w, "web"), 200);
  assert.equal((await change(w, "api", { queue_max: null }, page)).queue_max, null);
  assert.deepEqual([await statusOf(w, "api"), await statusOf(w, "api")], [200, 200]);
  assert.equal(await statusOf(w, "api"), 429);
  await change(w, "api", { queue_max: 5 }, page);
  assert.deepEqual([await statusOf(w, "api"), await statusOf(w, "api")], [200, 429]);
});

Deno.test("a peer's own rate limits each sender, and 0 allows any number", async () => {
  const settings = { "human.name": "sam", "daemon.limits.pair_per_minute": "3" };
  await using w = world({ settings });
  const page = await signIn(w);
  await addPeer(w, "api");
  for (const name of ["ada", "bob"]) await addPeer(w, name);
  await change(w, "api", { pair_per_minute: 1 }, page);
  assert.deepEqual([await statusOf(w, "api"), await statusOf(w, "api")], [200, 429]);
  assert.equal(await statusOf(w, "api", "bob"), 200);
  await change(w, "api", { pair_per_minute: 0 }, page);
  for (let n = 0; n < 5; n++) assert.equal(await statusOf(w, "api"), 200);
});

Deno.test("only a person sets limits, and a refused change changes nothing", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "api");
  for (const limit of [{ queue_max: 2 }, { pair_per_minute: 1 }, { queue_max: null }]) {
    const refused = await change(w, "api", { ...limit, tags: ["db"] });
    assert.deepEqual([refused.status, refused.error], [403, "human_not_proven"]);
  }
  const page = await signIn(w);
  for (const limit of [{ queue_max: 0 }, { queue_max: 1_000_001 }, { pair_per_minute: -1 }]) {
    assert.equal((await change(w, "api", limit, page)).error, "invalid_request");
  }
  const { queue_max, pair_per_minute, tags } = await get(w, "/peers/api");
  assert.deepEqual([queue_max, pair_per_minute, tags], [null, null, []]);
});

Deno.test("a peer without hook messages gets none in its prompt, and later all of them", async () => {
  await using w = world({ hooks: { "claude-code": claudeCodeHooks } });
  const session = { session_id: "s-1", cwd: "/work/api" };
  const prompt = async () => {
    const event = { ...session, hook_event_name: "UserPromptSubmit", prompt: "Go on" };
    const { hookSpecificOutput } = await post(w, "/hooks/claude-code", event);
    return hookSpecificOutput?.additionalContext ?? "";
  };
  assert.equal(await prompt(), "");
  const { peers: [{ name }] } = await get(w, "/peers");
  const set = (hook_messages: boolean) =>
    w.call(setPeer, { params: { id: name }, query: {}, body: { hook_messages } });
  await set(false);
  const { delivery_id } = await notify(w, "ada", name, "The schema changed");
  assert.equal(await prompt(), "");
  assert.equal((await get(w, `/messages/${delivery_id}`)).state, "queued");
  await set(true);
  assert.match(await prompt(), /The schema changed/);
});

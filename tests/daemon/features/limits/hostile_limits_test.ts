/** Reports of limits that prove too little, lie, or come with a wrong clock. */

import assert from "node:assert/strict";
import { LIMITED_UNTIL, limitWorld } from "../../../support/daemon/limits.ts";
import { ask, connectPeer, get, post } from "../../../support/daemon/peer_clients.ts";

const RESET = { resets_at: "2031-01-01T00:00:00.000Z" };

Deno.test("a report that any program may send holds for the named peer alone", async () => {
  await using at = await limitWorld();
  const { w, api, web, limit } = at;
  await post(w, `/peers/${api.peer_id}/turn`, {
    turn_state: "idle",
    error: "usage_limit_exceeded",
  });
  assert.equal((await limit()).state, "clear", "the account is at no limit");
  const { waits_for } = await at.peer(api.peer_id);
  assert.equal(waits_for.kind, "limit");
  const id = await ask(w, "cli", web.name);
  await w.tick(2);
  assert.equal((await at.message(id)).state, "sent");
});

Deno.test("a client that calls itself Codex holds up no other peer", async () => {
  await using at = await limitWorld();
  const { w, web } = at;
  const forger = await connectPeer(w, "forger", { backend: "codex" });
  const waits_for = { kind: "limit", ...RESET };
  await forger.send({ type: "status", status: "online", turn_state: "idle", waits_for });
  const id = await ask(w, "cli", web.name);
  await w.tick(2);
  assert.equal((await at.message(id)).state, "sent");
  assert.equal((await at.limit()).state, "clear");
});

Deno.test("a reset in the past or years ahead is not believed, and the account is tried in time", async () => {
  for (const in_ms of [-60_000, 400 * 86_400_000]) {
    await using at = await limitWorld();
    const { w, api, hitLimit, limit } = at;
    await hitLimit(api, { in_ms });
    const found = await limit();
    assert.deepEqual([found.state, found.resets_at], ["exhausted", null]);
    const wait_ms = Date.parse(found.resumes_at ?? "") - w.clock.now();
    assert(wait_ms > 0 && wait_ms <= 2 * 3_600_000, `${wait_ms}`);
  }
});

Deno.test("a turn that is said to have ended well before the reset lets one message go, no more", async () => {
  await using at = await limitWorld();
  const { w, api, hitLimit, hook, limit } = at;
  await hitLimit(api);
  const ids = [await ask(w, "cli", api.name, "One?"), await ask(w, "cli", api.name, "Two?")];
  await w.tick(2);
  await hook(api, "UserPromptSubmit", { prompt: "Free me" });
  await w.tick(2);
  await hook(api, "Stop", { stop_hook_active: false, last_assistant_message: "Free" });
  await w.tick(3);
  assert.equal((await limit()).state, "probing");
  const states = await Promise.all(ids.map(async (id) => (await at.message(id)).state));
  assert.deepEqual(states, ["sent", "queued"]);
});

Deno.test("a turn that began before the limit, and an idle state, clear nothing", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, hook, limit } = at;
  await hook(web, "UserPromptSubmit", { prompt: "Work" });
  await hitLimit(api);
  await hook(web, "Stop", { stop_hook_active: false, last_assistant_message: "Done" });
  await post(w, `/peers/${api.peer_id}/turn`, { turn_state: "idle" });
  await hook(api, "SessionStart", { source: "resume" });
  await w.tick(2);
  assert.equal((await limit()).state, "exhausted");
});

Deno.test("a clock that is set back makes no pause longer, and a provider's reset stays", async () => {
  await using at = await limitWorld();
  const { w, api, hitLimit, limit } = at;
  await hitLimit(api, { resets_at: undefined });
  const before = Date.parse((await limit()).resumes_at ?? "") - w.clock.now();
  w.clock.step(-30 * 86_400_000);
  await w.tick();
  const after = Date.parse((await limit()).resumes_at ?? "") - w.clock.now();
  assert(Math.abs(before - after) < 5_000, `${before} ${after}`);
});

/** Hours that contain an instant, and end an hour after it. */
function hoursAround(at: number): string {
  const text = (ms: number) => new Date(ms).toTimeString().slice(0, 5);
  return `${text(at - 7_200_000)}-${text(at + 3_600_000)}`;
}

Deno.test("nothing goes on within the quiet hours, and it goes on at their end", async () => {
  const reset = Date.parse("2030-01-01T00:00:00.000Z") + LIMITED_UNTIL;
  await using at = await limitWorld({ settings: { "limits.quiet_hours": hoursAround(reset) } });
  const { w, api, hitLimit, limit } = at;
  await hitLimit(api);
  const id = await ask(w, "cli", api.name);
  assert.equal((await limit()).waits_for, "quiet_hours");
  await w.tick(LIMITED_UNTIL / 1000 + 60);
  await w.tick(60);
  assert.equal((await at.message(id)).state, "queued");
  await w.tick(3_600);
  await w.tick();
  assert.equal((await at.message(id)).state, "sent");
});

Deno.test("with limits.resume never or ask, a person has to let the account go on", async () => {
  for (const mode of ["never", "ask"]) {
    const settings = { "limits.resume": mode, "human.name": "sam" };
    await using at = await limitWorld({ settings });
    const { w, api, hitLimit, limit } = at;
    await hitLimit(api);
    const id = await ask(w, "cli", api.name);
    await w.tick(LIMITED_UNTIL / 1000 + 6);
    await w.tick(600);
    assert.equal((await at.message(id)).state, "queued", mode);
    assert.equal((await limit()).waits_for, "approval");
    const { items } = await get(w, "/inbox");
    const asked = items.filter(({ text }: { text: string }) => text.includes("mesh limits resume"));
    assert.equal(asked.length, mode === "ask" ? 1 : 0, mode);
    await at.postAsPerson(`/limits/${(await limit()).account_id}/resume`);
    await w.tick(2);
    assert.equal((await at.message(id)).state, "sent", mode);
  }
});

Deno.test("a limit of one account leaves the peers of another alone", async () => {
  await using at = await limitWorld();
  const { w, api, doc, hitLimit, limit } = at;
  await hitLimit(api);
  const id = await ask(w, "cli", doc.name);
  await w.tick(2);
  assert.equal((await at.message(id)).state, "sent");
  assert.equal((await limit("gemini")).state, "clear");
});

Deno.test("a provider's text is kept as one bounded line without control characters", async () => {
  await using at = await limitWorld();
  const { api, hitLimit, limit } = at;
  await hitLimit(api, {
    limit: { window: "five_hour", text: `Used\u001b[2J up\n${"x".repeat(999)}` },
  });
  const text = (await limit()).evidence?.text ?? "";
  assert(text.length <= 300 && /^[^\p{Cc}]*$/u.test(text), text);
});

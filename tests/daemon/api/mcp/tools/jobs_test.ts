import assert from "node:assert/strict";
import { world } from "../../../../support/world.ts";
import { get, post } from "../../../../support/daemon/peer_clients.ts";
import { attemptOf, job, stateOf, template } from "../../../../support/daemon/jobs.ts";
import { agents } from "../../../../support/daemon/mcp_agents.ts";
import { PROTOCOL_VERSIONS } from "../../../../support/daemon/mcp_server.ts";

for (const protocolVersion of PROTOCOL_VERSIONS) {
  Deno.test(`${protocolVersion}: an agent creates a job for another, which reports on it and completes it`, async () => {
    await using w = world();
    await using at = await agents(w, protocolVersion);
    const asked = {
      prompt: "Build it",
      title: "Build",
      assigned_peer: "web",
      idempotency_key: "k",
    };
    const made = await at.api.call("job_create", asked);
    assert.equal(made.problemResponse, false, made.text);
    const again = await at.api.call("job_create", asked);
    const { job_id } = made.data["job"] as { job_id: string };
    assert.equal((again.data["job"] as { job_id: string }).job_id, job_id);
    assert.equal((await job(w, job_id)).created_by_peer_id, at.ids.api);
    const { deliveries: [{ delivery_id, text }] } = await get(
      w,
      `/deliveries/pending?peer_id=${at.ids.web}`,
    );
    assert.match(text, /^Build it\n\n\[job work-/);
    await post(w, `/peers/${at.ids.web}/turn`, { prompt: `[mesh ${delivery_id}]` });
    const attempt_id = await attemptOf(w, job_id);
    const held = await at.web.call("job_update", {
      job_id,
      attempt_id,
      phase: "waiting_for_ci",
      progress: 60,
    });
    assert.match(held.text, /running, waiting_for_ci/);
    const status = await at.api.call("job_status", { job_id });
    assert.deepEqual((status.data["job"] as { progress: number }).progress, 60);
    const done = { job_id, attempt_id, state: "completed", result_summary: "Green" };
    await at.web.call("job_update", done);
    const result = await at.api.call("job_result", { job_id });
    assert.match(result.text, /completed\nGreen/);
    const listed = await at.api.call("job_list", { state: "completed" });
    assert.deepEqual((listed.data["jobs"] as unknown[]).length, 1);
    assert.equal((await at.api.call("job_list", { mine: true })).text, "No jobs.");
  });
}

Deno.test("an agent creates and cancels a recurring job [c6.jobs]", async () => {
  await using w = world();
  await using at = await agents(w, "2025-11-25");
  const asked = { prompt: "Look around", assigned_peer: "web", cron: "0 9 * * *" };
  const made = await at.api.call("job_create", asked);
  const { job_id } = made.data["recurring"] as { job_id: string };
  assert.match(made.text, /^cal-\w+: active; next 20/);
  assert.match((await at.api.call("job_list", {})).text, /^cal-\w+ {2}active {2}A task for web$/);
  await at.api.call("job_cancel", { job_id });
  assert.equal((await template(w, job_id)).state, "cancelled");
});

Deno.test("an unknown caller starts no agent and cancels no job", async () => {
  await using w = world();
  await using at = await agents(w, "2025-11-25");
  const own = { prompt: "Go", path: "/work", backend: "codex" };
  assert.match((await at.anonymous.call("job_create", own)).text, /unknown_caller/);
  const made = await at.anonymous.call("job_create", { prompt: "Go", assigned_peer: "web" });
  const { job_id } = made.data["job"] as { job_id: string };
  assert.match((await at.anonymous.call("job_cancel", { job_id })).text, /unknown_caller/);
  assert.equal(await stateOf(w, job_id), "dispatching");
  const wrong = await at.api.call("job_status", { job_id: "work-none" });
  assert.match(wrong.text, /^unknown_job/);
  const unpaired = await at.api.call("job_status", { job_id: "\ud800" });
  assert.match(unpaired.text, /^unknown_job/, "a lone surrogate is an unknown id");
  const ended = await at.api.call("job_update", { job_id, state: "completed" });
  assert.match(ended.text, /^attempt_id_required/);
});

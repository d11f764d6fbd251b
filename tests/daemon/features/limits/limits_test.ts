/** Limits of accounts: reports of agents, holds of queues, the probe after the reset. */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { listLimits } from "protocol/limits/contract.ts";
import type { InboxItem } from "protocol/inbox.ts";
import { FakeClock } from "../../../support/clock.ts";
import {
  LIMITED_UNTIL,
  LimitedAgents,
  limitWorld,
  sentTo,
} from "../../../support/daemon/limits.ts";
import { ask, connectPeer, eventData, get, post } from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import { countingIds } from "../../../support/ids.ts";

Deno.test("a limit of an agent holds the queues of all peers of its account until its reset", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, limit } = at;
  await hitLimit(api);
  const found = await limit();
  assert.equal(found.state, "exhausted");
  assert.equal(found.window, "five_hour");
  assert.deepEqual(found.peers.map(({ name }) => name).sort(), [api.name, web.name].sort());
  assert.equal(found.waits_for, "reset");
  const id = await ask(w, "cli", web.name, "Ready?");
  await w.tick(5);
  const trace = await get(w, `/traces/${id}`);
  assert.equal((await w.call(getAsk, { params: { id } })).delivered_at, null);
  assert.equal((await at.message(id)).reason, "account_limited");
  assert.equal(trace.status, 200);
  const { waits_for } = await get(w, `/peers/${web.peer_id}`);
  assert.equal(waits_for.kind, "limit");
  assert.equal(waits_for.detail, "five_hour");
  assert.deepEqual(eventData(w, "limit_changed").map(({ state }) => state), ["exhausted"]);
});

Deno.test("a limit that was not stored is recorded when the agent shows it again", async () => {
  using faults = new SqliteFaults();
  await using at = await limitWorld();
  const { w, agents, api, hook, limit } = at;
  await hook(api, "UserPromptSubmit", { prompt: "Go" });
  await w.tick(3);
  const { now } = w.clock;
  const [since, resets_at] = [now.call(w.clock), now.call(w.clock) + LIMITED_UNTIL];
  const text = "usage_limit_exceeded",
    window = { window: "five_hour", text: "At its limit" } as const;
  const end = { how: "failed", at: since, source: "session file", text, resets_at } as const;
  agents.codex.ends.set(api.session_id, { ...end, limit: window, prompts_since: [] });
  for (let after = 0; after < 12 && (await limit()).state !== "exhausted"; after++) {
    faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
    await w.tick();
    faults.disarm();
    if (after > 3) await w.tick(3);
  }
  assert.deepEqual([faults.hit, (await limit()).state], [true, "exhausted"]);
});

Deno.test("after the reset one message goes first, and the rest after its turn ended well", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, limit } = at;
  await hitLimit(api);
  const first = await ask(w, "cli", api.name, "One?");
  const second = await ask(w, "cli", api.name, "Two?");
  const other = await ask(w, "cli", web.name, "Three?");
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick();
  const states = async () => {
    const found = await Promise.all([first, second, other].map((id) => at.message(id)));
    return found.map(({ state }) => state);
  };
  assert.deepEqual(await states(), ["sent", "queued", "queued"]);
  assert.equal((await at.message(second)).reason, "limit_probe");
  assert.equal((await limit()).state, "probing");
  assert.equal((await limit()).waits_for, "probe");
  await at.hook(api, "UserPromptSubmit", { prompt: `[mesh] <peer-message id="${first}">One?` });
  await at.hook(api, "Stop", { stop_hook_active: false, last_assistant_message: "Yes" });
  await w.tick(2);
  assert.deepEqual(await states(), ["seen", "sent", "sent"]);
  assert.equal((await limit()).state, "clear");
});

Deno.test("a good turn of another agent of the account does not answer for the probe", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, limit, hook } = at;
  await hitLimit(api);
  await ask(w, "cli", api.name);
  const waiting = await ask(w, "cli", web.name);
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick();
  await hook(web, "UserPromptSubmit", { prompt: "Name a lake" });
  await hook(web, "Stop", { stop_hook_active: false, last_assistant_message: "Lindau" });
  await w.tick(2);
  assert.deepEqual([(await limit()).state, (await at.message(waiting)).state], [
    "probing",
    "queued",
  ]);
});

for (const hasBegun of [false, true]) {
  const when = hasBegun ? "within" : "before it begins";
  Deno.test(`an agent that ends ${when} the probe's turn frees the next message, as the probe`, async () => {
    await testEnd(hasBegun);
  });
}

async function testEnd(hasBegun: boolean): Promise<void> {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, limit } = at;
  await hitLimit(api);
  const [first, second] = [await ask(w, "cli", api.name), await ask(w, "cli", web.name)];
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick();
  const stateOf = async (id: string) => (await at.message(id)).state;
  assert.deepEqual([await stateOf(first), await stateOf(second)], ["sent", "queued"]);
  const prompt = `[mesh] <peer-message id="${first}">`;
  if (hasBegun) await at.hook(api, "UserPromptSubmit", { prompt });
  w.processes.end(101);
  await w.tick(3);
  assert.equal((await limit()).state, "probing");
  assert.equal(await stateOf(second), "sent");
  await at.hook(web, "UserPromptSubmit", { prompt: `[mesh] <peer-message id="${second}">` });
  await at.hook(web, "Stop", { stop_hook_active: false, last_assistant_message: "Yes" });
  await w.tick(2);
  assert.equal((await limit()).state, "clear");
}

Deno.test("an asker is told until when its ask waits, and the person is offered to hand the work over", async () => {
  await using at = await limitWorld({ settings: { "human.name": "sam" } });
  const { w, api, web, doc, hitLimit } = at;
  const queued = await ask(w, doc.name, web.name);
  await hitLimit(api);
  const end = new Date((await at.limit()).resets_at ?? "").toTimeString().slice(0, 5);
  const { messages } = await get(w, `/messages?peer=${doc.name}&kind=notify`);
  const sentence = `web is out of its five-hour limit until ${end}; ${queued} waits.`;
  assert.deepEqual(messages.map(({ text }: { text: string }) => text), [sentence]);
  await w.tick();
  const { items } = await get(w, "/inbox");
  assert.equal(items.length, 1);
  assert.match(
    items[0].text,
    /^web is out of its five-hour limit until .*; what is sent to it waits/,
  );
  assert.match(items[0].text, /mesh peer switch web --backend BACKEND/);
  await w.tick(60);
  assert.equal((await get(w, "/inbox")).items.length, 1, "the offer is made once");
  assert.equal(eventData(w, "spawn").length, 0, "nothing is handed over unasked");
});

Deno.test("a probe that meets the limit again holds the queue again, and a longer limit is told", async () => {
  await using at = await limitWorld();
  const { w, api, hitLimit, limit } = at;
  await hitLimit(api);
  const first = await ask(w, "cli", api.name, "One?");
  const second = await ask(w, "cli", api.name, "Two?");
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick();
  assert.equal((await at.message(first)).state, "sent");
  await hitLimit(api, { in_ms: 7_200_000, limit: { window: "seven_day" } });
  assert.deepEqual([(await limit()).state, (await limit()).window], ["exhausted", "seven_day"]);
  assert.equal((await at.message(second)).state, "queued");
  await w.tick(3_600);
  assert.equal((await at.message(second)).state, "queued");
});

Deno.test("an account without credit waits for a person, whose word lets one message go", async () => {
  await using at = await limitWorld({ settings: { "human.name": "sam" } });
  const { w, api, hitLimit, limit } = at;
  await hitLimit(api, { text: "insufficient_quota", resets_at: undefined, limit: {} });
  const id = await ask(w, "cli", api.name);
  assert.equal((await limit()).state, "out_of_credits");
  await w.tick(7 * 86_400);
  assert.deepEqual([(await limit()).waits_for, (await limit()).resumes_at], ["person", null]);
  const resumed = await at.postAsPerson(`/limits/${api.name}/resume`);
  assert.deepEqual([resumed.status, resumed.state], [200, "probing"]);
  await w.tick(2);
  assert.notEqual((await at.message(id)).state, "queued");
});

Deno.test("nobody but a person resumes an account, and an unknown one is refused", async () => {
  await using at = await limitWorld({ settings: { "human.name": "sam" } });
  const { w, api, hitLimit, limit } = at;
  await hitLimit(api);
  assert.equal((await post(w, `/limits/${api.name}/resume`)).error, "human_not_proven");
  assert.equal((await limit()).state, "exhausted");
  assert.equal((await at.postAsPerson("/limits/acct-none/resume")).error, "unknown_limit");
  assert.equal((await at.postAsPerson("/limits/nobody/resume")).error, "unknown_peer");
});

Deno.test("a limit survives a restart of the daemon, and goes on at its reset", async () => {
  using file = restartableWorld();
  const shared = { db_path: file.db_path, clock: new FakeClock(), ids: countingIds() };
  {
    await using at = await limitWorld(shared);
    await at.hitLimit(at.api);
    await ask(at.w, "cli", at.web.name);
  }
  await using w = file.start({ ...shared, adapters: [new LimitedAgents("codex")] });
  assert.equal((await get(w, "/limits")).limits[0].state, "exhausted");
  await w.tick(LIMITED_UNTIL / 1000 + 10);
  assert.equal((await get(w, "/limits")).limits[0].state, "probing");
});

Deno.test("a job whose turn a limit ended is parked, and completed by the turn that goes on", async () => {
  await using at = await limitWorld();
  const { w, api, hitLimit, hook } = at;
  const created = await post(w, "/jobs", { prompt: "Mend it", assigned_peer: api.name });
  const job = async () => await get(w, `/jobs/${created.job_id}`);
  await w.tick(2);
  const { runner: { current_attempt_id } } = await job();
  const [delivery_id] = await sentTo(w, api);
  await hook(api, "UserPromptSubmit", { prompt: `[mesh ${delivery_id}] ${current_attempt_id}` });
  assert.equal((await job()).state, "running");
  await hitLimit(api, {}, { prompt: undefined });
  assert.deepEqual(
    [(await job()).state, (await job()).state_reason],
    ["blocked", "account_limited"],
  );
  const later = await post(w, "/jobs", { prompt: "And that", assigned_peer: api.name });
  await w.tick(2);
  const waiting = await get(w, `/jobs/${later.job_id}`);
  assert.deepEqual([waiting.state, waiting.state_reason], ["queued", "account_limited"]);
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick(2);
  const { messages: [goOn] } = await get(w, `/messages?q=%22Go+on+with%22`);
  assert.match(goOn.text, new RegExp(`${created.job_id} \\(${current_attempt_id}\\)`));
  await hook(api, "UserPromptSubmit", { prompt: `[mesh ${goOn.delivery_id}] ${goOn.text}` });
  assert.equal((await job()).state, "running");
  await hook(api, "Stop", { stop_hook_active: false, last_assistant_message: "Mended" });
  assert.deepEqual([(await job()).state, (await job()).result_summary], ["completed", "Mended"]);
  await w.tick(15);
  assert.equal((await get(w, `/jobs/${later.job_id}`)).state, "delivered");
});

Deno.test("an agent that goes on by itself gets no message, and its turn is the probe", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, hook, limit } = at;
  await hitLimit(api, { limit: { window: "five_hour", continues: true } });
  const id = await ask(w, "cli", web.name);
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick(60);
  assert.equal((await limit()).waits_for, "agent");
  assert.equal((await at.message(id)).state, "queued");
  await hook(api, "UserPromptSubmit", { prompt: "Your usage limit has reset. Continue" });
  await hook(api, "Stop", { stop_hook_active: false, last_assistant_message: "Done" });
  await w.tick(2);
  assert.equal((await limit()).state, "clear");
  assert.equal((await at.message(id)).state, "sent");
});

Deno.test("a turn that goes on within itself after the reset is the probe, too", async () => {
  await using at = await limitWorld();
  const { w, api, hitLimit, hook, limit } = at;
  await hitLimit(api, { limit: { continues: true } });
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick(2);
  assert.equal((await limit()).waits_for, "agent");
  await hook(api, "Stop", { stop_hook_active: false, last_assistant_message: "Done" });
  assert.equal((await limit()).state, "clear");
});

Deno.test("an agent that should go on by itself and does not is waited for five minutes", async () => {
  await using at = await limitWorld();
  const { w, api, hitLimit } = at;
  await hitLimit(api, { limit: { window: "five_hour", continues: true } });
  const id = await ask(w, "cli", api.name);
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  await w.tick(290);
  assert.equal((await at.message(id)).state, "queued");
  await w.tick(15);
  await w.tick(2);
  assert.equal((await at.message(id)).state, "sent");
});

Deno.test("routing and a tag go round a peer at its limit, unless there is no other", async () => {
  await using at = await limitWorld({ settings: { "routing.strategy": "least_busy" } });
  const { w, api, web, doc, hitLimit } = at;
  await hitLimit(api);
  const routed = await post(w, "/ask", { from_peer: "cli", text: "Who?" });
  assert.equal(routed.to_peer_id, doc.peer_id);
  for (const { peer_id } of [api, web, doc]) {
    await w.fetch(`/peers/${peer_id}`, {
      method: "PATCH",
      body: JSON.stringify({ add_tags: ["crew"] }),
    });
  }
  const { children } = await post(w, "/asks/many", {
    from_peer: "cli",
    to_peers: ["@crew"],
    text: "Ready?",
  });
  const errors = children.map((
    child: { peer: string; error?: string },
  ) => [child.peer, child.error]);
  assert.deepEqual(errors, [["api", "peer_limited"], ["web", "peer_limited"], ["doc", undefined]]);
  await hitLimit(doc);
  const all = await post(w, "/asks/many", { from_peer: "cli", to_peers: ["@crew"], text: "Now?" });
  assert(all.children.every(({ error }: { error?: string }) => error === undefined));
});

Deno.test("what the person was offered at a limit is read once the limit is over", async () => {
  await using at = await limitWorld({ settings: { "human.name": "sam" } });
  const { w, api, web, hitLimit } = at;
  await ask(w, "cli", web.name);
  await hitLimit(api);
  await w.tick();
  const isRead = async () => (await get(w, "/inbox")).items.map(({ read }: InboxItem) => read);
  assert.deepEqual(await isRead(), [false]);
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  assert.deepEqual(await isRead(), [true]);
  await hitLimit(api);
  await w.tick();
  assert.deepEqual((await isRead()).toSorted(), [false, true], "the next limit is offered again");
});

Deno.test("a sleeping peer is shown with its account, whose limit holds what waits for it", async () => {
  await using at = await limitWorld();
  const { w, api, web, hitLimit, limit } = at;
  const id = await ask(w, "cli", web.name);
  await post(w, `/peers/${web.peer_id}/offline`, { reason: "session_end" });
  await hitLimit(api);
  const { peers, queued, state } = await limit();
  assert.deepEqual([peers.map(({ name }) => name).toSorted(), state], [
    ["api", "web"],
    "exhausted",
  ]);
  const later = await ask(w, "cli", web.name);
  assert.equal((await limit()).queued, queued + 1);
  assert.notEqual(id, later);
  await post(w, `/peers/${api.peer_id}/offline`, { reason: "session_end" });
  assert.equal((await limit()).peers.length, 2);
});

Deno.test("the metrics count accounts by the state of their limits", async () => {
  await using at = await limitWorld();
  await at.hitLimit(at.api);
  const metrics = await (await at.w.fetch("/metrics")).text();
  assert.match(metrics, /mesh_account_limits\{state="exhausted"\} 1/);
});

Deno.test("a record of a used window is shown with its time, and not after the window's reset", async () => {
  await using at = await limitWorld();
  const { w, api, limit } = at;
  const now = w.clock.now();
  const five = { window: "five_hour", used_percent: 83, resets_at: now + 60_000, at: now };
  const seven = { window: "seven_day", used_percent: 42, resets_at: null, at: now };
  at.agents.codex.windows.set(api.session_id, [five, seven]);
  const recorded_at = new Date(now).toISOString();
  const found = (await limit()).windows;
  assert.deepEqual(found.map(({ used_percent, at }) => [used_percent, at]), [
    [83, recorded_at],
    [42, recorded_at],
  ]);
  const metrics = async () => await (await w.fetch("/metrics")).text();
  const sample = 'mesh_account_used_ratio{backend="codex",window="five_hour"} 0.83';
  assert((await metrics()).includes(sample), sample);
  await w.tick(61);
  assert.deepEqual((await limit()).windows.map(({ window }) => window), ["seven_day"]);
  assert(!(await metrics()).includes('window="five_hour"'));
});

Deno.test("agents are asked for their windows on request alone, once a minute, and the latest counts", async () => {
  await using at = await limitWorld();
  const { w, api, limit } = at;
  let asked = 0;
  const windowAt = (used_percent: number, at: number) => ({
    window: "five_hour",
    used_percent,
    resets_at: null,
    at,
  });
  Object.assign(at.agents.codex, {
    askForWindows: () => Promise.resolve([windowAt(++asked, w.clock.now())]),
  });
  const used = async () => (await limit()).windows.map(({ used_percent }) => used_percent);
  const refresh = () => w.call(listLimits, { query: { refresh: "true" } });
  assert.deepEqual(await used(), []);
  await refresh();
  await refresh();
  assert.deepEqual([await used(), asked], [[1], 1]);
  await w.tick(61);
  at.agents.codex.windows.set(api.session_id, [windowAt(50, w.clock.now())]);
  assert.deepEqual(await used(), [50], "the agent has recorded it since");
  await w.tick(1);
  await refresh();
  assert.deepEqual(await used(), [2]);
});

Deno.test("a program that only says that it is idle again has answered the probe", async () => {
  await using at = await limitWorld();
  const { w } = at;
  const program = await connectPeer(w, "program");
  const resets_at = new Date(w.clock.now() + LIMITED_UNTIL).toISOString();
  const idle = { type: "status", status: "online", turn_state: "idle" };
  await program.send({ ...idle, waits_for: { kind: "limit", resets_at } });
  const ids = [await ask(w, "cli", "program", "One?"), await ask(w, "cli", "program", "Two?")];
  await w.tick(LIMITED_UNTIL / 1000 + 6);
  const states = () => Promise.all(ids.map(async (id) => (await at.message(id)).state));
  assert.deepEqual(await states(), ["sent", "queued"]);
  await program.send({ type: "status", status: "busy", turn_state: "working" });
  await w.tick(30);
  assert.deepEqual(await states(), ["sent", "queued"]);
  await program.send(idle);
  await w.tick(12);
  assert.deepEqual(await states(), ["sent", "sent"]);
});

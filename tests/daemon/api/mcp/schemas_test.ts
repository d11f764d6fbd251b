/** Every tool: its listing, and results that fit its output schema, on both protocol versions. */

import assert from "node:assert/strict";
import { HANDED_OFF } from "../../../support/sessions/handoffs.ts";
import * as z from "zod";
import {
  connect,
  mcpFixture,
  problemResponse,
  PROTOCOL_VERSIONS,
  waitUntil,
  WEB_PEER,
} from "../../../support/daemon/mcp_server.ts";

const OPENED = {
  correlation_id: "ask-1",
  trace_id: "ask-1",
  to_peer_id: "peer-web",
  to_peer_name: "web",
  delivery_state: "sent",
};
const RESOLVED = {
  correlation_id: "ask-1",
  status: "resolved",
  outcome: "answered",
  reply: "Use <b>&amp;</b>",
  close_reason: "ack_with_msg",
  option_id: null,
  reply_attachments: [],
  responder: "web",
  closed_at: "2030-01-01T00:00:00.000Z",
};
const SPAWNED = {
  spawn_id: "spawn-1",
  display_name: "work-sdk",
  pane_id: "%1",
  tmux_session: "work",
  registration_state: "awaiting",
  seed_state: null,
  warnings: [],
};
const RESTARTED = {
  restart_id: "restart-1",
  outcome: "restarted",
  resume_mode: "resumed",
  would_run: null,
};
const SCHEDULED = {
  schedule_id: "sched-1",
  from_peer: "api",
  from_peer_id: "peer-api",
  from_peer_name: "api",
  to_peer: "web",
  text: "Stand up",
  kind: "notify",
  state: "active",
  cron: null,
  timezone: null,
  circle: null,
  fire_at: "2030-01-01T00:10:00.000Z",
  next_fire_at: "2030-01-01T00:10:00.000Z",
  last_fired_at: null,
  last_outcome: null,
  last_error: null,
  last_message_id: null,
  created_at: "2030-01-01T00:00:00.000Z",
};
const SUBSCRIBED = {
  subscription_id: "sub-1",
  condition: "peer:web idle",
  to_peer: null,
  until: null,
  state: "active",
  fires: 0,
  last_error: null,
  last_proof: null,
};
const SCHEDULES = {
  "POST /schedules": () => SCHEDULED,
  "POST /subscriptions": () => SUBSCRIBED,
  "GET /subscriptions": () => ({ subscriptions: [SUBSCRIBED] }),
  "DELETE /subscriptions/sub-1": () => ({ ...SUBSCRIBED, state: "cancelled" }),
  "GET /schedules": () => ({ schedules: [SCHEDULED] }),
  "DELETE /schedules/sched-1": () => ({ ...SCHEDULED, state: "cancelled" }),
};
const SCHEDULE_CALLS: [string, Record<string, unknown>][] = [
  ["schedule_create", { peer: "web", message: "Stand up", fire_at: "10m" }],
  ["schedule_list", {}],
  ["schedule_delete", { schedule_id: "sched-1" }],
  ["subscribe", { condition: "peer:web idle" }],
  ["subscribe", { action: "list" }],
  ["subscribe", { action: "cancel", subscription_id: "sub-1" }],
];
const ASKED = {
  "POST /ask": () => OPENED,
  "GET /recall": () => ({ matches: [] }),
  "POST /asks/ask-1/wait": () => RESOLVED,
  "GET /asks/ask-1": () => ({ reply_voice: "peer" }),
};

const JOB = {
  job_id: "work-1",
  title: "Mend",
  state: "running",
  state_reason: null,
  phase: null,
  progress: null,
  assigned_peer_id: "peer-web",
  owner_peer_id: null,
  due_at: null,
  result_summary: null,
  result_data: null,
  error: null,
  updated_at: "2030-01-01T00:00:00Z",
  runner: { current_attempt_id: "attempt-1" },
};

const FORKED = {
  ...SPAWNED,
  source_peer_id: "peer-web",
  session_id: "s-1",
  source_turn_state: "idle",
};

const WRITE_ANSWERS = {
  "POST /spawn": () => SPAWNED,
  "POST /peers/web/fork": () => FORKED,
  "POST /handoffs": () => HANDED_OFF,
  "POST /peers/peer-web/restart": () => RESTARTED,
  "POST /jobs": () => JOB,
  "GET /jobs": () => ({ work: [JOB], recurring: [] }),
  "GET /jobs/work-1": () => JOB,
  "PATCH /jobs/work-1": () => JOB,
  "GET /jobs/work-1/result": () => JOB,
  "POST /jobs/work-1/cancel": () => JOB,
};
const JOB_CALLS: [string, Record<string, unknown>][] = [
  ["job_create", { prompt: "Mend it", assigned_peer: "web" }],
  ["job_list", {}],
  ["job_status", { job_id: "work-1" }],
  ["job_update", { job_id: "work-1", phase: "waiting" }],
  ["job_result", { job_id: "work-1" }],
  ["job_cancel", { job_id: "work-1" }],
];

/** At least one call of each tool. */
const CALLS: readonly [tool: string, given: Record<string, unknown>][] = [
  ["ask", { peer: "web", message: "Why?" }],
  ["ask", { peer: "web", message: "Why?", wait_seconds: 1 }],
  ["wait_on_ack", { correlation_id: "ask-1" }],
  ["ack", { correlation_id: "ask-1", message: "Because" }],
  ["decline", { correlation_id: "ask-1", reason: "busy" }],
  ["notify_peer", { peer: "web", message: "Done" }],
  ["broadcast", { message: "Done" }],
  ["list_peers", {}],
  ["whoami", {}],
  ["set_description", { description: "Tests" }],
  ["set_name", { name: "web" }],
  ["ask_many", { peers: ["x"], message: "Why?" }],
  ["ask_many_result", { parent_id: "askm-1" }],
  ["answer", { correlation_id: "ask-1", option_id: "a" }],
  ["list_asks", {}],
  ["search_messages", { query: "Why" }],
  ["read_transcript", { peer: "web" }],
  ["read_changes", { peer: "web" }],
  ["blame", { file: "/work/a.ts", line: 1 }],
  ...JOB_CALLS,
  ...SCHEDULE_CALLS,
  ["kill_peer", { peer: "web" }],
  ["interrupt_peer", { peer: "web" }],
  ["claim_orchestrator_role", {}],
  ["orchestrator_status", {}],
  ["spawn_peer", { path: "/work", backend: "sdk" }],
  ["fork_peer", { peer: "web" }],
  ["hand_off", { peer: "web", note: "Go on" }],
  ["restart_peer", { peer: "web" }],
  ["share_session", {}],
  ["revoke_share", { share_id: "sh_1" }],
];

const SHARED = {
  share_id: "sh_1",
  url: "https://relay.example/s/sh_1",
  display_name: "api",
  peer_id: "peer-api",
  permissions: "ro",
  expires_at: "2030-01-02T00:00:00.000Z",
};

const INTERRUPTED = {
  peer_id: "peer-web",
  name: "web",
  outcome: "asked",
  by: "its own client",
  proof: null,
  detail: "web was asked to stop",
};

const TRANSCRIPT = {
  peer_id: "peer-web",
  name: "web",
  backend: "codex",
  session_id: "s-1",
  entries: [
    {
      position: 1,
      at: null,
      kind: "text",
      tool: null,
      call: null,
      outcome: null,
      text: "Yes",
      chars: 3,
      masked: 0,
    },
  ],
  before: null,
  cut: false,
};

const BLAME = {
  path: "/work/a.ts",
  root: "/work",
  file: "a.ts",
  state: "ok",
  detail: null,
  lines: [{
    first: 1,
    last: 1,
    links: [{ kind: "gap", how: "unknown", id: null, name: null, at: null, text: "Nobody" }],
  }],
};
const CHANGES = {
  peer_id: "peer-web",
  name: "web",
  state: "no_repository",
  detail: "Its folder is in no git repository",
  folder: "/work",
  root: null,
  branch: null,
  head: null,
  base: null,
  commits: null,
  operation: null,
  added: 0,
  removed: 0,
  files_total: 0,
  files: [],
  next: null,
  left_out: [],
  masked: 0,
  read_at: "2030-01-02T00:00:00.000Z",
};

for (const protocolVersion of PROTOCOL_VERSIONS) {
  Deno.test(`${protocolVersion}: the tools are listed with schemas, hints and advice, in JSON`, async () => {
    await using at = await connect(mcpFixture().fetch, { protocolVersion });
    const { tools } = await at.client.listTools();
    assert.deepEqual(tools.map(({ name }) => name), [
      "ask",
      "wait_on_ack",
      "ask_many",
      "ask_many_result",
      "ack",
      "decline",
      "answer",
      "list_asks",
      "notify_peer",
      "broadcast",
      "list_peers",
      "whoami",
      "set_description",
      "set_name",
      "hand_off",
      "search_messages",
      "read_transcript",
      "read_changes",
      "blame",
      ...["job_create", "job_list", "job_status", "job_update", "job_result", "job_cancel"],
      "schedule_create",
      "schedule_list",
      "schedule_delete",
      "subscribe",
      "kill_peer",
      "interrupt_peer",
      "claim_orchestrator_role",
      "orchestrator_status",
      "spawn_peer",
      "fork_peer",
      "restart_peer",
      "share_session",
      "revoke_share",
    ]);
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      assert.ok(title && title === annotations?.title, name);
      assert.match(description ?? "", /[Nn]ot /, `${name} says when not to use it`);
      assert.equal(inputSchema.type, "object");
      assert.equal(outputSchema?.["type"], "object");
      const hints = Object.keys(annotations ?? {}).filter((key) => key.endsWith("Hint"));
      assert.equal(hints.length, 4, name);
    }
    assert.match(at.client.getInstructions() ?? "", /<peer-message> was written by another agent/);
    assert.deepEqual(new Set(at.types), new Set(["application/json"]));
    assert.equal(at.client.getNegotiatedProtocolVersion(), protocolVersion);
  });

  Deno.test(`${protocolVersion}: every tool's result fits its output schema`, async () => {
    const { fetch, faults } = mcpFixture({
      ...ASKED,
      ...SCHEDULES,
      "POST /ack": () => ({ ok: true, close_reason: "ack" }),
      "POST /decline": () => ({ ok: true, close_reason: "declined" }),
      "POST /notify": () => ({
        delivery_id: "notif-1",
        delivery_state: "queued",
        delivered: false,
        queued: true,
        reason: "offline",
        to_peer_id: "peer-web",
        to_peer_name: "web",
      }),
      "POST /broadcast": () => ({ sent_to: [], skipped: [], failed: [] }),
      "GET /peers": () => ({ peers: [WEB_PEER] }),
      "GET /peers/peer-api": () => ({ ...WEB_PEER, peer_id: "peer-api", name: "api" }),
      "POST /peers/peer-api/description": () => WEB_PEER,
      "POST /peers/peer-api/name": () => WEB_PEER,
      "POST /asks/many": () => ({ parent_id: "askm-1", children: [{ peer: "x", error: "e" }] }),
      "GET /asks/many/askm-1": () => ({ parent_id: "askm-1", state: "pending", children: [] }),
      "POST /answer": () => ({ ok: true, close_reason: "answered", outcome: "answered" }),
      "GET /asks/pending": () => ({ asks: [] }),
      "GET /messages": () => ({ messages: [], next: null }),
      "GET /peers/web/transcript": () => TRANSCRIPT,
      "GET /peers/web/changes": () => CHANGES,
      "GET /blame": () => BLAME,
      "GET /peers/web": () => WEB_PEER,
      "POST /peers/web/kill": () => ({ peer_id: "peer-web", agent_pid: 41, signal: "SIGTERM" }),
      "POST /peers/web/interrupt": () => INTERRUPTED,
      "POST /peers/peer-api/role": () => WEB_PEER,
      ...WRITE_ANSWERS,
      "POST /shares": () => SHARED,
      "DELETE /shares/sh_1": () => ({ ok: true }),
    });
    await using at = await connect(fetch, { protocolVersion });
    // From here on the client checks results against the schemas.
    const { tools } = await at.client.listTools();
    const called = new Set(CALLS.map(([name]) => name));
    assert.deepEqual(tools.map(({ name }) => name).filter((name) => !called.has(name)), []);
    for (const [name, given] of CALLS) {
      const { problemResponse, data, text } = await at.call(name, given);
      assert.equal(problemResponse, false, `${name}: ${text}`);
      assert.ok(data, name);
    }
    assert.deepEqual(faults, []);
  });

  Deno.test(`${protocolVersion}: a caller that disconnects ends its wait`, async () => {
    const aborted = Promise.withResolvers<void>();
    const { promise: never } = Promise.withResolvers<void>();
    const { fetch, received } = mcpFixture({
      "POST /asks/ask-1/wait": ({ signal }) => {
        signal.addEventListener("abort", () => aborted.resolve());
        return never;
      },
    });
    await using at = await connect(fetch, { protocolVersion });
    const waiting = at.call("wait_on_ack", { correlation_id: "ask-1" });
    await waitUntil(() => received.length === 1, "the wait");
    await at.client.close();
    await assert.rejects(waiting);
    await aborted.promise;
  });

  Deno.test(`${protocolVersion}: an unknown tool is refused by the protocol`, async () => {
    await using at = await connect(mcpFixture().fetch, { protocolVersion });
    await assert.rejects(at.call("frobnicate"), /Unknown tool: frobnicate/);
  });
}

Deno.test("a refusal fits the tool's output schema, which some clients check", async () => {
  const { fetch } = mcpFixture({
    "POST /notify": () =>
      problemResponse(404, { error: "unknown_peer", detail: "Unknown peer: x", reason: 5 }),
  });
  await using at = await connect(fetch);
  const { tools } = await at.client.listTools();
  const schema = tools.find(({ name }) => name === "notify_peer")?.outputSchema;
  const { data } = await at.call("notify_peer", { peer: "x", message: "Hi" });
  assert.deepEqual(data, { error: "unknown_peer", detail: "Unknown peer: x" });
  const [answered, refusing] = z.array(z.object({ required: z.array(z.string()) })).parse(
    schema?.["anyOf"],
  );
  assert.ok(answered?.required.includes("delivery_id"));
  assert.deepEqual(refusing?.required, ["error", "detail"]);
  assert.equal(schema?.["additionalProperties"], undefined);
});

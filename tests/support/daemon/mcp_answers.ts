/** What the fake daemon of the MCP tests answers, and one call of each tool at least. */

const OPENED = {
  correlation_id: "ask-1",
  trace_id: "ask-1",
  to_peer_id: "peer-web",
  to_peer_name: "web",
  delivery_state: "sent",
};

export const RESOLVED = {
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

export const SCHEDULES = {
  "POST /schedules": () => SCHEDULED,
  "GET /schedules": () => ({ schedules: [SCHEDULED] }),
  "DELETE /schedules/sched-1": () => ({ ...SCHEDULED, state: "cancelled" }),
};

const SCHEDULE_CALLS: [string, Record<string, unknown>][] = [
  ["schedule_create", { peer: "web", message: "Stand up", fire_at: "10m" }],
  ["schedule_list", {}],
  ["schedule_delete", { schedule_id: "sched-1" }],
];

export const ASKED = {
  "POST /ask": () => OPENED,
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

export const WRITE_ANSWERS = {
  "POST /spawn": () => SPAWNED,
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

/** One call of each tool, at least. */
export const CALLS: readonly [tool: string, given: Record<string, unknown>][] = [
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
  ...JOB_CALLS,
  ...SCHEDULE_CALLS,
  ["kill_peer", { peer: "web" }],
  ["claim_orchestrator_role", {}],
  ["orchestrator_status", {}],
  ["spawn_peer", { path: "/work", backend: "sdk" }],
  ["restart_peer", { peer: "web" }],
  ["share_session", {}],
  ["revoke_share", { share_id: "sh_1" }],
];

export const SHARED = {
  share_id: "sh_1",
  url: "https://relay.example/s/sh_1",
  display_name: "api",
  peer_id: "peer-api",
  permissions: "ro",
  expires_at: "2030-01-02T00:00:00.000Z",
};

/** Samples of leases, files, budgets and a digest. */

import type {
  BlameAnswer,
  Budget,
  Digest,
  FileAnswer,
  Lease,
  LogEvent,
  PortAnswer,
} from "../state/records.ts";

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
const HOSTILE = "<img src=x onerror=alert(1)>\u202e.ts";

const LEASE: Lease = {
  lease_id: "lease-1",
  resource: "port",
  name: "web",
  port: 24_000,
  peer_id: "peer-1",
  holder: "api",
  pid: 4121,
  variable: "MESH_LEASE_PORT_WEB",
  value: "24000",
  taken_at: ago(3700),
};

export const LEASES: readonly Lease[] = [
  LEASE,
  { ...LEASE, lease_id: "lease-2", resource: "gpu", name: "0", port: null, pid: null },
  { ...LEASE, lease_id: "lease-3", resource: "db", name: null, port: null, peer_id: null },
];

export const PORTS: readonly PortAnswer[] = [
  {
    port: 24_000,
    lease: LEASE,
    listeners: [
      { pid: 4121, command: "deno run -A server.ts", peer_id: "peer-1", name: "api" },
      { pid: 977, command: null, peer_id: null, name: null },
    ],
    others: 2,
  },
  { port: 5432, lease: null, listeners: [], others: 0 },
];

const USE: FileAnswer["uses"][number] = {
  peer_id: "peer-1",
  name: "api",
  status: "online",
  wrote: true,
  root: "/home/sam/shop",
  first_at: ago(900),
  last_at: ago(240),
  times: 3,
  task: "Move the orders to the new schema",
};

export const FILES: readonly FileAnswer[] = [
  {
    path: "/home/sam/shop/src/orders.ts",
    root: "/home/sam/shop",
    file: "src/orders.ts",
    uses: [
      USE,
      { ...USE, peer_id: "peer-2", name: "web", root: "/home/sam/shop-web", times: 1, task: null },
      { ...USE, peer_id: "peer-3", name: "docs", wrote: false, times: 12, task: HOSTILE },
    ],
  },
  { path: `/home/sam/${HOSTILE}`, root: null, file: `/home/sam/${HOSTILE}`, uses: [] },
];

const COMMIT = "0d1f2e3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e";

export const ORIGIN_STEPS: BlameAnswer["lines"][number]["links"] = [
  { kind: "commit", how: "git", id: COMMIT, name: "sam", at: ago(900), text: "Add the orders" },
  { kind: "trailer", how: "claimed", id: null, name: null, at: null, text: HOSTILE },
  { kind: "note", how: "claimed", id: "refs/notes/ai", name: null, at: null, text: "session 1" },
  {
    kind: "agent",
    how: "reported",
    id: "peer-1",
    name: "api",
    at: ago(900),
    text: "reported this commit (codex)",
  },
  {
    kind: "approval",
    how: "recorded",
    id: "ask-000000000001",
    name: "sam",
    at: ago(960),
    text: "Bash: allowed",
  },
  {
    kind: "message",
    how: "inferred",
    id: "ask-000000000002",
    name: "web",
    at: ago(1000),
    text: "ask from web to api",
  },
  {
    kind: "check",
    how: "recorded",
    id: "ask-000000000002",
    name: "tests",
    at: ago(800),
    text: "check: verified",
  },
  {
    kind: "job",
    how: "recorded",
    id: "job-1",
    name: "Move the orders",
    at: ago(1200),
    text: "completed, checks: tests passed",
  },
  {
    kind: "gap",
    how: "unknown",
    id: null,
    name: null,
    at: null,
    text: "the messages before it are not known",
  },
  {
    kind: "origin",
    how: "recorded",
    id: "ask-000000000003",
    name: "mcp-0123456789ab",
    at: null,
    text: "app mcp-0123456789ab (ask-000000000003)",
  },
];

export const OVERLAPS: readonly LogEvent[] = ["src/orders.ts", HOSTILE].map((path, id) => ({
  id,
  type: "file_overlap",
  timestamp: ago(300 + id),
  path,
  first_peer_id: "peer-1",
  second_peer_id: "peer-2",
}));

const BUDGET: Budget = {
  budget_id: "budget-1",
  scope: "peer",
  subject: "peer-1",
  name: "api",
  day: "2026-05-04",
  parent_id: null,
  from_peer_id: null,
  from: "sam",
  state: "open",
  amount: "200k-tokens",
  grants: 0,
  used: { tokens: 143_000, turns: 12, seconds: 840, cost: 0 },
  share: 0.715,
  currency: null,
  by: [],
  unpriced_tokens: 0,
  created_at: ago(9000),
  warned_at: ago(400),
  spent_at: null,
  question_id: null,
};

export const BUDGETS: readonly Budget[] = [
  BUDGET,
  { ...BUDGET, budget_id: "budget-2", state: "spent", used: { ...BUDGET.used, tokens: 200_400 } },
];

const ANSWER: Digest["answers"][number] = {
  correlation_id: "ask-3f9c04d1a2b7",
  from_peer_name: "web",
  to_peer_name: "api",
  circle: "shop",
  question: "Which port does the staging server listen on?",
  outcome: "answered",
  answer: "8443, behind the proxy",
  responder: "api",
  closed_at: ago(5000),
};

export const DIGEST: Digest = {
  since: ago(86_400),
  until: ago(0),
  circle: null,
  decisions: [{ ...ANSWER, question: "Deploy to production?", answer: "Yes", responder: "sam" }],
  answers: [ANSWER, { ...ANSWER, question: HOSTILE, answer: null, outcome: "expired" }],
  checks: [{
    job_id: "job-1",
    title: "Split the slow end-to-end suite",
    state: "completed",
    state_reason: null,
    circle: "shop",
    checks: [{ name: "types", exit: 0 }, { name: "tests", exit: 1 }],
    result: null,
    ended_at: ago(7000),
  }],
  limits: [{
    event: "turn_failed",
    peer_id: "peer-1",
    peer_name: "api",
    subject: null,
    reason: "rate_limit",
    at: ago(8000),
  }],
  waiting: [{
    item_id: "item-1",
    kind: "ask",
    from: "db",
    correlation_id: "ask-000000000001",
    text: "May I drop the table orders_old?",
    created_at: ago(600),
  }],
  counts: { decisions: 1, answers: 24, checks: 1, limits: 1, waiting: 1 },
};

/** Samples of accounts in each state of their limits. */

import type { Limit } from "../state/records.ts";

const TEN_MINUTES_AGO = new Date(Date.now() - 600_000).toISOString();
const IN_TWO_HOURS = new Date(Date.now() + 7_200_000).toISOString();

const CLEAR: Limit = {
  account_id: "acct-3f9c04d1a2b7",
  backend: "codex",
  account: "/home/sam/.codex",
  state: "clear",
  window: null,
  since: null,
  resets_at: null,
  resumes_at: null,
  waits_for: null,
  evidence: null,
  windows: [
    { window: "five_hour", used_percent: 83, resets_at: IN_TWO_HOURS, at: TEN_MINUTES_AGO },
    { window: "seven_day", used_percent: 42, resets_at: null, at: null },
  ],
  peers: [{ peer_id: "peer-3f9c04d1a2b7", name: "api-codex" }],
  queued: 0,
  detail: "It is at no limit.",
};

export const LIMITS: readonly Limit[] = [
  {
    ...CLEAR,
    account_id: "acct-000000000001",
    backend: "claude-code",
    account: "sam@example.com (/home/sam/.claude)",
    state: "exhausted",
    window: "five_hour",
    resets_at: "2026-11-28T14:20:00.000Z",
    waits_for: "reset",
    evidence: {
      source: "session file",
      at: "2026-05-04T09:21:00.000Z",
      peer_id: "peer-3f9c04d1a2b7",
      text: "You've hit your 5-hour limit",
    },
    windows: [],
    queued: 3,
    detail: "It is out of its five-hour limit until 14:20.",
  },
  {
    ...CLEAR,
    account_id: "acct-000000000002",
    state: "probing",
    waits_for: "probe",
    windows: [],
    detail: "Its limit is over, and one message shows if it answers again.",
  },
  CLEAR,
];

/** Samples for the gallery: each state of a record, and texts at their limits. */

import { actOf } from "protocol/derived/acts/act.ts";
import { fileDiff } from "protocol/derived/compare.ts";
import type { FileDiff } from "protocol/derived/diff.ts";
import type { ChartData } from "../components/chart_scale.ts";
import { Resource } from "../state/resource.ts";
import type { Children, Message, Trace, UsageReport } from "../state/records.ts";

/** States of peers, turns, deliveries, asks, jobs, schedules and the relay, by their tone. */
export const STATES: readonly (readonly string[])[] = [
  ["online", "idle", "seen", "completed", "connected", "answered", "acknowledged", "active"],
  ["accepted", "sent", "running", "busy", "working", "open", "delivered", "dispatching"],
  ["awaiting_input", "blocked", "queued", "connecting", "degraded"],
  ["failed", "expired", "dropped", "unavailable", "down", "pane_unsafe", "no_transport"],
  ["offline", "cancelled", "declined", "closed", "paused", "a state that this page does not know"],
];

export const MARKDOWN = `# A heading

A paragraph with **strong**, *stressed*, ~~removed~~ and \`code\`, a [link](https://example.org) and
<b>markup that stays text</b>.

- a list
- [x] a task that is done
- [ ] one that is not

1. first
2. second

> A quote of an earlier message.

| suite | before | now |
| --- | --- | --- |
| unit | 41 s | 12 s |

\`\`\`sql
alter table users drop column legacy_id;
\`\`\`

---

${"A_word_without_an_end_".repeat(12)}`;

/** A peer with more subagents than are shown. */
/** Peers that wait, one in each way. */
export const WAITS = (["trust", "permission", "question", "limit", "login"] as const).map(
  (kind) => ({
    name: "api",
    display_name: "api",
    machine: null,
    transport: "pane" as const,
    path: "/home/sam/api",
    pane_id: "%3",
    status: "online" as const,
    turn_state: "awaiting_input" as const,
    waits_for: {
      kind,
      since: new Date(Date.now() - 60_000).toISOString(),
      source: "screen",
      detail: null,
      resets_at: new Date(Date.now() + 3_600_000).toISOString(),
    },
  }),
);

export const CHILDREN: Children = {
  children: [0, 60_000].map((ended_ms, index) => ({
    peer_id: `peer-00000000000${index}`,
    name: `api.explore-${2 - index}`,
    type: "explore",
    status: ended_ms === 0 ? "busy" as const : "offline" as const,
    started_at: new Date(Date.now() - 300_000).toISOString(),
    ended_at: ended_ms === 0 ? null : new Date(Date.now() - ended_ms).toISOString(),
  })),
  children_count: 23,
};

const MADE_AT = new Date(Date.now() - 180_000).toISOString();

const MESSAGE: Message = {
  message_id: "ask-00000000000a",
  delivery_id: "qd-00000000000a",
  kind: "ask",
  correlation_id: "ask-00000000000a",
  from_peer_id: null,
  from_peer_name: "boss",
  to_peer_id: "peer-00000000000b",
  to_peer_name: "api",
  circle: "shop",
  text: "Which port do you listen on?",
  attachments: [],
  reply_to: null,
  parent_id: null,
  state: "seen",
  reason: null,
  created_at: MADE_AT,
  sent_at: MADE_AT,
  accepted_at: MADE_AT,
  seen_at: MADE_AT,
  closed_at: null,
  close_reason: null,
  outcome: null,
  reply: null,
  responder: null,
  voice: "peer",
  unverified: false,
  sent_by: null,
  chain: null,
  urgent: false,
  reply_voice: null,
};

/** A message in each of its forms. */
export const MESSAGES: readonly Message[] = [
  MESSAGE,
  {
    ...MESSAGE,
    delivery_id: "qd-00000000000b",
    message_id: "ask-00000000000b",
    closed_at: new Date().toISOString(),
    close_reason: "reply",
    outcome: "answered",
    reply: "Port **8080**.",
    responder: "api",
  },
  {
    ...MESSAGE,
    delivery_id: "notif-00000000000c",
    message_id: "notif-00000000000c",
    kind: "notify",
    urgent: true,
    text: "The build is red.",
    attachments: [{
      id: "att-1",
      filename: "build.log",
      size: 48_213,
      content_type: "text/plain",
      sha256: "0".repeat(64),
      path: "/state/attachments/att-1",
      created_at: MADE_AT,
      expires_at: MADE_AT,
    }],
    state: "failed",
    reason: "pane_gone",
  },
];

const stage = (seq: number, stage: string, detail: string, seconds: number) => ({
  seq,
  stage,
  status: "ok" as const,
  peer_id: null,
  from_peer_id: null,
  ts: new Date(Date.parse(MADE_AT) + seconds * 1000).toISOString(),
  detail,
});

/** The stages of a message to another machine: long details, times of two clocks, and a failure. */
export const STAGES: Trace["stages"] = [
  stage(1, "ask_opened", "from sam to api@buildbox", 0),
  stage(2, "sent", "on the bus, waits for buildbox", 0.012),
  stage(
    3,
    "accepted",
    "by buildbox's clock, which is 5 min ahead of this machine's, at 2026-05-04T09:35:00.312Z; " +
      `tag ${"0123456789abcdef".repeat(6)}`,
    0.31,
  ),
  { ...stage(4, "seen", "the prompt hook of api@buildbox never named it", 95), status: "fail" },
];

/** An hour with a quiet time, and with a peak. */
export function sampleChart(): ChartData {
  const last = Math.floor(Date.now() / 60_000) * 60;
  const minutes = Array.from({ length: 60 }, (_, index) => index);
  const busy = (minute: number) => minute < 12 || minute > 47;
  return {
    times: minutes.map((minute) => last - (59 - minute) * 60),
    lines: [
      {
        label: "p50",
        colour: "--busy",
        values: minutes.map((minute) => busy(minute) ? 2 + minute % 5 : null),
      },
      {
        label: "p99",
        colour: "--warn",
        values: minutes.map((minute) => busy(minute) ? 20 + minute ** 2 : null),
      },
    ],
  };
}

/** Resources in the three states of a load. */
export const RESOURCES = {
  loading: new Resource<string>([], () => new Promise(() => {})),
  failed: sampleResource(undefined, new TypeError("no connection")),
  stale: sampleResource("what was loaded last", new TypeError("no connection")),
} as const;

function sampleResource(value: string | undefined, error: unknown): Resource<string> {
  const resource = new Resource<string>([], () => Promise.resolve(""));
  resource.value.value = value;
  resource.error.value = error;
  return resource;
}

const numbered = (text: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${text} ${at + 1}\n`);

/** A new file, an edit in two places, a renamed file, hidden characters, and more. */
export const DIFFS: readonly FileDiff[] = [
  fileDiff("src/new.ts", "", 'export const greeting = "hello";\n\nexport default greeting;\n'),
  fileDiff(
    "src/settings.ts",
    numbered("setting", 40).join(""),
    numbered("setting", 40).toSpliced(30, 1).with(3, "changed\n").join(""),
  ),
  { path: "src/after.ts", old_path: "src/before.ts", added: 0, removed: 0, hunks: [] },
  fileDiff("run\u202ehs.txt", "one\r\nlast", `one\n${"A_word_without_an_end_".repeat(9)}\u200b\n`),
  {
    path: "no/numbers.ts",
    added: 1,
    removed: 1,
    hunks: [{ old_start: null, new_start: null, lines: ["-before", "+after"] }],
  },
  fileDiff("long.txt", "", numbered("line", 90).join("")),
];

const TOKENS: UsageReport["total"] = {
  requests: 41,
  input_tokens: 12_400_000,
  cached_input_read_tokens: 11_900_000,
  cached_input_write_tokens: 300_000,
  output_tokens: 88_000,
  reasoning_tokens: null,
  incomplete: [],
  cost: 17.2,
  unpriced_tokens: 0,
};

/** Tokens of chains: with and without a price, with a long name, and of no chain. */
export const USAGE: UsageReport = {
  by: "chain",
  from: "2026-11-22",
  to: "2026-11-28",
  timezone: "Europe/Berlin",
  rows: [
    { key: "ask-00000000000a", name: "sam → api", ...TOKENS },
    {
      ...TOKENS,
      key: "notif-00000000000b",
      name: `${"a_long_name_".repeat(8)} → web`,
      input_tokens: 900_000,
      reasoning_tokens: 12,
      incomplete: ["reasoning_tokens"],
      cost: null,
      unpriced_tokens: 988_000,
    },
    { ...TOKENS, key: null, name: null, input_tokens: 4_100, cost: 0.0123 },
  ],
  cut: false,
  total: { ...TOKENS, incomplete: ["reasoning_tokens"], reasoning_tokens: 12, unpriced_tokens: 7 },
  prices: { currency: "EUR", as_of: "2026-11-01" },
  left_out: [{ peer_id: "peer-1", name: "web", reason: "its agent has not reported its session" }],
};

/** Permissions to run a command, to fetch an address, and to use a tool that is not known. */
export const PERMISSIONS = ([
  ["Bash", { command: "git push --force\u202e\nnpm publish", timeout: 5000 }],
  ["WebFetch", { url: "https://example.org/?q=1", prompt: "Summarise it" }],
  ["AnotherTool", { what: ["ever"] }],
] as const).map(([tool, input]) => {
  const act = { ...actOf({ tool, input, folder: "/work/api" }, noFile), covers_text: true };
  const text = `@api wants to use ${tool}`;
  const metadata = { tool_input: JSON.stringify(input, null, 2) };
  return { text, question: { kind: "choice" as const, metadata, act }, attachments: [] };
});

function noFile() {
  return { text: null };
}

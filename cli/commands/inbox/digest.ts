/** `mesh digest`: what happened in a period, and what waits for the human. */

import type { WireResponse } from "kit/http/client.ts";
import { getDigest } from "protocol/generated/endpoints.ts";
import { answerCommand } from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { formatAgo, formatInstant } from "../../output/time.ts";
import type { Clock } from "kit/core/clock.ts";
import { parseInstant } from "../search.ts";

type Digest = WireResponse<typeof getDigest>;

export const DIGEST = answerCommand({
  usage: "digest",
  summary:
    "Show decisions, answers, ended jobs, limits and budgets of a period, and what waits for you",
  details:
    "Without --since, the last 24 hours. To get it in your inbox and your chats each morning: " +
    'mesh schedule create me "Good morning" --digest --cron "0 8 * * *"',
  flags: {
    "--since <time>": "since this time: 2h or 3d ago, 2030-01-31, or a time with its offset",
    "--until <time>": "before this time, in the same forms",
    "--circle <name>": "only this circle",
    "--limit <count>": "show at most this many of each kind (default 50, at most 500)",
  },
  example: "mesh digest --since 8h",
  call: ({ call, clock }, args) => {
    const [since, until] = ["since", "until"].map((flag) => parseInstant(flag, args, clock));
    const query = { since, until, circle: args.get("circle"), limit: args.get("limit") };
    return call(getDigest, { query });
  },
  show: (digest, { terminal, clock }) => showDigest(terminal, digest, clock),
});

function showDigest(terminal: Terminal, digest: Digest, clock: Clock): void {
  const agoOf = (at: string) => formatAgo(clock.now() - Date.parse(at));
  const { since, decisions, answers, checks, limits, waiting, counts } = digest;
  terminal.print(styled("dim", `Since ${formatInstant(since)}`));
  const ask = ({ correlation_id, from_peer_name, question, ...end }: Digest["answers"][number]) => {
    const { outcome, answer, responder, to_peer_name, closed_at } = end;
    terminal.print(`  ${correlation_id}  ${from_peer_name}: ${question}`);
    const by = `${responder ?? to_peer_name}, ${agoOf(closed_at)}, ${outcome}`;
    terminal.print("    ", styled("green", "→"), ` ${by}${answer ? `: ${answer}` : ""}`);
  };
  section(terminal, "Waits for you", counts.waiting, waiting, (item) => {
    const { item_id, from, text, created_at } = item;
    terminal.print(`  ${item_id}  ${from}, ${agoOf(created_at)}: ${text}`);
  });
  section(terminal, "Your decisions", counts.decisions, decisions, ask);
  section(terminal, "Answers", counts.answers, answers, ask);
  section(terminal, "Jobs and checks", counts.checks, checks, (job) => {
    const { job_id, title, state, state_reason, result, checks } = job;
    const colour = state === "completed" ? "green" : "yellow";
    const reason = state_reason === null ? "" : ` (${state_reason})`;
    terminal.print(`  ${job_id}  `, styled(colour, `${state}${reason}`), `  ${title}`);
    for (const { name, exit } of checks) {
      terminal.print(`    ${name}: `, exit === 0 ? "passed" : styled("yellow", "failed"));
    }
    if (result !== null) terminal.print(`    ${result}`);
  });
  const title = "Limits, budgets and loops";
  section(terminal, title, counts.limits, limits, ({ peer_name, subject, event, reason, at }) => {
    const what = `${peer_name ?? subject ?? "?"}: ${reason ?? event}`;
    terminal.print(`  ${what}, ${agoOf(at)}`);
  });
  if (Object.values(counts).every((count) => count === 0)) {
    terminal.print("Nothing happened, and nothing waits for you.");
  }
}

function section<Entry>(
  terminal: Terminal,
  title: string,
  count: number,
  entries: readonly Entry[],
  show: (entry: Entry) => void,
): void {
  if (count === 0) return;
  terminal.print(styled("bold", `${title} (${count})`));
  for (const entry of entries) show(entry);
  if (count > entries.length) {
    terminal.print(styled("dim", `  and ${count - entries.length} more; see --limit`));
  }
}

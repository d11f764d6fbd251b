/** The digest as the text of a message to the human. */

import { formatDuration } from "kit/core/duration.ts";
import type { Digest } from "protocol/messages/digest.ts";

/** Entries of a section that the text has. */
export const TEXT_ENTRIES_MAX = 10;

export function digestText(digest: Digest): string {
  const { since, until, decisions, answers, checks, limits, waiting, counts } = digest;
  const sections = [
    [
      "Waits for you",
      counts.waiting,
      waiting.map(({ item_id, from, text }) => `${item_id} ${name(from)}: ${quoted(text)}`),
    ],
    ["Your decisions", counts.decisions, decisions.map(askLine)],
    ["Answers", counts.answers, answers.map(askLine)],
    ["Jobs and checks", counts.checks, checks.map(jobLine)],
    [
      "Limits, budgets and loops",
      counts.limits,
      limits.map(({ peer_name, subject, event, reason, at }) =>
        `${peer_name === null ? quoted(subject ?? "") : name(peer_name)}: ${reason ?? event}, ${
          formatDuration(until - at)
        } ago`
      ),
    ],
  ] as const;
  const shown = sections.filter(([, count]) => count > 0);
  const head = `The last ${formatDuration(until - since)}:`;
  if (shown.length === 0) return `${head} nothing happened, and nothing waits for you.`;
  return [
    head,
    ...shown.flatMap(([title, count, lines]) => [
      "",
      `**${title} (${count})**`,
      ...lines.map((line) => `- ${line}`),
      ...(count > lines.length ? [`- and ${count - lines.length} more: \`mesh digest\``] : []),
    ]),
  ].join("\n");
}

function askLine(
  { correlation_id: id, from_peer_name, question, outcome, ...ask }: Digest["answers"][number],
): string {
  const { answer, responder, to_peer_name } = ask;
  const by = name(responder ?? to_peer_name);
  const end = answer ? `${outcome}: ${quoted(answer)}` : outcome;
  return `${id} ${name(from_peer_name)}: ${quoted(question)} → ${by} ${end}`;
}

function jobLine({ job_id, title, state, state_reason, checks }: Digest["checks"][number]): string {
  const results = checks.map(({ name, exit }) => `${name} ${exit === 0 ? "passed" : "failed"}`);
  const more = [state_reason, ...results].filter((part) => part !== null);
  return `${job_id} ${quoted(title)} ${state}${more.length > 0 ? ` (${more.join(", ")})` : ""}`;
}

/** Texts of agents in a message of the daemon: Markdown in them has no effect. */
function quoted(text: string): string {
  return `“${text.replaceAll(/[\\`*_[\]<>~|#!()]/g, "\\$&")}”`;
}

function name(peer: string): string {
  return `@${peer.replaceAll(/[\\`*_[\]<>~|#!()]/g, "\\$&")}`;
}

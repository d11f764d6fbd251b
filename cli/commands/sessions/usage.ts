/** `mesh usage`: the tokens of sessions, and of days, agents, models, jobs and chains. */

import { parseDuration } from "kit/core/duration.ts";
import { dateOf } from "kit/core/local_time.ts";
import type { WireResponse } from "kit/http/client.ts";
import {
  contextText,
  countText,
  moneyText,
  reportNotes,
  tokenText,
} from "protocol/derived/usage.ts";
import { getUsage, listUsage } from "protocol/generated/endpoints.ts";
import type { UsageReport, UsageRow } from "protocol/usage.ts";
import { UsageError } from "../../client/failures.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type CommandContext,
} from "../../command/command.ts";
import { findBudgets, showBudgets } from "./budgets.ts";
import { styled, type Terminal } from "../../output/terminal.ts";

type Sessions = Extract<WireResponse<typeof listUsage>, { usage: unknown }>;
type PeerUsage = Sessions["usage"][number];

/** The groupings, and the titles of their columns. */
const TITLES = { day: "DAY", agent: "AGENT", model: "MODEL", job: "JOB", chain: "CHAIN" } as const;
const GROUPINGS = Object.keys(TITLES) as (keyof typeof TITLES)[];

export const USAGE = answerCommand({
  usage: "usage [peer]",
  summary: "Show how many tokens agents used, what they cost, and how full their contexts are",
  details:
    'Where an agent records it in its own session file; "not recorded" where it does not. Input ' +
    "includes what came from a cache. Without --by, the sessions of now. A chain is what a message " +
    "caused, and is named by its first message. Money is by the setting usage.prices.",
  flags: {
    ...CIRCLE_FLAG,
    "--by <what>": `sums by ${GROUPINGS.join(", ")}, of the last 30 days`,
    "--since <day>": "first day of the sums: 2030-01-31, or 7d ago",
    "--from <day>": "the same as --since",
    "--to <day>": "last day of the sums (today)",
  },
  example: "mesh usage --by agent --since 7d",
  call: async (context, args): Promise<Sessions | UsageReport> => {
    const id = args.get("peer");
    const query = await context.lookup(args);
    const range = rangeOf(args, context);
    if (range.by !== undefined) {
      const { from_peer } = query;
      return await context.call(listUsage, { query: { from_peer, peer: id, ...range } });
    }
    if (id === undefined) return await context.call(listUsage, { query });
    const { transcript_refusal: _, ...usage } = await context.call(getUsage, {
      params: { id },
      query,
    });
    return { usage: [usage] };
  },
  show: async (answer, { call, terminal }, args) => {
    if ("rows" in answer) return showReport(terminal, answer);
    showSessions(terminal, answer.usage);
    const budgets = await findBudgets(call, { peer: args.get("peer"), open: "true" });
    if (budgets.length === 0) return;
    terminal.print();
    showBudgets(terminal, budgets);
  },
});

function rangeOf(args: Args, { clock }: CommandContext) {
  const by = args.choice("by", GROUPINGS);
  const [since, from] = [args.get("since"), args.get("from")];
  if (since !== undefined && from !== undefined) {
    throw new UsageError("--from and --since are the same: give one of them");
  }
  if (by === undefined && (since ?? from ?? args.get("to")) !== undefined) {
    throw new UsageError(`Days need --by: one of ${GROUPINGS.join(", ")}`);
  }
  const now = clock.now();
  const first = since === undefined ? toDay("from", from, now) : toDay("since", since, now);
  return { by, from: first, to: toDay("to", args.get("to"), now) };
}

/** A day, or the day of a time ago, such as `7d`. */
function toDay(flag: string, text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  if (text === "today") return dateOf(new Date(now));
  const ago = parseDuration(text);
  if (ago !== undefined) return dateOf(new Date(now - ago));
  throw new UsageError(`--${flag}: "${text}" is not a day; use 2030-01-31, today, or 7d (ago)`);
}

function showSessions(to: Terminal, usage: readonly PeerUsage[]): void {
  to.printTable(usage, {
    PEER: ({ name }) => styled("cyan", name),
    INPUT: ({ usage }) => countText(usage?.input_tokens),
    CACHED: ({ usage }) => countText(usage?.cached_tokens),
    OUTPUT: ({ usage }) => countText(usage?.output_tokens),
    CONTEXT: ({ usage }) => contextText(usage),
    MODEL: ({ usage, reason }) => usage?.model ?? styled("dim", reason ?? ""),
  }, { essential: ["PEER"], empty: "No agents are here whose tokens could be counted" });
}

type ShownRow = UsageReport["total"] & { readonly label: ReturnType<typeof styled> };

function showReport(to: Terminal, report: UsageReport): void {
  const { by, rows, total, prices, from, to: last } = report;
  if (rows.length === 0) to.print(`No tokens were recorded from ${from} to ${last}.`);
  else {
    const shown: ShownRow[] = [
      ...rows.map((row) => ({ ...row, label: styled("cyan", labelOf(by, row)) })),
      { ...total, label: styled("bold", "total") },
    ];
    to.printTable(shown, {
      [TITLES[by]]: ({ label }) => label,
      REQUESTS: ({ requests }) => requests.toLocaleString("en-US"),
      INPUT: (row) => tokenText(row, "input_tokens"),
      CACHED: (row) => tokenText(row, "cached_input_read_tokens"),
      WRITTEN: (row) => tokenText(row, "cached_input_write_tokens"),
      OUTPUT: (row) => tokenText(row, "output_tokens"),
      REASONING: (row) => tokenText(row, "reasoning_tokens"),
      COST: (row) => moneyText(row, prices?.currency),
    }, { essential: [TITLES[by]], expendable: ["REASONING", "WRITTEN", "REQUESTS"] });
  }
  for (const note of reportNotes(report)) to.print(styled("dim", note));
}

/** A row's name with its id, if a person needs it to find the job or the message. */
function labelOf(by: UsageReport["by"], { key, name }: UsageRow): string {
  if (key === null) return by === "model" ? "not recorded" : "none";
  if (name === null) return key;
  return by === "agent" ? name : `${key} ${name}`;
}

/** Usage: the tokens of days, agents, models, jobs and chains of messages, and their price. */

import type { ComponentChildren } from "preact";
import { moneyText, reportNotes, tokensOf, tokenText } from "protocol/derived/usage.ts";
import * as at from "protocol/generated/endpoints.ts";
import { Choices, Empty, ResourceView } from "../components/basics.tsx";
import { visible } from "../components/text/visible.tsx";
import { call } from "../state/calls.ts";
import type { UsageReport } from "../state/records.ts";
import { useResource } from "../state/resource.ts";
import { filter, link, route } from "../state/router.ts";
import { Limits } from "./limits.tsx";

type Row = UsageReport["rows"][number];
type Sums = UsageReport["total"];
type By = UsageReport["by"];

const GROUPINGS: readonly (readonly [by: By, title: string])[] = [
  ["day", "Day"],
  ["agent", "Agent"],
  ["model", "Model"],
  ["job", "Job"],
  ["chain", "Chain"],
];
const DAYS = [["1", "Today"], ["7", "7 days"], ["30", "30 days"]] as const;
type Days = typeof DAYS[number][0];
const DAYS_DEFAULT: Days = "7";

/** The shortest time between two loads. */
const INTERVAL_MS = 2_000;

export function Usage() {
  const { query } = route.value;
  const by = GROUPINGS.find(([by]) => by === query.get("by"))?.[0] ?? "day";
  const days = DAYS.find(([days]) => days === query.get("days"))?.[0] ?? DAYS_DEFAULT;
  return (
    <>
      <Limits />
      <div class="toolbar">
        <Choices
          label="Days"
          chosen={days}
          choose={(next) => filter({ days: next === DAYS_DEFAULT ? "" : next })}
          options={DAYS}
        />
        <span class="grow" />
        <Choices
          label="Sums by"
          chosen={by}
          choose={(next) => filter({ by: next === "day" ? "" : next })}
          options={GROUPINGS}
        />
      </div>
      <Loaded key={`${by} ${days}`} by={by} days={days} />
    </>
  );
}

function Loaded({ by, days }: { by: By; days: Days }) {
  const load = async (): Promise<UsageReport> => {
    const answer = await call(at.listUsage, { query: { by, days } });
    if ("rows" in answer) return answer;
    throw new Error("This daemon is of an earlier version, which has no sums.");
  };
  const resource = useResource(`usage ${by} ${days}`, ["usage"], load, {
    interval_ms: INTERVAL_MS,
    kept: true,
  });
  return <ResourceView resource={resource}>{(report) => <Report report={report} />}</ResourceView>;
}

export function Report({ report }: { report: UsageReport }) {
  const { rows, total, prices } = report;
  if (rows.length === 0) return <NoTokens report={report} />;
  const money = (sums: Sums) => moneyText(sums, prices?.currency);
  return (
    <div class="stack">
      <dl class="numbers cluster card">
        <Figure name="Input" value={tokenText(total, "input_tokens")} />
        <Figure name="From a cache" value={tokenText(total, "cached_input_read_tokens")} />
        <Figure name="Output" value={tokenText(total, "output_tokens")} />
        <Figure name="Requests" value={total.requests.toLocaleString("en-US")} />
        <Figure name={prices ? `Price, as of ${prices.as_of}` : "Price"} value={money(total)} />
      </dl>
      <Table report={report} money={money} />
      <Notes report={report} />
    </div>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Table({ report, money }: { report: UsageReport; money: (sums: Sums) => string }) {
  const { by, from, to } = report;
  // The newest day is first; other rows are in the order of their tokens.
  const rows = by === "day" ? report.rows.toReversed() : report.rows;
  const most = Math.max(1, ...rows.map(tokensOf));
  const title = GROUPINGS.find(([grouping]) => grouping === by)?.[1];
  return (
    <div class="scroll card" tabIndex={0} role="region" aria-label={`Tokens by ${by}`}>
      <table class="usage">
        <caption class="unseen">Tokens by {by}, from {from} to {to}</caption>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col" class="usage-bar">
              <span class="unseen">Share</span>
            </th>
            <th scope="col">Input</th>
            <th scope="col" class="wide">From a cache</th>
            <th scope="col" class="wide">To a cache</th>
            <th scope="col" class="wide">Output</th>
            <th scope="col" class="wide">Reasoning</th>
            <th scope="col" class="wide">Requests</th>
            <th scope="col">Price</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key ?? ""}>
              <th scope="row">
                <Label by={by} row={row} />
              </th>
              <td class="usage-bar">
                <Bar part={tokensOf(row) / most} />
              </td>
              <td>{tokenText(row, "input_tokens")}</td>
              <td class="wide">{tokenText(row, "cached_input_read_tokens")}</td>
              <td class="wide">{tokenText(row, "cached_input_write_tokens")}</td>
              <td class="wide">{tokenText(row, "output_tokens")}</td>
              <td class="wide">{tokenText(row, "reasoning_tokens")}</td>
              <td class="wide">{row.requests.toLocaleString("en-US")}</td>
              <td>{money(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Bar({ part }: { part: number }) {
  return (
    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect width={100 * part} height="8" />
    </svg>
  );
}

/** The views that have the records of a grouping. */
const VIEW_OF: Partial<Record<By, string>> = { agent: "peers", job: "jobs", chain: "asks" };

function Label({ by, row: { key, name } }: { by: By; row: Row }) {
  if (key === null) return <span class="hint">{by === "model" ? "not recorded" : "none"}</span>;
  const view = VIEW_OF[by];
  const text = <bdi>{visible(name ?? key)}</bdi>;
  const isLinked = view !== undefined && (by !== "chain" || key.startsWith("ask-"));
  if (!isLinked) return text;
  return (
    <>
      <a href={link(view, key)} data-row>{text}</a>
      {by !== "agent" && name !== null && (
        <>
          {" "}
          <code class="hint">{key}</code>
        </>
      )}
    </>
  );
}

function Notes({ report, children }: { report: UsageReport; children?: ComponentChildren }) {
  return (
    <div class="usage-notes">
      {children}
      <ul class="hint">
        {reportNotes(report).map((note) => <li key={note}>{visible(note)}</li>)}
      </ul>
      {report.prices === null && (
        <details>
          <summary>Show money</summary>
          <p class="hint">
            Add the prices of your models to the configuration, with the day on which you looked
            them up. mesh ships none, because prices change.
          </p>
          <pre class="card"><code>{PRICES_SAMPLE}</code></pre>
        </details>
      )}
    </div>
  );
}

const PRICES_SAMPLE = `usage:
  prices:
    currency: EUR
    as_of: 2026-11-28
    models: # for a million tokens
      "a-model-*": { input: 3, cached_input_read: 0.3, output: 15 }`;

function NoTokens({ report }: { report: UsageReport }) {
  return (
    <>
      <Empty title="No tokens were recorded in these days" command="mesh usage --by day">
        Agents write the tokens of each request into their own session files. mesh counts them at
        the end of a turn, and when you open this view.
      </Empty>
      <Notes report={report} />
    </>
  );
}

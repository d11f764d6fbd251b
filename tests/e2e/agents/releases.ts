/** The releases of an agent that are tried, and the table of the results of `mesh selftest`. */

import type { Result } from "../../../tools/selftest/verdicts.ts";

const TWO_MONTHS_MS = 60 * 86_400_000;
const STABLE = /^\d+\.\d+\.\d+$/;

const BEGIN = "<!-- written by `deno task agents --newest` -->";
const END = "<!-- end of what it writes -->";

/** The highest stable release, and the highest of two months ago; `times` is npm's list. */
export function versionsOf(times: Readonly<Record<string, string>>, now: number): string[] {
  const stable = Object.entries(times).filter(([version]) => STABLE.test(version))
    .map(([version, time]) => ({ version, at: Date.parse(time) }))
    .sort((a, b) => b.version.localeCompare(a.version, "en", { numeric: true }));
  const newest = stable[0]?.version;
  const older = stable.find(({ at }) => at <= now - TWO_MONTHS_MS)?.version;
  return [...new Set([newest, older])].filter((version) => version !== undefined);
}

/** A row for each release and transport, with the time of each scenario; then the failures. */
export function renderReleases(results: readonly Result[], day: string): string {
  const tested = results.filter(({ result }) => result !== "not tested");
  const scenarios = [...new Set(tested.map(({ scenario }) => scenario))];
  const rows = Map.groupBy(
    tested,
    ({ agent, version, transport }) => `${agent} ${version} | ${transport ?? "–"}`,
  );
  const lines = Array.from(rows, ([label, found]) => {
    const cells = scenarios.map((scenario) => {
      const row = found.find((result) => result.scenario === scenario);
      if (!row) return "–";
      if (row.result === "failed") return "**failed**";
      return row.ms === null ? "passed" : `${(row.ms / 1000).toFixed(1)} s`;
    });
    return `| ${[label, ...cells].join(" | ")} |`;
  });
  const failures = tested.filter(({ result }) => result === "failed")
    .map(({ agent, version, scenario, detail }) => `- ${agent} ${version}, ${scenario}: ${detail}`);
  const head = ["agent, version", "transport", ...scenarios];
  const rule = head.map(() => "---");
  const table = [`| ${head.join(" | ")} |`, `| ${rule.join(" | ")} |`, ...lines];
  const list = failures.length === 0 ? [] : ["", ...failures];
  return [`Run on ${day}.`, "", ...table, ...list].join("\n");
}

/** Replaces the last table of the page by this one. */
export function withTable(page: string, table: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`The page lacks "${BEGIN}" or "${END}"`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${page.slice(end)}`;
}

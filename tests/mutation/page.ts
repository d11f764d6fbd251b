/** The page `docs/generated/mutation.md`: which test file finds which fault. */

import type { Results, Target, TargetResult } from "./target.ts";

export const PAGE = "docs/generated/mutation.md";

const NOBODY = "**no test**";
const NOT_RUN = "not run";

const HEADING = /^## `(.+)`$/;
const RUN = /^Run on (\S+), commit (\S+)\.$/;
const ROW = /^\| (.+?) +\| (.+?) +\|$/;

/** The page for these results. A fault without a result is listed as not run. */
export function renderPage(targets: readonly Target[], results: Results): string {
  const all = targets.flatMap(({ file, faults }) =>
    faults.map(([fault]) => results.get(file)?.foundBy.get(fault))
  );
  const found = all.filter((finder) => typeof finder === "string").length;
  const sections = targets.map((target) => renderTarget(target, results.get(target.file)));
  return `# Faults that the tests find

Written by \`deno task mutation --write\`. Each row is a fault that is put into a copy of the
sources, and the test file that fails then. The commit is the one whose sources and tests were
copied.

${found} of ${all.length} faults are found.

${sections.join("\n")}`;
}

function renderTarget({ file, faults }: Target, result: TargetResult | undefined): string {
  const run = result ? `Run on ${result.date}, commit ${result.commit}.\n\n` : "";
  const rows = faults.map(([fault]) =>
    `| ${fault} | ${renderFinder(result?.foundBy.get(fault))} |`
  );
  return `## \`${file}\`\n\n${run}| fault | found by |\n| --- | --- |\n${rows.join("\n")}\n`;
}

function renderFinder(finder: string | null | undefined): string {
  if (finder === undefined) return NOT_RUN;
  return finder === null ? NOBODY : `\`${finder}\``;
}

/** The results on a page that was written before. */
export function parsePage(text: string): Results {
  const results = new Map<string, TargetResult>();
  const foundBy = new Map<string, Map<string, string | null>>();
  let file = "";
  for (const line of text.split("\n")) {
    file = HEADING.exec(line)?.[1] ?? file;
    const [, date, commit] = RUN.exec(line) ?? [];
    if (date !== undefined && commit !== undefined) {
      foundBy.set(file, new Map());
      results.set(file, { date, commit, foundBy: foundBy.get(file) ?? new Map() });
    }
    const [, fault = "", finder = ""] = ROW.exec(line) ?? [];
    const path = /^`(.+)`$/.exec(finder)?.[1];
    if (path !== undefined) foundBy.get(file)?.set(fault, path);
    else if (finder === NOBODY) foundBy.get(file)?.set(fault, null);
  }
  return results;
}

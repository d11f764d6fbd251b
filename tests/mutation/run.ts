/**
 * Puts each fault of the lists in this folder into a copy of the sources, and runs the tests that
 * must find it: first the file that found it last time, by the generated page.
 */

import { readTaskArgs } from "../runner/task_args.ts";
import { git, ROOT, SourceCopy } from "./copy.ts";
import { PAGE, parsePage, renderPage } from "./page.ts";
import { TARGETS } from "./targets.ts";
import type { Target } from "./target.ts";

const COMMIT_DIGITS = 8;

const args = readTaskArgs({
  task: "mutation",
  summary: "Puts faults into the sources, which the tests must find",
  words: { name: "TEXT" },
  options: {
    "--workers N": "copies of the sources that are tested at once (1)",
    "--write": "write the results into the page",
  },
});
/** Only the faults of files whose path contains it. */
const [text = ""] = args.words;
const commit = git("rev-parse", "HEAD").slice(0, COMMIT_DIGITS);
const date = new Date().toISOString().slice(0, 10);
const results = new Map(parsePage(readPage()));
const wanted = TARGETS.filter(({ file }) => file.includes(text));
const waiting = [...wanted];
await Promise.all(Array.from({ length: args.number("workers", 1) }, work));

const outcomes = wanted.flatMap(({ file }) =>
  [...results.get(file)?.foundBy ?? []].map(([fault, finder]) => ({ file, fault, finder }))
);
const survivors = outcomes.filter(({ finder }) => finder === null);
print(`\n${outcomes.length - survivors.length} of ${outcomes.length} faults were found`);
for (const { file, fault } of survivors) print(`survived: ${file}: ${fault}`);
Deno.exitCode = survivors.length === 0 ? 0 : 1;

/** Tries the faults of one file after the other, in a copy of its own. */
async function work(): Promise<void> {
  using copy = new SourceCopy();
  for (let target = waiting.shift(); target; target = waiting.shift()) {
    results.set(target.file, await tryFaults(copy, target));
    if (args.flag("write")) Deno.writeTextFileSync(`${ROOT}${PAGE}`, renderPage(TARGETS, results));
  }
}

async function tryFaults(copy: SourceCopy, { file, tests, faults }: Target) {
  const before = results.get(file)?.foundBy;
  const foundBy = new Map<string, string | null>();
  for (const fault of faults) {
    const [name] = fault;
    const last = before?.get(name);
    const finder = await copy.finderOf(file, fault, last ? [last, ...tests] : tests) ?? null;
    print(`${finder === null ? "SURVIVED" : "found   "}  ${file}: ${name}`);
    foundBy.set(name, finder);
  }
  return { date, commit, foundBy };
}

function readPage(): string {
  try {
    return Deno.readTextFileSync(`${ROOT}${PAGE}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

/** Each sentence of the six pages names its tests, or is listed as not testable. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { sources } from "../../tidy/sources.ts";
import { sentencesOf } from "./pages.ts";

const PAGES = ["install", "security", "faults", "relay", "machines", "machines-security"];
const UNTESTABLE = "not testable: ";
/** A call that makes a test, such as `Deno.test("…"`, `withTmux("…"` or `{ name: "…"`. */
const TEST =
  /^ *(?:(?:Deno\.test|(?:with|in)[A-Z]\w*|\w*[tT]est\w*)\(\s*(?:\{\s*)?(?:name:\s*)?|name:\s*)(["`])((?:\\.|(?!\1).)*)\1/gms;
/** Requirements that a test cites at the end of its name. */
const CITATIONS = /(?: \[[^\]]*\])+$/;

interface Row {
  /** A sentence of the page, or a part of it that occurs in no other sentence. */
  readonly quote: string;
  /** `daemon/api/guard_test.ts: the name of a test`, below `tests/`. */
  readonly tests: readonly string[];
}

function read(path: string): string {
  return Deno.readTextFileSync(fileURLToPath(new URL(path, import.meta.url)));
}

/** Parses a table: each line is a quote, and the indented lines below it are its tests. */
function rowsOf(table: string): Row[] {
  const rows: { quote: string; tests: string[] }[] = [];
  let is_untestable = false;
  for (const line of table.split("\n")) {
    const is_indented = line.startsWith("  ");
    if (line.trim() === "" || line.startsWith("# ")) continue;
    if (!is_indented) is_untestable = line.startsWith(UNTESTABLE);
    if (is_indented && !is_untestable) rows.at(-1)?.tests.push(line.trim());
    if (is_indented && is_untestable) rows.push({ quote: line.trim(), tests: [UNTESTABLE] });
    if (!is_indented && !is_untestable) rows.push({ quote: line, tests: [] });
  }
  return rows;
}

/** `path: name` of each test. */
const TESTS: ReadonlySet<string> = new Set(
  sources().filter(({ path }) => path.endsWith("_test.ts")).flatMap(({ path, text }) =>
    [...text.matchAll(TEST)].map(([, , name = ""]) =>
      `${path}: ${name.replaceAll(/\s+/g, " ").replace(CITATIONS, "")}`
    )
  ),
);

for (const page of PAGES) {
  const sentences = sentencesOf(read(`../../../docs/${page}.md`));
  const rows = rowsOf(read(`./${page}.txt`));
  const table = `tests/spec/promises/${page}.txt`;
  const isQuoted = (sentence: string, { quote }: Row) =>
    sentence === quote || (!sentences.includes(quote) && sentence.includes(quote));

  Deno.test(`docs/${page}.md: every sentence has a test, or is listed as not testable`, () => {
    const without = sentences.filter((sentence) => !rows.some((row) => isQuoted(sentence, row)));
    assert.deepEqual(without, [], `add them to ${table}`);
  });

  Deno.test(`docs/${page}.md: every quote stands in one sentence, and every sentence in one row`, () => {
    const wrong = rows.filter((row) =>
      sentences.filter((sentence) => isQuoted(sentence, row)).length !== 1
    );
    assert.deepEqual(wrong.map(({ quote }) => quote), [], `mend them in ${table}`);
    const twice = sentences.filter((sentence) =>
      rows.filter((row) => isQuoted(sentence, row)).length > 1
    );
    assert.deepEqual(twice, [], `keep one row of each in ${table}`);
  });

  Deno.test(`docs/${page}.md: every promise names tests, and each of them exists`, () => {
    const untested = rows.filter(({ tests }) => tests.length === 0).map(({ quote }) => quote);
    assert.deepEqual(untested, [], `name their tests in ${table}`);
    const unknown = rows.flatMap(({ tests }) => tests)
      .filter((test) => test !== UNTESTABLE && !TESTS.has(`tests/${test}`));
    assert.deepEqual(unknown, [], `mend them in ${table}`);
  });
}

/** Each sentence of the six pages is held by tests, or is in the list of what no test can hold. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { sources } from "../../tidy/sources.ts";
import { sentencesOf } from "./pages.ts";

const PAGES = ["install", "security", "faults", "relay", "machines", "machines-security"];
const UNTESTABLE = "not testable: ";
const TEST =
  /(?:\b\w*[tT]est\w*(?:\.\w+)*\(\s*(?:\{\s*)?(?:name:\s*)?|name:\s*)(["`])((?:\\.|(?!\1).)*)\1/gs;

interface Row {
  /** A part of one sentence of the page. */
  readonly quote: string;
  /** `daemon/api/guard_test.ts: a part of the name of a test`, below `tests/`. */
  readonly tests: readonly string[];
}

function read(path: string): string {
  return Deno.readTextFileSync(fileURLToPath(new URL(path, import.meta.url)));
}

/** A line is a quote, and the indented lines below it are its tests; see one of the tables. */
function rowsOf(table: string): Row[] {
  const rows: { quote: string; tests: string[] }[] = [];
  let is_untestable = false;
  for (const line of table.split("\n")) {
    if (!line.trim() || line.startsWith("# ")) continue;
    if (!line.startsWith("  ")) is_untestable = line.startsWith(UNTESTABLE);
    else if (!is_untestable) rows.at(-1)?.tests.push(line.trim());
    if (is_untestable ? line.startsWith("  ") : !line.startsWith("  ")) {
      rows.push({ quote: line.trim(), tests: [] });
      if (is_untestable) rows.at(-1)?.tests.push(UNTESTABLE);
    }
  }
  return rows;
}

/** The names of the tests of each file, as its source has them. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  sources().filter(({ path }) => path.endsWith("_test.ts")).map(({ path, code }) => [
    path,
    [...code.matchAll(TEST)].map(([, , name = ""]) => name.replaceAll(/\s+/g, " ")),
  ]),
);

function isUnknownTest(test: string): boolean {
  const [path = "", name = ""] = test.split(/: (.*)/s);
  return NAMES.get(`tests/${path}`)?.filter((known) => known.includes(name)).length !== 1;
}

for (const page of PAGES) {
  const sentences = sentencesOf(read(`../../../docs/${page}.md`));
  const rows = rowsOf(read(`./${page}.txt`));

  Deno.test(`docs/${page}.md: every sentence has a test, or is listed as not testable`, () => {
    const without = sentences.filter((sentence) =>
      !rows.some(({ quote }) => sentence.includes(quote))
    );
    assert.deepEqual(without, [], `add them to tests/spec/promises/${page}.txt`);
  });

  Deno.test(`docs/${page}.md: every quote stands in one sentence, and in one row`, () => {
    const wrong = rows.filter(({ quote }) =>
      sentences.filter((sentence) => sentence.includes(quote)).length !== 1
    );
    assert.deepEqual(wrong.map(({ quote }) => quote), []);
    const twice = sentences.filter((sentence) =>
      rows.filter(({ quote }) => sentence.includes(quote)).length > 1
    );
    assert.deepEqual(twice, []);
  });

  Deno.test(`docs/${page}.md: every promise names tests, and each of them exists`, () => {
    const unknown = rows.flatMap(({ quote, tests }) =>
      tests.length === 0 ? [`no test: ${quote}`] : tests
        .filter((test) => test !== UNTESTABLE && isUnknownTest(test))
    );
    assert.deepEqual(unknown, []);
  });
}

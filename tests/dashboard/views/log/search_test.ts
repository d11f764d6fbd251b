/** Searches of the log: requests, titles, and the ones that are kept. */

import assert from "node:assert/strict";
import {
  type Filters,
  filtersOf,
  isFiltered,
  namesIn,
  queryOf,
  readSearches,
  titleOf,
  withSearch,
} from "../../../../dashboard/views/log/search.ts";

const search = (given: Partial<Filters>) => filtersOf((name) => given[name as keyof Filters]);

Deno.test("days are sent as the instants at which they begin and end here", () => {
  const day = new Date(2026, 10, 20), next = new Date(2026, 10, 21);
  assert.deepEqual(queryOf(search({ q: "deploy", since: "2026-11-20", until: "2026-11-20" })), {
    q: "deploy",
    since: day.toISOString(),
    until: next.toISOString(),
  });
  assert.deepEqual(queryOf(search({ since: "yesterday", until: "0001-01-01", from: " " })), {
    until: "1970-01-01T00:00:00.000Z",
  });
});

Deno.test("a title names each filter, so that two searches of one title are the same", () => {
  assert.equal(
    titleOf(search({ q: "deploy", from: "api", kind: "ask" })),
    "deploy · from api · kind ask",
  );
  assert.notEqual(titleOf(search({ from: "api" })), titleOf(search({ to: "api" })));
  assert.equal(isFiltered(search({ q: "  " })), false);
});

Deno.test("kept searches are read back, and a damaged text has none", () => {
  const kept = withSearch([], search({ q: "deploy" }));
  assert.deepEqual(readSearches(JSON.stringify(kept)), kept);
  for (const text of [null, "", "{", "{}", "[1, null, {}]", '[{"q": 5}]']) {
    assert.deepEqual(readSearches(text), [], String(text));
  }
  const many = Array.from({ length: 25 }, (_, n) => search({ q: String(n) }));
  const last = many.reduce(withSearch, [] as Filters[]);
  assert.deepEqual([last.length, last.at(-1)?.q], [20, "24"]);
});

Deno.test("a search offers the peers whose names contain one of its words", () => {
  const names = ["api", "api-2", "web", "db", "api"];
  assert.deepEqual(namesIn("API deploy", names), ["api", "api-2"]);
  assert.deepEqual(namesIn('"web" d', names), ["web"]);
  assert.deepEqual(namesIn("", names), []);
});

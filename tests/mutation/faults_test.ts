/** The list of faults fits the sources; `deno task mutation` runs it. */

import assert from "node:assert/strict";
import { PAGE, parsePage, renderPage } from "./page.ts";
import { TARGETS } from "./targets.ts";

const ROOT = new URL("../../", import.meta.url);

Deno.test("each fault changes exactly one place of its file", () => {
  for (const { file, faults } of TARGETS) {
    const text = Deno.readTextFileSync(new URL(file, ROOT));
    for (const [fault, find, replace] of faults) {
      assert.equal(text.split(find).length, 2, `${file}: ${fault}`);
      assert.notEqual(find, replace);
    }
  }
});

Deno.test("each file with faults names tests that exist", () => {
  for (const { tests } of TARGETS) {
    for (const path of tests) Deno.statSync(new URL(path, ROOT));
  }
});

Deno.test("the page names a test file that exists for each fault", () => {
  const results = parsePage(Deno.readTextFileSync(new URL(PAGE, ROOT)));
  for (const { file, faults } of TARGETS) {
    for (const [fault] of faults) {
      const finder = results.get(file)?.foundBy.get(fault);
      assert.ok(finder, `${file}: ${fault}; run deno task mutation --write ${file}`);
      Deno.statSync(new URL(finder, ROOT));
    }
  }
});

Deno.test("a page is read as it was written", () => {
  const file = "kit/core/clock.ts";
  const faults = [["it stops", "a", "b"], ["it waits", "c", "d"], ["it is new", "e", "f"]] as const;
  const foundBy = new Map([["it stops", "tests/kit/core/clock_test.ts"], ["it waits", null]]);
  const results = new Map([[file, { date: "2030-01-01", commit: "0a1b2c3d", foundBy }]]);
  const page = renderPage([{ file, tests: [], faults }], results);
  assert.match(page, /1 of 3 faults are found/);
  assert.match(page, /\| it is new \| not run \|/);
  assert.deepEqual(parsePage(page), results);
});

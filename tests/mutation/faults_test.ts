/** The list of faults fits the sources; `deno task mutation` runs it. */

import assert from "node:assert/strict";
import { CORE_TARGETS } from "./core_faults.ts";
import { MESSAGE_TARGETS } from "./message_faults.ts";

const TARGETS = [...MESSAGE_TARGETS, ...CORE_TARGETS];
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

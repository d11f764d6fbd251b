/** The checks of a job, from a result of which an agent may have written any part. */

import assert from "node:assert/strict";
import { checksOf, withoutChecks } from "../../../../dashboard/views/jobs/checks.ts";

Deno.test("checks have their outcome in their order; those after a failure were not run", () => {
  const result = {
    checks: [
      { name: "lint", exit: 0, output_tail: "" },
      { name: "tests", exit: 1, output_tail: "2 failed" },
    ],
  };
  assert.deepEqual(checksOf(["lint", "tests", "build"], result), [
    { name: "lint", result: "passed", output: "" },
    { name: "tests", result: "failed", output: "2 failed" },
    { name: "build", result: "not run", output: "" },
  ]);
  const reason = "Its sandbox (bwrap) could not run it";
  const unable = { checks: [{ name: "lint", exit: 1, reason, output_tail: "bwrap: no" }] };
  assert.deepEqual(checksOf(["lint"], unable), [{
    name: "lint",
    result: "no result",
    output: `${reason}\nbwrap: no`,
  }]);
});

Deno.test("a result of another form says nothing about checks", () => {
  for (const checks of [null, "passed", 1, [null, 7, { name: 3 }], { lint: 0 }]) {
    assert.equal(checksOf(["lint"], { checks })[0]?.result, "not run");
  }
  assert.deepEqual(checksOf([], null), []);
});

Deno.test("the rest of a result is shown without its checks", () => {
  assert.equal(withoutChecks({ checks: [] }), null);
  assert.equal(withoutChecks(null), null);
  assert.deepEqual(withoutChecks({ checks: [], hosts: 3 }), { hosts: 3 });
});

/** The request of a new job. */

import assert from "node:assert/strict";
import { createJob } from "protocol/jobs/contract.ts";
import { type JobText, problemOf, toJobBody } from "../../../../dashboard/views/jobs/job_body.ts";

const NOW = { kind: "now" } as const;
const TEXT: JobText = {
  title: " Mend it ",
  prompt: "",
  target: "peer",
  assigned_peer: "peer-1",
  path: "~/work",
  backend: "codex",
  profile: "",
  checks: "tests, lint",
  when: { mode: "now", span: "", local: "", cron: "", timezone: "UTC" },
};

Deno.test("a job for a peer, or for a new agent, is a request that the daemon takes", () => {
  const peer = toJobBody(TEXT, NOW, "sam");
  assert.deepEqual(peer, {
    title: "Mend it",
    assigned_peer: "peer-1",
    created_by: "sam",
    checks: ["tests", "lint"],
  });
  const folder = toJobBody({ ...TEXT, target: "folder" }, NOW, null);
  assert.deepEqual(folder, {
    title: "Mend it",
    path: "~/work",
    backend: "codex",
    checks: ["tests", "lint"],
  });
  const recurring = { kind: "recurring", cron: "0 3 * * *", timezone: "UTC" } as const;
  const once = { kind: "once", at: Date.UTC(2026, 0, 1) } as const;
  for (const when of [NOW, recurring, once]) {
    for (const target of ["peer", "folder"] as const) {
      createJob.body.parse(toJobBody({ ...TEXT, target }, when, "sam"));
    }
  }
});

Deno.test("missing fields are named", () => {
  assert.equal(problemOf(TEXT, NOW), undefined);
  const missing = [
    problemOf({ ...TEXT, title: "", prompt: " " }, NOW),
    problemOf({ ...TEXT, assigned_peer: "" }, NOW),
    problemOf({ ...TEXT, target: "folder", path: "work" }, NOW),
    problemOf(TEXT, { kind: "invalid", problem: "Choose a day and a time." }),
  ];
  for (const problem of missing) assert.ok(problem);
});

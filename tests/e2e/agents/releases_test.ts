/** The choice of releases that are tried, and the table of their results. */

import assert from "node:assert/strict";
import { renderReleases, versionsOf, withTable } from "./releases.ts";

const NOW = Date.parse("2026-11-27T00:00:00Z");
const TIMES = {
  created: "2025-01-01T00:00:00Z",
  modified: "2026-11-26T00:00:00Z",
  "0.157.0": "2026-09-25T02:35:19Z",
  "0.157.1": "2026-09-27T04:45:43Z",
  "0.158.0": "2026-09-29T00:00:00Z",
  "0.171.0": "2026-11-20T00:51:29Z",
  "0.99.9": "2026-09-27T10:00:00Z",
  "0.172.0-alpha.1": "2026-11-26T00:00:00Z",
};

Deno.test("the newest stable release is tried, and the newest of two months ago", () => {
  assert.deepEqual(versionsOf(TIMES, NOW), ["0.171.0", "0.157.1"]);
  assert.deepEqual(versionsOf({ "1.0.0": "2026-01-01T00:00:00Z" }, NOW), ["1.0.0"]);
  assert.deepEqual(versionsOf({}, NOW), []);
});

const result = { agent: "codex", version: "0.171.0", transport: "native", ms: 234, detail: null };

Deno.test("a release has a row for each transport, with its times and its failures", () => {
  const table = renderReleases([
    { ...result, scenario: "idle", result: "passed" },
    { ...result, scenario: "draft", result: "failed", ms: null, detail: "The draft was lost" },
    { ...result, scenario: "idle", transport: "pane", result: "passed", ms: 1_000 },
    { ...result, scenario: "all", transport: "hook", result: "not tested", ms: null },
  ], "2026-11-27");
  assert.deepEqual(table.split("\n").slice(2), [
    "| agent, version | transport | idle | draft |",
    "| --- | --- | --- | --- |",
    "| codex 0.171.0 | native | 0.2 s | **failed** |",
    "| codex 0.171.0 | pane | 1.0 s | – |",
    "",
    "- codex 0.171.0, draft: The draft was lost",
  ]);
});

Deno.test("the table replaces the one before, and nothing else of the page", () => {
  const marks = [
    "<!-- written by `deno task agents --newest` -->",
    "<!-- end of what it writes -->",
  ];
  const page = `Above\n\n${marks[0]}\n\nold\n\n${marks[1]}\n\nBelow\n`;
  const changed = withTable(page, "new");
  assert.equal(changed, page.replace("old", "new"));
  assert.equal(withTable(changed, "new"), changed);
  assert.throws(() => withTable("Above", "new"), /lacks/);
});

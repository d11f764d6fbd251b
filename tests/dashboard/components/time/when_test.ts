/** When something is to happen. */

import assert from "node:assert/strict";
import { nextHour, readWhen, type WhenText } from "../../../../dashboard/components/time/when.ts";

const NOW = Date.UTC(2026, 0, 1, 12);
const TEXT: WhenText = {
  mode: "now",
  span: "1h30m",
  local: "2026-01-02T09:00",
  cron: " 0 9 * * 1-5 ",
  timezone: "Europe/Berlin",
};

Deno.test("each mode reads its own fields", () => {
  assert.deepEqual(readWhen(TEXT, NOW), { kind: "now" });
  const after = readWhen({ ...TEXT, mode: "in" }, NOW);
  assert.deepEqual(after, { kind: "once", at: NOW + 90 * 60_000 });
  const at = readWhen({ ...TEXT, mode: "at" }, NOW);
  assert.deepEqual(at, { kind: "once", at: Date.parse("2026-01-02T09:00") });
  assert.deepEqual(readWhen({ ...TEXT, mode: "recurring" }, NOW), {
    kind: "recurring",
    cron: "0 9 * * 1-5",
    timezone: "Europe/Berlin",
  });
});

Deno.test("times that the daemon would refuse are refused with a reason", () => {
  const problems = [
    readWhen({ ...TEXT, mode: "in", span: "soon" }, NOW),
    readWhen({ ...TEXT, mode: "at", local: "" }, NOW),
    readWhen({ ...TEXT, mode: "at", local: "2020-01-01T00:00" }, NOW),
    readWhen({ ...TEXT, mode: "recurring", cron: "0 9 * *" }, NOW),
    readWhen({ ...TEXT, mode: "recurring", cron: "0 0 30 2 *" }, NOW),
  ];
  for (const when of problems) assert.ok(when.kind === "invalid" && when.problem, when.kind);
});

Deno.test("the next hour is a local time that a field takes", () => {
  const local = nextHour(NOW);
  assert.match(local, /^\d{4}-\d\d-\d\dT\d\d:00$/);
  assert.equal(Date.parse(local), NOW + 3_600_000);
});

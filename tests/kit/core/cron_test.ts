import assert from "node:assert/strict";
import { Cron, Timezone } from "../../../kit/core/cron.ts";
import { nextFire } from "../../../kit/core/cron_pattern.ts";

/** The first fires after an instant, as RFC 3339 without the milliseconds. */
function fires(cron: string, timezone: string, after: string, count: number): string[] {
  const found: string[] = [];
  for (let at = nextFire(cron, timezone, Date.parse(after)); at !== undefined;) {
    found.push(new Date(at).toISOString().replace(".000Z", "Z"));
    at = found.length < count ? nextFire(cron, timezone, at) : undefined;
  }
  return found;
}

Deno.test("a time of day that spring skips fires at the change, and then at its time", () => {
  assert.deepEqual(fires("30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", 3), [
    "2026-03-28T01:30:00Z",
    "2026-03-29T01:00:00Z",
    "2026-03-30T00:30:00Z",
  ]);
});

Deno.test("a time of day that autumn repeats fires once", () => {
  assert.deepEqual(fires("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2), [
    "2026-10-25T00:30:00Z",
    "2026-10-26T01:30:00Z",
  ]);
});

Deno.test("a half-hourly pattern fires in the repeated hour, too", () => {
  assert.deepEqual(fires("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 4), [
    "2026-10-25T00:30:00Z",
    "2026-10-25T01:00:00Z",
    "2026-10-25T01:30:00Z",
    "2026-10-25T02:00:00Z",
  ]);
});

Deno.test("day of month and day of week are alternatives", () => {
  assert.deepEqual(fires("0 9 13 * 5", "UTC", "2026-02-07T00:00:00Z", 3), [
    "2026-02-13T09:00:00Z",
    "2026-02-20T09:00:00Z",
    "2026-02-27T09:00:00Z",
  ]);
  assert.deepEqual(fires("0 9 15 * 0", "UTC", "2026-04-13T00:00:00Z", 2), [
    "2026-04-15T09:00:00Z",
    "2026-04-19T09:00:00Z",
  ]);
});

Deno.test("a pattern for a leap day fires at the next one", () => {
  assert.deepEqual(fires("0 0 29 2 *", "UTC", "2026-11-21T00:00:00Z", 1), ["2028-02-29T00:00:00Z"]);
});

Deno.test("nextFire returns a later instant than the given one", () => {
  assert.deepEqual(fires("0 * * * *", "UTC", "2026-11-21T10:00:00Z", 1), ["2026-11-21T11:00:00Z"]);
});

for (
  const wrong of [
    "* * * *",
    "* * * * * *",
    "61 * * * *",
    "@reboot",
    "0 0 30 2 *",
    "2027-01-01T00:00:00",
    "9:30 * * * *",
    "",
  ]
) {
  Deno.test(`a pattern of ${JSON.stringify(wrong)} is refused with what is allowed`, () => {
    const read = Cron.safeParse(wrong);
    assert.ok(!read.success);
    assert.match(read.error.issues[0]?.message ?? "", /five fields|fires at all/);
  });
}

for (const right of ["0 9 * * MON-FRI", "*/15 * * * *", "@daily", " 0 0 1 JAN * "]) {
  Deno.test(`a pattern of ${JSON.stringify(right)} is accepted`, () => {
    assert.equal(Cron.parse(right), right.trim());
  });
}

Deno.test("a time zone must have an IANA name", () => {
  assert.equal(Timezone.parse("Asia/Kolkata"), "Asia/Kolkata");
  assert.ok(!Timezone.safeParse("Mars/Olympus").success);
  assert.ok(!Timezone.safeParse("").success);
});

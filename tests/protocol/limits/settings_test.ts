/** The quiet hours: which texts name some, and when they end. */

import assert from "node:assert/strict";
import { parseHours, QuietHours, quietUntil } from "protocol/limits/settings.ts";

Deno.test("quiet hours are two different times of the day", () => {
  assert.deepEqual(parseHours("22:00-07:30"), { from: 1320, to: 450 });
  assert.deepEqual(parseHours(" 1:05 - 2:00 "), { from: 65, to: 120 });
  for (const text of ["", "22-7", "24:00-07:00", "22:60-07:00", "07:00-07:00", "22:00"]) {
    assert.equal(parseHours(text), undefined, text);
    assert.equal(QuietHours.safeParse(text).success, false, text);
  }
});

Deno.test("quiet hours end at their time of the same day or of the next", () => {
  const at = (day: number, hour: number, minute = 0) =>
    new Date(2030, 0, day, hour, minute).getTime();
  const night = parseHours("22:00-07:30"), noon = parseHours("12:00-13:00");
  assert(night && noon);
  assert.equal(quietUntil(night, at(1, 22)), at(2, 7, 30));
  assert.equal(quietUntil(night, at(2, 3)), at(2, 7, 30));
  assert.equal(quietUntil(night, at(2, 7, 30)), undefined);
  assert.equal(quietUntil(night, at(2, 21, 59)), undefined);
  assert.equal(quietUntil(noon, at(2, 12, 30)), at(2, 13));
  assert.equal(quietUntil(noon, at(2, 13)), undefined);
});

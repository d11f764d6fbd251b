/** The times until which an item is put off. */

import assert from "node:assert/strict";
import { LATER, laterInstant } from "../../../../dashboard/views/attention/later.ts";

Deno.test("each choice is later than now, in local time", () => {
  const monday = new Date(2026, 10, 30, 8, 30).getTime();
  const at = (choice: string) => laterInstant(choice, monday)?.toString();
  assert.equal(at("1h"), new Date(2026, 10, 30, 9, 30).toString());
  assert.equal(at("tomorrow"), new Date(2026, 11, 1, 9).toString());
  assert.equal(at("monday"), new Date(2026, 11, 7, 9).toString());
  for (const [choice] of LATER) assert.ok(Number(laterInstant(choice, monday)) > monday, choice);
  assert.equal(laterInstant("never", monday), undefined);
});

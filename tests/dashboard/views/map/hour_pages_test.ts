/** The messages of the last hour. */

import assert from "node:assert/strict";
import { type Hour, mergeHour, MESSAGES_MAX } from "../../../../dashboard/views/map/hour_pages.ts";
import { messageOf } from "../../../support/dashboard/records.ts";

const SINCE = "2026-01-01T12:00:00.000Z";
const message = (delivery_id: string, minute = 5, state: "sent" | "seen" = "sent") =>
  messageOf({
    delivery_id,
    state,
    created_at: new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString(),
  });
const shown = ({ messages }: Hour) =>
  messages.map((entry) => `${entry.delivery_id} ${entry.state}`);
const BEFORE: Hour = { messages: [message("2"), message("1")], truncated: false };

Deno.test("a page that overlaps the loaded messages replaces its own, and keeps the older ones", () => {
  const fresh = [message("3"), message("2", 5, "seen")];
  const now = mergeHour(BEFORE, { fresh, complete: false, joined: true, since: SINCE });
  assert.deepEqual(shown(now), ["3 sent", "2 seen", "1 sent"]);
  assert.equal(now.truncated, false);
});

Deno.test("messages from before the hour leave it", () => {
  const fresh = [message("3"), message("2")];
  const since = message("x", 6).created_at;
  const now = mergeHour(BEFORE, { fresh, complete: false, joined: true, since });
  assert.deepEqual(shown(now), ["3 sent", "2 sent"]);
});

Deno.test("after a gap only the loaded part is shown, and marked as a part", () => {
  const now = mergeHour(BEFORE, {
    fresh: [message("9")],
    complete: false,
    joined: false,
    since: SINCE,
  });
  assert.deepEqual([shown(now), now.truncated], [["9 sent"], true]);
});

Deno.test("a whole hour that fits is complete; a busier one is cut", () => {
  const whole = mergeHour(BEFORE, {
    fresh: [message("9")],
    complete: true,
    joined: false,
    since: SINCE,
  });
  assert.deepEqual([shown(whole), whole.truncated], [["9 sent"], false]);
  const fresh = Array.from({ length: MESSAGES_MAX }, (_, index) => message(`n${index}`));
  const cut = mergeHour(BEFORE, { fresh, complete: false, joined: true, since: SINCE });
  assert.deepEqual([cut.messages.length, cut.truncated], [MESSAGES_MAX, true]);
});

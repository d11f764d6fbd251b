/** Threads of the log. */

import assert from "node:assert/strict";
import type { Message } from "../../../../dashboard/state/records.ts";
import { dayOf, hold, toThreads } from "../../../../dashboard/views/log/threads.ts";
import { messageOf } from "../../../support/dashboard/records.ts";

function message(delivery_id: string, minute: number, more: Partial<Message> = {}): Message {
  const created_at = new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString();
  return messageOf({ delivery_id, created_at, ...more });
}
const ids = (threads: readonly { id: string }[]) => threads.map(({ id }) => id).join(" ");

const ASK = message("qd-1", 1, { kind: "ask", correlation_id: "ask-1" });
const NOTE = message("notif-2", 2);
const ACK = message("qd-3", 3, { kind: "ack", correlation_id: "ask-1" });

Deno.test("an ask and its reply are one thread, which its newest message places", () => {
  const threads = toThreads([ACK, NOTE, ASK]);
  assert.equal(ids(threads), "ask-1 notif-2");
  assert.deepEqual([threads[0]?.first, threads[0]?.rest], [ASK, [ACK]]);
});

Deno.test("a reply whose ask is not on the page is a thread of its own", () => {
  assert.equal(toThreads([ACK, NOTE])[0]?.first, ACK);
});

Deno.test("rows stay while the reader has scrolled; new threads are counted", () => {
  const frozen = toThreads([NOTE, ASK]);
  const current = toThreads([message("notif-4", 4), ACK, NOTE, ASK]);
  const { shown, fresh } = hold(frozen, current);
  assert.equal(ids(shown), "notif-2 ask-1");
  assert.deepEqual(shown[1]?.rest, [ACK]);
  assert.equal(fresh, 1);
  assert.equal(ids(hold(undefined, current).shown), "notif-4 ask-1 notif-2");
});

Deno.test("older pages are appended while the reader has scrolled", () => {
  const frozen = toThreads([NOTE]);
  const current = toThreads([NOTE, message("notif-0", 0)]);
  assert.equal(ids(hold(frozen, current).shown), "notif-2 notif-0");
});

Deno.test("a row that left the page stays until the reader returns", () => {
  assert.equal(ids(hold(toThreads([NOTE]), toThreads([message("notif-9", 9)])).shown), "notif-2");
});

Deno.test("a day is named from the reader's day, and has its year if that is another one", () => {
  const now = new Date(2026, 0, 2, 0, 5).getTime();
  const day = (...at: [number, number, number, number]) =>
    dayOf(new Date(...at).toISOString(), now);
  assert.equal(day(2026, 0, 2, 0), "Today");
  assert.equal(day(2026, 0, 1, 23), "Yesterday");
  assert.match(day(2025, 11, 31, 23), /2025/);
  assert.doesNotMatch(day(2026, 0, 9, 0), /2026|Today/);
});

/** The entries of a conversation. */

import assert from "node:assert/strict";
import { toEntries } from "../../../../dashboard/views/peer/entries.ts";
import { messageOf } from "../../../support/dashboard/records.ts";

const at = (second: number) => `2026-01-01T12:00:0${second}.000Z`;
const note = (id: string, second: number) =>
  messageOf({ message_id: id, delivery_id: id, created_at: at(second) });
const turn = (text: string, second: number) => ({
  role: "user" as const,
  text,
  truncated: false,
  tool_calls: [],
  at: at(second),
});

const keysOf = (...args: Parameters<typeof toEntries>) => toEntries(...args).map(({ key }) => key);

Deno.test("messages and turns are in the order of their times, the oldest first", () => {
  const messages = [note("n3", 3), note("n1", 1)];
  const turns = [turn("Go on", 2)];
  assert.deepEqual(keysOf({ messages, turns, next: null }), ["n1", `user ${at(2)}`, "n3"]);
});

Deno.test("a prompt that is a message, and a turn before the first message, are left out", () => {
  const messages = [note("n3", 3), note("n2", 2)];
  const turns = [turn("mesh n3: Hello", 4), turn("Earlier", 1)];
  assert.deepEqual(keysOf({ messages, turns, next: "more" }), ["n2", "n3"]);
});

Deno.test("an ack is no entry; its files are those of the reply", () => {
  const attachments = [{
    id: "att-1",
    filename: "port.txt",
    size: 4,
    content_type: "text/plain",
    sha256: "0".repeat(64),
    path: "/att-1",
    created_at: at(1),
    expires_at: at(9),
  }];
  const ask = messageOf({ kind: "ask", message_id: "ask-1", delivery_id: "d1" });
  const ack = messageOf({ kind: "ack", correlation_id: "ask-1", attachments });
  const [entry, ...more] = toEntries({ messages: [ack, ask], turns: [], next: null });
  assert.deepEqual([entry?.key, entry?.reply_attachments, more], ["d1", attachments, []]);
});

const record = (position: number, text: string, second: number | null) => ({
  position,
  at: second === null ? null : at(second),
  kind: "prompt" as const,
  tool: null,
  text,
  chars: text.length,
  masked: 0,
  call: null,
  outcome: null,
});

Deno.test("records of the agent's session stand between the messages, in place of its turns", () => {
  const transcript = [
    record(10, "Go on", 2),
    { ...record(11, "{}", null), kind: "tool_call" as const, tool: "Bash" },
    record(12, "[mesh] n3: Hello", 4),
  ];
  const turns = [turn("Before the records", 1), turn("Go on", 2)];
  const talk = { messages: [note("n3", 3)], turns, transcript, next: null };
  assert.deepEqual(keysOf(talk), [`user ${at(1)}`, "record 10", "record 11", "n3"]);
  // Entries older than the first message are left out if more messages follow.
  assert.deepEqual(keysOf({ ...talk, next: "more" }), ["n3"]);
});

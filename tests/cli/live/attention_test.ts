/** The items that wait for the human, and their order. */

import assert from "node:assert/strict";
import { attentionOf, waitingSince } from "../../../cli/live/sections.ts";
import { ask, item, minute, peer, someRecords } from "../../support/cli/live_records.ts";

const idsOf = (records: Parameters<typeof attentionOf>[0]) =>
  attentionOf(records).map(({ kind, id }) => `${kind} ${id}`);

Deno.test("blocked agents come first, then who holds up others, dialogs, and notes", () => {
  assert.deepEqual(idsOf(someRecords()), [
    ...["question inb-db", "question inb-api", "dialog peer-infra", "note inb-note"],
  ]);
});

Deno.test("the wait of a question began with the oldest ask that waits behind it", () => {
  const [, api] = attentionOf(someRecords());
  assert.equal(api?.kind === "question" && api.behind.names.join(), "web");
  assert.equal(api && waitingSince(api), minute(2));
});

Deno.test("an agent that asked is listed once, an offline agent never", () => {
  const records = someRecords({
    peers: [
      peer("db", { turn_state: "awaiting_input" }),
      peer("gone", { turn_state: "awaiting_input", status: "offline" }),
    ],
  });
  assert.deepEqual(idsOf(records).filter((id) => id.startsWith("dialog")), []);
});

Deno.test("an ask that was closed unanswered stays as a note until it is read", () => {
  const inbox = { human: "sam", human_peer_id: "peer-sam", asks: [] };
  const state = "closed" as const;
  const missed = [
    item("api", 1, { state }),
    item("web", 2, { state, read: true }),
    item("db", 3, { state, replied: true }),
  ];
  assert.deepEqual(idsOf(someRecords({ peers: [], inbox: { ...inbox, items: missed } })), [
    "note inb-api",
  ]);
  assert.deepEqual(idsOf({ peers: [], inbox: undefined, open_asks: [ask("a", "b", 1)] }), []);
});

Deno.test("an open ask is a question also where the human's inbox is on another machine", () => {
  const inbox = { human: "sam", human_peer_id: "peer-sam", asks: [], items: [item("api", 1)] };
  assert.deepEqual(idsOf(someRecords({ peers: [], inbox })), ["question inb-api"]);
});

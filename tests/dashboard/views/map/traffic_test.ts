/** Messages on the map. */

import assert from "node:assert/strict";
import type { Message } from "../../../../dashboard/state/records.ts";
import {
  countsOf,
  edgesOf,
  inPlayAt,
  stepsOf,
  StepWatcher,
} from "../../../../dashboard/views/map/traffic.ts";
import { statusesAt } from "../../../../dashboard/views/map/members.ts";
import { messageOf } from "../../../support/dashboard/records.ts";

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString();
const ms = (second: number) => Date.parse(at(second));

function message(fields: Partial<Message>): Message {
  return messageOf({ created_at: at(0), ...fields });
}

Deno.test("an edge counts its messages, and those that wait or are open", () => {
  const edges = edgesOf([
    message({ delivery_id: "3", state: "queued" }),
    message({ delivery_id: "2", kind: "ask" }),
    message({ delivery_id: "1", kind: "ask", closed_at: at(1) }),
    message({ delivery_id: "0", from_peer_id: "b", to_peer_id: "a" }),
  ]);
  assert.deepEqual(
    edges.map(({ from, to, count, waiting, open_asks }) => [from, to, count, waiting, open_asks]),
    [["a", "b", 3, 1, 1], ["b", "a", 1, 0, 0]],
  );
});

Deno.test("a message to oneself is no edge; a sender that is no peer has a node of its name", () => {
  assert.deepEqual(edgesOf([message({ to_peer_id: "a" })]), []);
  assert.equal(edgesOf([message({ from_peer_id: null })])[0]?.from, "name:ada");
});

Deno.test("steps come in order, at one instant in the order of the stages", () => {
  const steps = stepsOf([
    message({ delivery_id: "2", created_at: at(1) }),
    message({ delivery_id: "1", sent_at: at(1), seen_at: at(1) }),
  ]);
  assert.deepEqual(steps.map(({ message, stage }) => `${message.delivery_id} ${stage}`), [
    "1 created",
    "2 created",
    "1 sent",
    "1 seen",
  ]);
});

Deno.test("the watcher reports what changed since the last load, and nothing at first", () => {
  const watcher = new StepWatcher();
  const [old, fresh] = [message({ delivery_id: "1" }), message({ delivery_id: "2" })];
  assert.deepEqual(watcher.next([old]), []);
  assert.deepEqual(watcher.next([old]), []);
  const seen = { ...old, sent_at: at(1), seen_at: at(2) };
  assert.deepEqual(watcher.next([fresh, seen]).map(({ stages }) => stages), [
    ["sent", "seen"],
    ["created"],
  ]);
});

Deno.test("at a moment the map shows messages on their way, and for a while those that arrived", () => {
  const note = message({ sent_at: at(10), seen_at: at(20) });
  const partAt = (second: number) => inPlayAt([note], ms(second)).map(({ part }) => part);
  assert.deepEqual(partAt(-1), []);
  assert.deepEqual(partAt(9), [0.14]);
  assert.deepEqual(partAt(11), [0.5]);
  assert.deepEqual(partAt(21), [1]);
  assert.deepEqual(partAt(30), []);
  assert.equal(inPlayAt([message({ state: "queued" })], ms(900)).length, 1);
  assert.equal(inPlayAt([message({ state: "failed" })], ms(900)).length, 0);
});

Deno.test("messages are counted by part of the hour", () => {
  const range = { from: ms(0), to: ms(40), parts: 4 };
  const made = [0, 9, 10, 39, 40].map((second) => message({ created_at: at(second) }));
  assert.deepEqual(countsOf(made, range), [2, 1, 0, 1]);
});

Deno.test("a peer that came online later was offline before, and the other way round", () => {
  const event = (id: number, type: string, second: number, peer_id: string) => ({
    id,
    type,
    timestamp: at(second),
    peer_id,
  });
  const events = [
    event(1, "peer_online", 10, "a"),
    event(2, "peer_offline", 20, "a"),
    event(3, "peer_offline", 20, "b"),
  ];
  assert.deepEqual(Object.fromEntries(statusesAt(events, ms(5))), { a: "offline", b: "online" });
  assert.deepEqual(Object.fromEntries(statusesAt(events, ms(15))), { a: "online", b: "online" });
  assert.deepEqual(Object.fromEntries(statusesAt(events, ms(25))), {});
});

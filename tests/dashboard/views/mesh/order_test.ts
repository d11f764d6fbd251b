/** The orders of the mesh list. */

import assert from "node:assert/strict";
import { type Order, sortPeers, toOrder } from "../../../../dashboard/views/mesh/order.ts";
import { peerOf } from "../../../support/dashboard/records.ts";

const PEERS = [
  peerOf({ name: "web", last_seen: "2026-01-01T12:00:30.000Z" }),
  peerOf({ name: "api", status: "busy", turn_state: "working", pending_ask_count: 1 }),
  peerOf({ name: "old", status: "offline", pending_ask_count: 1, oldest_pending_age_seconds: 90 }),
  peerOf({ name: "db", turn_state: "awaiting_input", last_seen: null }),
];

const namesBy = (order: Order) => sortPeers(PEERS, order).map(({ name }) => name).join(" ");

Deno.test("the order by need begins with peers that wait for input, and ends with offline peers", () => {
  assert.equal(namesBy("need"), "db api web old");
});

Deno.test("by name", () => {
  assert.equal(namesBy("name"), "api db old web");
});

Deno.test("by last seen, the newest sign is first, and who was never seen last", () => {
  assert.equal(namesBy("seen"), "web api old db");
});

Deno.test("by wait, the oldest open ask is first, and who has none last", () => {
  assert.equal(namesBy("wait"), "old api db web");
});

Deno.test("an address with another order has the order by need", () => {
  assert.deepEqual(["seen", "constructor", null].map(toOrder), ["seen", "need", "need"]);
});

/** Inbox items pushed into the Telegram chat, and their receipts. */

import assert from "node:assert/strict";
import { QUEUE_MAX } from "../../../surfaces/chat/push_queue.ts";
import { surfaceFixture } from "../../support/telegram/surface_fixture.ts";

const TWO_PARTS = "x".repeat(4000) + "\n" + "y".repeat(4000);

Deno.test("an item is one plain text message, and its receipt contains the message's id", async () => {
  await using r = await surfaceFixture();
  assert.partialDeepStrictEqual(r.mesh.connects[0], {
    type: "connect",
    display_name: "telegram",
    backend: "sdk",
    capabilities: ["inbox_surface"],
    auth_token: "0123456789abcdef",
  });
  r.mesh.item({ text: "*Ready* <b>now</b>?" });
  await r.settle();
  const [message] = r.bot.sentMessages;
  assert.equal(message?.text, "❓ ada asks:\n*Ready* <b>now</b>?");
  const sent = r.bot.calls.find(({ method }) => method === "sendMessage")?.params ?? {};
  assert.ok(!("parse_mode" in sent) && !("entities" in sent));
  const ref = String(message?.message_id);
  assert.deepEqual(r.mesh.receipts, [{
    type: "delivery_ack",
    delivery_id: "qd-000000000001",
    status: "pushed",
    surface_ref: ref,
    surface_refs: [ref],
  }]);
});

Deno.test("a long item is several messages; the receipt lists all, the first as its ref", async () => {
  await using r = await surfaceFixture();
  r.mesh.item({ kind: "notify", text: TWO_PARTS });
  await r.settle();
  assert.deepEqual(r.bot.sentMessages.map(({ text }) => text.split("\n")[0]), [
    "💬 ada says (1/2):",
    "💬 ada says (2/2):",
  ]);
  const refs = r.bot.sentMessages.map(({ message_id }) => String(message_id));
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ surface_ref: refs[0], surface_refs: refs }]);
});

Deno.test("the first message of an item replies to the thread's last one", async () => {
  await using r = await surfaceFixture();
  r.mesh.item();
  await r.settle();
  const ref = String(r.bot.sentMessages[0]?.message_id);
  const next = { ...r.mesh.items[0], item_id: "inb-00000000000f", pushes: [], text: TWO_PARTS };
  r.mesh.sendItem(next, { reply_to_ref: ref });
  await r.settle();
  assert.deepEqual(r.bot.sentMessages.map(({ reply_to }) => reply_to), [
    undefined,
    r.bot.sentMessages[0]?.message_id,
    undefined,
  ]);
});

Deno.test("an item that is offered again is not sent again, but its receipt is", async () => {
  await using r = await surfaceFixture();
  const item = r.mesh.item();
  await r.settle();
  r.mesh.close(1001);
  await r.advance(1000);
  assert.ok(r.mesh.connected);
  r.mesh.sendItem(item);
  r.mesh.sendItem(item, { delivery_id: "qd-another" });
  await r.settle();
  assert.equal(r.bot.sentMessages.length, 1);
  assert.deepEqual(
    r.mesh.receipts.slice(1).map(({ delivery_id, status }) => [delivery_id, status]),
    [
      ["qd-000000000001", "pushed"],
      ["qd-000000000001", "pushed"],
      ["qd-another", "pushed"],
    ],
  );
});

Deno.test("a receipt that was lost with the connection is sent at the next offer", async () => {
  await using r = await surfaceFixture(({ bot }) =>
    bot.failNext("sendMessage", { error_code: 429, parameters: { retry_after: 20 } })
  );
  r.mesh.item();
  await r.settle();
  r.mesh.up = false;
  r.mesh.close(1001);
  await r.advance(20_000);
  assert.equal(r.bot.sentMessages.length, 1);
  assert.deepEqual(r.mesh.receipts, []);
  r.mesh.up = true;
  await r.advance(15_000);
  assert.equal(r.bot.sentMessages.length, 1);
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed" }]);
});

Deno.test("a rate limit is waited out, and the order is kept", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendMessage", { error_code: 429, parameters: { retry_after: 7 } });
  for (const text of ["one", "two", "three"]) r.mesh.item({ text });
  await r.advance(6_900);
  assert.equal(r.bot.sentMessages.length, 0);
  await r.advance(100);
  assert.deepEqual(r.bot.sentMessages.map(({ text }) => text.split("\n")[1]), [
    "one",
    "two",
    "three",
  ]);
  assert.deepEqual(r.mesh.receipts.map(({ status }) => status), ["pushed", "pushed", "pushed"]);
});

Deno.test("a long rate limit is reported at its start and at its end", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendMessage", { error_code: 429, parameters: { retry_after: 300 } });
  r.mesh.item();
  await r.settle();
  assert.partialDeepStrictEqual(r.mesh.receipts, [{
    status: "failed",
    error_class: "rate_limited",
  }]);
  await r.advance(300_000);
  assert.partialDeepStrictEqual(r.mesh.receipts.slice(1), [{ status: "pushed" }]);
});

Deno.test("while Telegram is unreachable, items wait in order and the daemon gets one notice", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendMessage", ...Array(20).fill("unreached"));
  for (const text of ["one", "two"]) r.mesh.item({ text });
  await r.advance(60_000);
  assert.deepEqual(r.mesh.receipts.map(({ status, error_class }) => [status, error_class]), [
    ["failed", "network"],
  ]);
  await r.advance(3_600_000);
  assert.deepEqual(r.bot.sentMessages.map(({ text }) => text.split("\n")[1]), ["one", "two"]);
  assert.deepEqual(
    r.mesh.receipts.slice(1).map(({ delivery_id, status }) => [delivery_id, status]),
    [
      ["qd-000000000001", "pushed"],
      ["qd-000000000002", "pushed"],
    ],
  );
  assert.equal(r.printed.filter((line) => line.includes("cannot be reached")).length, 1);
});

for (const outcome of ["lost", "done but lost"] as const) {
  Deno.test(`a text whose answer was lost is not sent again; a notice replaces it (${outcome})`, async () => {
    await using r = await surfaceFixture();
    r.bot.failNext("sendMessage", outcome);
    r.mesh.item({ text: "Delete it?" });
    await r.advance(2_000);
    assert.equal(
      r.bot.calls.filter(({ params }) => /Delete it/.test(String(params["text"]))).length,
      1,
    );
    const note = r.bot.sentMessages.at(-1);
    assert.match(note?.text ?? "", /ada asks, but I do not know.*\/show inb-000000000001/);
    const ref = String(note?.message_id);
    assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed", surface_refs: [ref] }]);
    r.bot.reply(Number(ref), "Yes");
    await r.settle();
    assert.partialDeepStrictEqual(r.mesh.replies, [{ item_id: "inb-000000000001", text: "Yes" }]);
  });
}

Deno.test("when even the notice is unclear the push fails, and is not retried", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendMessage", "lost", "lost", "lost", "lost");
  const item = r.mesh.item();
  await r.advance(60_000);
  const failed = { status: "failed", error_class: "unclear", surface_ref: null, surface_refs: [] };
  assert.partialDeepStrictEqual(r.mesh.receipts, [failed]);
  r.mesh.sendItem(item);
  await r.advance(60_000);
  assert.equal(r.bot.count("sendMessage"), 4);
  assert.partialDeepStrictEqual(r.mesh.receipts, [failed, failed]);
});

Deno.test("a refusal of a later part fails the item with its sent parts; the next item follows", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendMessage", "ok", { error_code: 403 });
  const item = r.mesh.item({ text: TWO_PARTS });
  r.mesh.item({ text: "next" });
  await r.settle();
  const [first, next] = r.bot.sentMessages;
  assert.match(next?.text ?? "", /next/);
  const ref = String(first?.message_id);
  assert.partialDeepStrictEqual(r.mesh.receipts, [
    { status: "failed", error_class: "forbidden", surface_ref: ref, surface_refs: [ref] },
    { status: "pushed" },
  ]);
  r.mesh.sendItem(item);
  await r.settle();
  const rest = r.bot.sentMessages[2];
  assert.match(rest?.text ?? "", /\(2\/2\)/, "sent parts are not sent again");
  assert.partialDeepStrictEqual(r.mesh.receipts[2], {
    status: "pushed",
    surface_ref: ref,
    surface_refs: [ref, String(rest?.message_id)],
  });
});

Deno.test("every class of refusal is reported by its name", async () => {
  // deno-fmt-ignore
  const classes = [
    [400, "bad_request"],
    [403, "forbidden"  ],
  ] as const;
  for (const [error_code, error_class] of classes) {
    await using r = await surfaceFixture();
    r.bot.failNext("sendMessage", { error_code });
    r.mesh.item();
    await r.settle();
    assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "failed", error_class }]);
  }
});

Deno.test("an item that an earlier process sent in part is marked as repeated", async () => {
  await using r = await surfaceFixture();
  const push = { surface: "telegram", surface_refs: ["7"], error_class: "network" };
  r.mesh.item({ pushes: [push] });
  r.mesh.item({ pushes: [{ ...push, surface: "dashboard" }] });
  await r.settle();
  assert.deepEqual(r.bot.sentMessages.map(({ text }) => text.split("\n")[0]), [
    "❓ ada asks (again):",
    "❓ ada asks:",
  ]);
});

Deno.test("items beyond the queue limit stay with the daemon, and are requested once there is room", async () => {
  await using r = await surfaceFixture(({ bot }) => {
    bot.failNext("sendMessage", { error_code: 429, parameters: { retry_after: 5 } });
  });
  for (let count = 0; count < QUEUE_MAX + 5; count++) r.mesh.item();
  await r.advance(5_000);
  while (r.bot.sentMessages.length < QUEUE_MAX) await r.settle();
  const [connects, shown] = [r.mesh.connects.length, r.bot.sentMessages.length];
  assert.ok(shown < QUEUE_MAX + 5);
  await r.advance(1_000);
  assert.equal(r.mesh.connects.length, connects + 1, "it reconnects");
  while (r.bot.sentMessages.length < QUEUE_MAX + 5) await r.settle();
  assert.equal(
    new Set(r.mesh.receipts.map(({ delivery_id }) => delivery_id)).size,
    QUEUE_MAX + 5,
  );
});

Deno.test("a send in progress at the stop signal finishes, and its receipt is sent", async () => {
  const r = await surfaceFixture();
  const { release } = r.bot.holdSends();
  r.mesh.item();
  await r.settle();
  const ending = r[Symbol.asyncDispose]();
  await r.settle();
  assert.deepEqual(r.mesh.receipts, []);
  release();
  await ending;
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed" }]);
  assert.equal(r.mesh.connected, false);
});

Deno.test("a send that does not end is aborted, and reported as unclear", async () => {
  const r = await surfaceFixture();
  r.bot.holdSends();
  r.mesh.item();
  r.mesh.item();
  await r.settle();
  const ending = r[Symbol.asyncDispose]();
  await r.advance(3_000);
  await ending;
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "failed", error_class: "unclear" }]);
  assert.equal(r.bot.sentMessages.length, 0, "nothing more is sent");
});

Deno.test("an interrupted item is reported with its sent parts; an unsent item is not", async () => {
  const r = await surfaceFixture();
  r.bot.failNext("sendMessage", "ok", { error_code: 429, parameters: { retry_after: 20 } });
  r.mesh.item({ text: TWO_PARTS });
  r.mesh.item();
  await r.settle();
  await r[Symbol.asyncDispose]();
  const ref = String(r.bot.sentMessages[0]?.message_id);
  assert.partialDeepStrictEqual(r.mesh.receipts, [
    { status: "failed", error_class: "interrupted", surface_refs: [ref] },
  ]);
  assert.equal(r.mesh.receipts.length, 1);
});

Deno.test("an answer lost while stopping is reported as unclear", async () => {
  const r = await surfaceFixture();
  r.bot.failNext("sendMessage", "done but lost");
  const { release } = r.bot.holdSends();
  r.mesh.item();
  await r.settle();
  const ending = r[Symbol.asyncDispose]();
  release();
  await ending;
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "failed", error_class: "unclear" }]);
  assert.equal(r.bot.count("sendMessage"), 1);
});

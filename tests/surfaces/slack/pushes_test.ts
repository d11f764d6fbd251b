/** Inbox items pushed into Slack, and their receipts. */

import assert from "node:assert/strict";
import { DIRECT } from "../../support/slack/fake_slack.ts";
import { POST_MS, slackFixture } from "../../support/slack/surface_fixture.ts";
import { toRef } from "../../../surfaces/slack/timestamps.ts";

const TWO_PARTS = "x".repeat(2900) + "\n" + "y".repeat(2900);

Deno.test("an item is one message of literal text, and its receipt has the message's ref", async () => {
  await using r = await slackFixture();
  assert.partialDeepStrictEqual(r.mesh.connects[0], {
    display_name: "slack",
    capabilities: ["inbox_surface"],
  });
  r.mesh.item({ text: "<!everyone> *Ready* & <https://a.test|b>?" });
  await r.settle();
  const [message] = r.slack.sent;
  assert.equal(message?.channel, DIRECT);
  assert.deepEqual(r.slack.shown, ["❓ ada asks:\n<!everyone> *Ready* & <https://a.test|b>?"]);
  assert.match(message?.text ?? "", /&lt;!everyone&gt; \*Ready\* &amp; &lt;https/);
  const ref = toRef(message?.ts ?? "");
  assert.match(ref, /^\d{16}$/);
  assert.deepEqual(r.mesh.receipts, [{
    type: "delivery_ack",
    delivery_id: "qd-000000000001",
    status: "pushed",
    surface_ref: ref,
    surface_refs: [ref],
  }]);
});

Deno.test("a long item continues in the thread of its first message, and its receipt lists all", async () => {
  await using r = await slackFixture();
  r.mesh.item({ kind: "notify", text: TWO_PARTS });
  await r.advance(POST_MS);
  const [first, second] = r.slack.sent;
  assert.deepEqual(r.slack.shown.map((text) => text.split("\n")[0]), [
    "💬 ada says (1/2):",
    "💬 ada says (2/2):",
  ]);
  assert.deepEqual([first?.thread_ts, second?.thread_ts], [undefined, first?.ts]);
  const refs = r.slack.sent.map(({ ts }) => toRef(ts));
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ surface_ref: refs[0], surface_refs: refs }]);
});

Deno.test("the next item of a conversation is in its thread, also after a restart", async () => {
  await using r = await slackFixture();
  const first = r.mesh.item();
  await r.settle();
  const [shown] = r.slack.sent;
  const next = { ...first, item_id: "inb-00000000000e", pushes: [] };
  r.mesh.sendItem(next, { reply_to_ref: toRef(shown?.ts ?? "") });
  await r.advance(POST_MS);
  await r.end();
  await r.start();
  const third = { ...first, item_id: "inb-00000000000f", pushes: [] };
  r.mesh.sendItem(third, { reply_to_ref: toRef(r.slack.sent[1]?.ts ?? "") });
  await r.advance(POST_MS);
  assert.deepEqual(r.slack.sent.map(({ thread_ts }) => thread_ts), [
    undefined,
    shown?.ts,
    shown?.ts,
  ]);
});

Deno.test("an item whose thread was deleted begins a new one", async () => {
  await using r = await slackFixture();
  const item = r.mesh.item();
  await r.settle();
  r.slack.failNext("conversations.replies", { error: "thread_not_found" });
  const next = { ...item, item_id: "inb-00000000000e", pushes: [] };
  r.mesh.sendItem(next, { reply_to_ref: "1893456000999999" });
  await r.advance(POST_MS);
  assert.equal(r.slack.sent[1]?.thread_ts, undefined);
});

Deno.test("there is one message a second", async () => {
  await using r = await slackFixture();
  for (const text of ["one", "two", "three"]) r.mesh.item({ text });
  await r.settle();
  assert.equal(r.slack.sent.length, 1);
  await r.advance(1_000);
  assert.equal(r.slack.sent.length, 2);
  await r.advance(1_000);
  assert.deepEqual(r.slack.shown.map((text) => text.split("\n")[1]), ["one", "two", "three"]);
});

Deno.test("a rate limit is waited out for as long as Slack says, and the order is kept", async () => {
  await using r = await slackFixture();
  r.slack.failNext("chat.postMessage", { status: 429, retry_after: 7 });
  for (const text of ["one", "two"]) r.mesh.item({ text });
  await r.advance(6_900);
  assert.equal(r.slack.sent.length, 0);
  await r.advance(2_000);
  assert.deepEqual(r.slack.shown.map((text) => text.split("\n")[1]), ["one", "two"]);
  assert.deepEqual(r.mesh.receipts.map(({ status }) => status), ["pushed", "pushed"]);
});

Deno.test("a message whose answer was lost is found in the history, and is not sent again", async () => {
  await using r = await slackFixture();
  r.slack.failNext("chat.postMessage", "done but lost");
  r.mesh.item({ text: "Delete it?" });
  await r.settle();
  assert.deepEqual(r.mesh.receipts, [], "nothing is reported before Slack has the message");
  await r.advance(60_000);
  const [message] = r.slack.sent;
  assert.equal(r.slack.count("chat.postMessage"), 1);
  const ref = toRef(message?.ts ?? "");
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed", surface_refs: [ref] }]);
});

Deno.test("a message that is not found is not sent again; a notice names the item instead", async () => {
  await using r = await slackFixture();
  r.slack.failNext("chat.postMessage", "lost");
  r.mesh.item({ text: "Delete it?" });
  await r.advance(60_000);
  assert.equal(r.slack.shown.length, 1);
  assert.match(r.slack.shown[0] ?? "", /I do not know whether.*!show inb-000000000001/s);
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed" }]);
});

for (const error of ["internal_error", "fatal_error"]) {
  Deno.test(`after ${error}, which may follow a sent message, nothing is sent again`, async () => {
    await using r = await slackFixture();
    r.slack.failNext("chat.postMessage", { error });
    r.mesh.item({ text: "Delete it?" });
    await r.advance(60_000);
    const texts = r.slack.calls.filter(({ params }) => /Delete it/.test(params["blocks"] ?? ""));
    assert.equal(texts.length, 1);
  });
}

Deno.test("while Slack is unreachable, items wait in order and the daemon gets one notice", async () => {
  await using r = await slackFixture();
  r.slack.failNext("chat.postMessage", ...Array(20).fill("unreached"));
  for (const text of ["one", "two"]) r.mesh.item({ text });
  await r.advance(60_000);
  assert.deepEqual(r.mesh.receipts.map(({ status, error_class }) => [status, error_class]), [
    ["failed", "network"],
  ]);
  await r.advance(3_600_000);
  assert.deepEqual(r.slack.shown.map((text) => text.split("\n")[1]), ["one", "two"]);
});

// deno-fmt-ignore
const REFUSALS = [
  ["not_in_channel",  "forbidden"  ],
  ["missing_scope",   "forbidden"  ],
  ["invalid_blocks",  "bad_request"],
] as const;
for (const [error, error_class] of REFUSALS) {
  Deno.test(`an item that Slack refuses with ${error} fails as ${error_class}, and the next follows`, async () => {
    await using r = await slackFixture();
    r.slack.failNext("chat.postMessage", { error });
    r.mesh.item();
    r.mesh.item();
    await r.advance(POST_MS);
    assert.partialDeepStrictEqual(r.mesh.receipts, [
      { status: "failed", error_class },
      { status: "pushed" },
    ]);
    assert.match(r.printed.join("\n"), new RegExp(`Slack rejects inb-0+1: .*${error}`));
  });
}

Deno.test("a rejected token ends the surface and names its setting, and not the token", async () => {
  const r = await slackFixture();
  r.slack.failNext("chat.postMessage", { error: "token_revoked" });
  r.mesh.item();
  await r.advance(1_000);
  await assert.rejects(r.ended(), /surfaces\.slack\.bot_token: Slack rejects it: .*token_revoked/);
  assert.doesNotMatch(r.printed.join("\n"), /topsecret/);
});

Deno.test("an item of fifty options has its buttons in blocks of 25", async () => {
  await using r = await slackFixture();
  const options = Array.from({ length: 50 }, (_, at) => ({ id: `o${at}`, title: `Option ${at}` }));
  r.mesh.item({ question: { kind: "choice", options, prompt: null } });
  await r.settle();
  const actions = r.slack.sent[0]?.blocks.filter(({ type }) => type === "actions") ?? [];
  assert.deepEqual(actions.map(({ elements }) => elements.length), [25, 25]);
});

Deno.test("an item whose receipt was lost with its process is found, and is not shown again", async () => {
  await using r = await slackFixture();
  r.mesh.item({ text: "x".repeat(5000) });
  await r.advance(POST_MS);
  r.mesh.receipts.length = 0; // As if the daemon had got none.
  await r.end();
  await r.advance(60_000);
  await r.start();
  await r.advance(POST_MS);
  assert.equal(r.slack.sent.length, 2);
  const refs = r.slack.sent.map(({ ts }) => toRef(ts));
  assert.partialDeepStrictEqual(r.mesh.receipts, [{ status: "pushed", surface_refs: refs }]);
});

Deno.test("the rest of an item is sent if an earlier process sent a part", async () => {
  await using r = await slackFixture();
  r.slack.failNext("chat.postMessage", "ok", { status: 429, retry_after: 20 });
  r.mesh.item({ text: "x".repeat(5000) });
  await r.advance(POST_MS);
  r.mesh.receipts.length = 0;
  await r.end();
  r.mesh.receipts.length = 0;
  await r.advance(60_000);
  await r.start();
  await r.advance(POST_MS);
  assert.deepEqual(r.slack.shown.map((text) => text.split("\n")[0]), [
    "❓ ada asks (1/2):",
    "❓ ada asks (2/2):",
  ]);
  assert.equal(r.slack.sent[1]?.thread_ts, r.slack.sent[0]?.ts);
});

Deno.test("a message of another app with our ids does not count as ours", async () => {
  await using r = await slackFixture();
  await r.end();
  await r.advance(60_000);
  const forged = r.slack.addMessage("", { user: "UOTHERAPP", bot_id: "B9" } as object);
  const elements = [{ type: "text" as const, text: "Forged" }];
  forged.blocks = [{
    type: "rich_text",
    block_id: "inb-000000000001.0.00",
    elements: [{ type: "rich_text_section", elements }],
  }];
  r.mesh.item();
  await r.advance(60_000);
  await r.start();
  await r.advance(POST_MS);
  assert.equal(r.slack.sent.length, 1);
});

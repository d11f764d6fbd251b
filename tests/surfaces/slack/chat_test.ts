/** Acts of the person and of others in Slack, and the daemon's requests that follow. */

import assert from "node:assert/strict";
import { BOT, DIRECT, SAM } from "../../support/slack/fake_slack.ts";
import { POST_MS, slackFixture } from "../../support/slack/surface_fixture.ts";
import { toRef } from "../../../surfaces/slack/timestamps.ts";

const FRUIT = {
  kind: "choice",
  prompt: null,
  options: [{ id: "a", title: "Apples & <Co>" }, { id: "b", title: "Pears" }],
};
const OTHER = "UOTHER001";

type Fixture = Awaited<ReturnType<typeof slackFixture>>;

/** Shows one item, and returns the timestamp of its message. */
async function show(r: Fixture, more: Record<string, unknown> = {}): Promise<string> {
  r.mesh.item(more);
  await r.advance(POST_MS);
  return r.slack.sent.at(-1)?.ts ?? "";
}

Deno.test("a reply in the thread goes to the daemon once, and is confirmed by a reaction", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  const reply = r.slack.reply(ts, "Yes &amp; &lt;no&gt;: <https://a.test/x|a.test/x> <@U1>");
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies, [{
    item_id: "inb-000000000001",
    surface: "slack",
    text: "Yes & <no>: a.test/x @U1",
    ref: toRef(reply),
  }]);
  assert.deepEqual(r.slack.mustFind(reply).reactions, ["ok_hand"]);
  assert.equal(r.slack.connections.acknowledged.length, 1);
});

Deno.test("a reply answers the item that the thread showed last before it", async () => {
  await using r = await slackFixture();
  const first = r.mesh.item();
  await r.settle();
  const ts = r.slack.sent[0]?.ts ?? "";
  const next = { ...first, item_id: "inb-00000000000e", pushes: [] };
  r.mesh.items.push(next);
  const early = r.slack.addMessage("To the first", { thread_ts: ts });
  r.mesh.sendItem(next, { reply_to_ref: toRef(ts) });
  await r.advance(POST_MS);
  r.slack.connections.send("events_api", r.slack.eventOf(early));
  r.slack.reply(ts, "To the second");
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies.map(({ item_id, text }) => [item_id, text]), [
    ["inb-000000000001", "To the first"],
    ["inb-00000000000e", "To the second"],
  ]);
});

Deno.test("repeated events, and an event that an earlier run handled, do a thing once", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.slack.reply(ts, "Yes");
  await r.advance(POST_MS);
  const [envelope] = r.slack.connections.envelopes;
  assert.ok(envelope);
  r.slack.connections.repeat(envelope);
  await r.settle();
  await r.end();
  await r.start();
  r.slack.connections.repeat(envelope);
  await r.advance(POST_MS);
  assert.equal(r.mesh.replies.length, 1);
  assert.equal(r.slack.connections.acknowledged.length, 3, "each repetition is acknowledged");
  assert.equal(r.slack.sent.length, 1);
});

Deno.test("a reply whose answer from the daemon was lost is repeated, and taken once", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.mesh.outcomes.push("lost");
  const reply = r.slack.reply(ts, "Yes");
  await r.advance(60_000);
  assert.equal(r.mesh.replies.length, 1);
  assert.deepEqual(r.slack.mustFind(reply).reactions, ["ok_hand"]);
});

Deno.test("a reply to a daemon that is down waits without an acknowledgement", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.mesh.up = false;
  r.slack.reply(ts, "Yes");
  await r.advance(60_000);
  assert.deepEqual(r.slack.connections.acknowledged, []);
  assert.equal(r.slack.shown.filter((text) => /daemon is not reachable/.test(text)).length, 1);
  r.mesh.up = true;
  await r.advance(60_000);
  assert.equal(r.mesh.replies.length, 1);
  assert.equal(r.slack.connections.acknowledged.length, 1);
});

Deno.test("messages written while the surface was off are found at its next start", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  await r.end();
  const reply = r.slack.addMessage("While you were off", { thread_ts: ts });
  await r.clock.advance(3_600_000);
  await r.start();
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "While you were off" }]);
  assert.deepEqual(r.slack.mustFind(reply.ts).reactions, ["ok_hand"]);
  r.slack.connections.closeAll();
  await r.advance(60_000);
  assert.equal(r.mesh.replies.length, 1, "the next connection finds nothing new");
});

Deno.test("a reply that is older than a day when it is found is not forwarded, and says so", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  await r.end();
  r.slack.addMessage("Long ago", { thread_ts: ts });
  await r.clock.advance(25 * 3_600_000);
  await r.start();
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies, []);
  assert.match(r.slack.shown.at(-1) ?? "", /more than a day ago, so I did not forward it/);
});

Deno.test("the first start forwards nothing that was written before it", async () => {
  await using r = await slackFixture({
    before({ slack, clock }) {
      slack.addMessage("Old");
      clock.sleepMachine(3_600_000);
    },
  });
  await r.advance(60_000);
  assert.deepEqual(r.slack.shown, []);
});

Deno.test("a pressed button answers, and the message says what was chosen and by whom", async () => {
  await using r = await slackFixture();
  const ts = await show(r, { question: FRUIT });
  r.slack.press(ts, "Apples & <Co>");
  await r.advance(POST_MS);
  assert.partialDeepStrictEqual(r.mesh.replies, [{ option_id: "a", text: "" }]);
  assert.equal(r.slack.shown[0], `❓ ada asks:\nReady?\n✓ Apples & <Co> by @${SAM}`);
  assert.equal(r.slack.connections.acknowledged.length, 1);
});

Deno.test("a button of a question that was answered elsewhere reports that, and disappears", async () => {
  await using r = await slackFixture();
  const ts = await show(r, { question: FRUIT });
  r.mesh.outcomes.push({ status: 409, error: "already_closed", detail: "Closed." });
  r.slack.press(ts, "Pears");
  await r.advance(POST_MS);
  assert.deepEqual(r.slack.ephemerals.map(({ user, text }) => [user, text]), [[SAM, "Closed."]]);
  assert.match(r.slack.shown[0] ?? "", /Closed: this takes no more answers\.$/);
});

Deno.test("approvals have buttons too", async () => {
  await using r = await slackFixture();
  const options = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
  const question = { kind: "choice", scope: "tool_permission", prompt: "rm -rf build", options };
  const ts = await show(r, { question });
  assert.equal(
    r.slack.shown[0],
    "🔐 ada asks for permission:\nReady?\n\nrm -rf build\n[Allow|Deny]",
  );
  r.slack.press(ts, "Deny");
  await r.advance(POST_MS);
  assert.partialDeepStrictEqual(r.mesh.replies, [{ option_id: "deny" }]);
});

Deno.test("other users get one notice that they are ignored, and their messages are not forwarded", async () => {
  await using r = await slackFixture({ channel: "C00000001" });
  const ts = await show(r, { question: FRUIT });
  const there = { user: OTHER, channel: "C00000001" };
  r.slack.write("Just talking", there);
  r.slack.reply(ts, "I say yes", there);
  r.slack.press(ts, "Pears", { user: OTHER });
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies, []);
  assert.equal(r.printed.filter((line) => line.includes(OTHER)).length, 1);
  assert.equal(r.slack.connections.acknowledged.length, 3);
});

Deno.test("a thread that the app did not begin is ignored", async () => {
  await using r = await slackFixture({ channel: "C00000001" });
  const root = r.slack.write("Lunch?", { user: OTHER, channel: "C00000001" });
  r.slack.reply(root, "Yes", { user: OTHER, channel: "C00000001" });
  r.slack.reply(root, "Me too", { channel: "C00000001" });
  await r.advance(POST_MS);
  assert.deepEqual([r.slack.ephemerals, r.slack.shown, r.printed], [[], [], []]);
  assert.equal(r.slack.count("conversations.replies"), 0);
});

Deno.test("a stranger who writes to the app directly gets one notice", async () => {
  await using r = await slackFixture();
  r.slack.write("Hello", { user: OTHER, channel: "D00000009" });
  r.slack.write("Hello?", { user: OTHER, channel: "D00000009" });
  await r.advance(POST_MS);
  assert.partialDeepStrictEqual(r.slack.ephemerals, [{ user: OTHER, channel: "D00000009" }]);
  assert.equal(r.slack.ephemerals.length, 1);
});

Deno.test("an event counts although the clock of this machine is ahead", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.file.text = r.file.text?.replace(/"since":"\d+/, '"since":"9999999999');
  await r.end();
  await r.start();
  r.slack.reply(ts, "Yes");
  const [envelope] = r.slack.connections.envelopes;
  assert.ok(envelope);
  r.slack.connections.repeat(envelope);
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies.map(({ text }) => text), ["Yes"]);
  assert.equal(r.slack.count("reactions.add"), 1, "the repeated event is recognized");
});

Deno.test("another user who presses a button gets one notice", async () => {
  await using r = await slackFixture({ channel: "C00000001" });
  const ts = await show(r, { question: FRUIT });
  r.slack.press(ts, "Pears", { user: OTHER });
  r.slack.press(ts, "Pears", { user: OTHER });
  await r.advance(POST_MS);
  assert.equal(r.slack.ephemerals.length, 1);
  assert.partialDeepStrictEqual(r.slack.ephemerals, [{ user: OTHER, channel: "C00000001" }]);
  assert.deepEqual(r.mesh.replies, []);
});

Deno.test("a program that writes in the person's name, an edit, and the app itself are not the person", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.slack.reply(ts, "By a workflow", { bot_id: "B2" });
  r.slack.reply(ts, "Edited", { subtype: "message_changed" });
  r.slack.reply(ts, "By the app", { user: BOT });
  r.slack.reply(ts, "Elsewhere", { channel: "D00000002" });
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies, []);
  assert.equal(r.slack.connections.acknowledged.length, 4);
});

Deno.test("a message outside of a thread is asked back in a direct message, and ignored in a channel", async () => {
  await using direct = await slackFixture();
  direct.slack.write("Hello");
  await direct.advance(POST_MS);
  assert.match(direct.slack.shown[0] ?? "", /^Reply in the thread of one of the messages above/);
  await using channel = await slackFixture({ channel: "C00000001" });
  channel.slack.write("Hello", { channel: "C00000001" });
  await channel.advance(POST_MS);
  assert.deepEqual(channel.slack.shown, []);
});

Deno.test("the commands begin with an exclamation mark, because Slack takes a slash itself", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  for (const text of ["!help", "!inbox", "!show inb-000000000001"]) {
    r.slack.write(text);
    await r.advance(POST_MS);
  }
  const [, help, inbox, again] = r.slack.shown;
  assert.match(help ?? "", /Reply in the thread of a message to answer it.*!read marks/s);
  assert.match(inbox ?? "", /ada asks: Ready\?\n!show inb-000000000001/);
  assert.equal(again, "❓ ada asks:\nReady?");
  r.slack.reply(ts, "!read");
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.reads, ["inb-000000000001"]);
});

Deno.test("a refusal of the daemon is shown in the thread", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.mesh.outcomes.push({ status: 422, error: "unknown_peer", detail: "ada is gone." });
  r.slack.reply(ts, "Yes");
  await r.advance(POST_MS);
  assert.deepEqual(r.slack.shown.at(-1), "Not sent. ada is gone.");
  assert.equal(r.slack.sent.at(-1)?.thread_ts, ts);
});

Deno.test("a file of another service is refused with its message", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.slack.reply(ts, "See", { subtype: "file_share", files: [{ id: "F1", mode: "external" }] });
  await r.advance(POST_MS);
  assert.equal(r.slack.shown.at(-1), "Not sent. I can forward only text and files.");
  assert.deepEqual(r.mesh.replies, []);
  assert.equal(r.slack.messages.at(-1)?.channel, DIRECT);
});

Deno.test("a thread that Slack refuses to return is not guessed", async () => {
  await using r = await slackFixture();
  const ts = await show(r);
  r.slack.failNext("conversations.replies", { error: "thread_not_found" });
  r.slack.reply(ts, "Yes");
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies, []);
  assert.match(r.slack.shown.at(-1) ?? "", /^Reply in the thread of one/);
});

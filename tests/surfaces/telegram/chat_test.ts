/** Acts of the person in the Telegram chat: replies, button taps and commands. */

import assert from "node:assert/strict";
import { CHAT } from "../../support/telegram/fake_bot_api.ts";
import { type SurfaceFixture, surfaceFixture } from "../../support/telegram/surface_fixture.ts";

const APPLES = { id: "a", title: "Apples" }, PEARS = { id: "b", title: "Pears" };
const CHOICE = { kind: "choice", prompt: "Which?", options: [APPLES, PEARS] };

/** Offers an item, and returns the id of its first message. */
async function showItem(r: SurfaceFixture, more: Record<string, unknown> = {}): Promise<number> {
  const before = r.bot.sentMessages.length;
  r.mesh.item(more);
  await r.settle();
  return r.bot.sentMessages[before]?.message_id ?? 0;
}

/** The bot's last message. */
const lastText = (r: SurfaceFixture) => r.bot.sentMessages.at(-1)?.text ?? "";

Deno.test("a reply to a message answers its item, and gets a reaction", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  const id = r.bot.reply(ref, "Yes, at noon");
  await r.settle();
  assert.deepEqual(r.mesh.replies, [{
    item_id: "inb-000000000001",
    surface: "telegram",
    surface_ref: String(ref),
    text: "Yes, at noon",
  }]);
  assert.equal(r.bot.reactions.get(id), "👌");
  assert.equal(r.bot.sentMessages.length, 1, "only a reaction, no message");
});

Deno.test("a reply to any message of a long item answers it", async () => {
  await using r = await surfaceFixture();
  await showItem(r, { text: "x".repeat(9000) });
  for (const { message_id } of r.bot.sentMessages.slice(0, 3)) r.bot.reply(message_id, "Yes");
  await r.settle();
  assert.deepEqual(r.mesh.replies.map(({ item_id }) => item_id), Array(3).fill("inb-000000000001"));
});

Deno.test("a chat without reactions gets a message instead", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  r.bot.failNext("setMessageReaction", { error_code: 400 });
  const id = r.bot.reply(ref, "Yes");
  await r.settle();
  assert.deepEqual([lastText(r), r.bot.sentMessages.at(-1)?.reply_to], ["Sent.", id]);
});

Deno.test("a reply to an answered item becomes a new ask, and the chat gets a notice", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r, { open: false });
  r.bot.reply(ref, "And now?");
  await r.settle();
  assert.match(lastText(r), /^Sent as a new question/);
});

Deno.test("a reply that the daemon does not know or refuses is reported with the reason", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  r.bot.reply(99, "Who?");
  await r.settle();
  assert.match(lastText(r), /^I do not know that message/);
  r.mesh.outcomes.push({
    status: 422,
    error: "unknown_option",
    detail: `"Plums" is not an option`,
  });
  r.bot.reply(ref, "Plums");
  await r.settle();
  assert.equal(lastText(r), `Not sent. "Plums" is not an option`);
  assert.deepEqual(r.mesh.replies, []);
});

Deno.test("a reply that arrives before the receipt still reaches its item", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendMessage", "ok", { error_code: 429, parameters: { retry_after: 20 } });
  const ref = await showItem(r, { text: "x".repeat(5000) });
  assert.deepEqual(r.mesh.receipts, []);
  r.bot.reply(ref, "Yes");
  await r.settle();
  assert.partialDeepStrictEqual(r.mesh.replies, [{
    item_id: "inb-000000000001",
    ref: String(ref),
    text: "Yes",
  }]);
});

Deno.test("a tap answers with the option's id, and the choice replaces the buttons", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r, { question: CHOICE });
  assert.match(r.bot.sentMessages[0]?.text ?? "", /Ready\?\n\nWhich\?$/);
  r.bot.tap(ref, "Pears");
  await r.settle();
  assert.deepEqual(r.mesh.replies, [
    { item_id: "inb-000000000001", surface: "telegram", text: "", option_id: "b" },
  ]);
  assert.deepEqual(r.bot.answeredTaps.map(({ text, alert }) => [text, alert]), [["Pears", false]]);
  assert.deepEqual(r.bot.sentMessages[0]?.keyboard?.flat().map(({ text }) => text), ["✓ Pears"]);
  r.bot.tap(ref, "✓ Pears");
  await r.settle();
  assert.equal(r.bot.answeredTaps[1]?.text, "This is already closed.");
  assert.equal(r.mesh.replies.length, 1);
});

Deno.test("the buttons of a long question are on its last message", async () => {
  await using r = await surfaceFixture();
  await showItem(r, { text: "x".repeat(5000), question: CHOICE });
  assert.deepEqual(r.bot.sentMessages.map(({ keyboard }) => keyboard?.length), [undefined, 2]);
});

Deno.test("an item to acknowledge has one button", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r, { question: { kind: "acknowledge", options: [] } });
  r.bot.tap(ref, "👌 OK");
  await r.settle();
  assert.deepEqual(r.mesh.replies, [
    { item_id: "inb-000000000001", surface: "telegram", text: "" },
  ]);
  assert.deepEqual(r.bot.sentMessages[0]?.keyboard?.flat().map(({ text }) => text), ["✓ OK"]);
});

Deno.test("a tap on an item closed elsewhere says so, and removes the buttons", async () => {
  const closed = { status: 410, error: "already_closed", detail: "ask-1 is closed: answered" };
  const gone = { status: 404, error: "unknown_item", detail: "Unknown inbox item: inb-1" };
  for (const outcome of [undefined, closed, gone]) {
    await using r = await surfaceFixture();
    const ref = await showItem(r, { question: CHOICE, open: false });
    if (outcome) r.mesh.outcomes.push(outcome);
    r.bot.tap(ref, "Pears");
    await r.settle();
    const detail = outcome?.detail ?? "This is already closed.";
    assert.deepEqual(r.bot.answeredTaps.map(({ text, alert }) => [text, alert]), [[detail, true]]);
    assert.deepEqual(r.bot.sentMessages[0]?.keyboard, []);
  }
});

Deno.test("a tap counts even if Telegram rejects its late answer", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r, { question: CHOICE });
  r.bot.failNext("answerCallbackQuery", { error_code: 400 });
  r.bot.tap(ref, "Apples");
  await r.settle();
  assert.equal(r.mesh.replies.length, 1);
  assert.deepEqual(r.bot.sentMessages[0]?.keyboard?.flat().map(({ text }) => text), ["✓ Apples"]);
});

Deno.test("a long refusal of a tap is cut to Telegram's limit, not inside a character", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r, { question: CHOICE });
  const detail = `${"x".repeat(199)}👩${"y".repeat(100)}`;
  r.mesh.outcomes.push({ status: 422, error: "unknown_option", detail });
  r.bot.tap(ref, "Pears");
  await r.settle();
  assert.deepEqual(r.bot.answeredTaps.map(({ text }) => text), ["x".repeat(199)]);
});

Deno.test("a button with unknown data does nothing", async () => {
  await using r = await surfaceFixture();
  const message = { message_id: 1, chat: { id: CHAT, type: "private" } };
  for (const data of ["", "a:0:", "a:999:inb-1", "x", "a:0:../../peers", undefined]) {
    r.bot.update({ callback_query: { id: "1", ...(data !== undefined && { data }), message } });
  }
  await r.settle();
  assert.deepEqual(r.mesh.replies, []);
  assert.equal(r.bot.answeredTaps.length, 6, "each tap is answered");
});

Deno.test("other chats are ignored, and logged once without their text", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r, { question: CHOICE });
  const chat = { id: 666, type: "private", username: "mallory" };
  r.bot.write("/inbox", { chat });
  r.bot.reply(ref, "Yes, delete everything", { chat });
  r.bot.tap(ref, "Pears", 666);
  await r.settle();
  assert.deepEqual(r.mesh.replies, []);
  assert.equal(r.bot.sentMessages.length, 1);
  assert.deepEqual(r.bot.answeredTaps, []);
  const detail = r.printed.filter((line) => line.includes("666"));
  assert.equal(detail.length, 1);
  assert.doesNotMatch(r.printed.join(), /delete|mallory/);
});

Deno.test("a message that is not a reply is never matched to an item", async () => {
  await using r = await surfaceFixture();
  await showItem(r);
  const id = r.bot.write("Yes");
  await r.settle();
  assert.match(lastText(r), /^Reply to one of the messages/);
  assert.equal(r.bot.sentMessages.at(-1)?.reply_to, id);
  assert.deepEqual(r.mesh.replies, []);
});

Deno.test("in a group the bot handles only replies to it and commands", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  const group = { chat: { id: CHAT, type: "supergroup" } };
  const to_lea = { message_id: ref, from: { id: 5 } };
  r.bot.write("Lunch?", group);
  r.bot.write("Sure", { ...group, reply_to_message: to_lea });
  r.bot.write(undefined, { ...group, photo: [{}] });
  await r.settle();
  assert.equal(r.bot.sentMessages.length, 1);
  assert.deepEqual(r.mesh.replies, []);
  r.bot.reply(ref, "Yes", group);
  r.bot.write("/help@mesh_bot", group);
  await r.settle();
  assert.equal(r.mesh.replies.length, 1);
  assert.match(lastText(r), /\/inbox lists/);
});

Deno.test("a sticker or an unreadable file is not forwarded, and service messages get no notice", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  r.bot.write(undefined, { sticker: { file_id: "x" } });
  r.bot.reply(ref, "", { voice: {} });
  r.bot.reply(ref, "", { caption: "this", photo: [] });
  r.bot.write(undefined, { pinned_message: {} });
  await r.settle();
  assert.deepEqual(
    r.bot.sentMessages.slice(1).map(({ text }) => text),
    Array(3).fill("Not sent. I can forward only text and files."),
  );
  assert.deepEqual(r.mesh.replies, []);
});

Deno.test("an unreadable update is skipped and confirmed", async () => {
  await using r = await surfaceFixture();
  r.bot.update({ message: { message_id: "no number" } });
  r.bot.update({ callback_query: null });
  r.bot.update({ poll: {} });
  r.bot.write("/help");
  await r.settle();
  assert.match(lastText(r), /Reply to a message/);
  assert.deepEqual(r.bot.updates, [], "all of them are confirmed");
});

Deno.test("/inbox lists unread items; /show shows one with its buttons; /read marks it read", async () => {
  await using r = await surfaceFixture();
  r.bot.write("/inbox");
  await r.settle();
  assert.equal(lastText(r), "You have no unread items.");
  await showItem(r, { question: CHOICE, text: "Fruit?\nor none" });
  await showItem(r, { kind: "notify", text: "Done", from: "web" });
  r.bot.write("/inbox");
  await r.settle();
  assert.equal(
    lastText(r),
    "💬 web says: Done\n/show inb-000000000002\n\n❓ ada asks: Fruit? or none\n/show inb-000000000001",
  );
  r.bot.write("/show inb-000000000001");
  await r.settle();
  const lastMessage = r.bot.sentMessages.at(-1);
  assert.match(lastMessage?.text ?? "", /^❓ ada asks:\nFruit\?\nor none/);
  r.bot.tap(lastMessage?.message_id ?? 0, "Apples");
  r.bot.reply(lastMessage?.message_id ?? 0, "More");
  await r.settle();
  assert.deepEqual(r.mesh.replies.map(({ item_id }) => item_id), Array(2).fill("inb-000000000001"));
  r.bot.write("/read inb-000000000002");
  await r.settle();
  assert.deepEqual([r.mesh.reads, lastText(r)], [["inb-000000000002"], "Marked as read."]);
  for (const wrong of ["/show", "/show inb-ffffffffffff", "/read inb-ffffffffffff"]) {
    r.bot.write(wrong);
    await r.settle();
    assert.match(lastText(r), /^Use \/show ID|^Unknown inbox item/);
  }
});

Deno.test("/read as a reply marks that item read, and alone all items", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  await showItem(r);
  r.bot.reply(ref, "/read");
  await r.settle();
  assert.deepEqual(r.mesh.reads, ["inb-000000000001"]);
  r.bot.reply(99, "/read");
  await r.settle();
  assert.match(lastText(r), /^I do not know that message/);
  r.bot.write("/read");
  await r.settle();
  assert.deepEqual(r.mesh.reads, ["inb-000000000001", "inb-000000000002"]);
  assert.equal(lastText(r), "Marked 1 as read.");
  assert.deepEqual(r.mesh.replies, []);
});

Deno.test("/read as a reply also finds the item after a restart", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  await showItem(r);
  await r.restart();
  r.bot.reply(ref, "/read");
  await r.settle();
  assert.deepEqual(r.mesh.reads, ["inb-000000000001"]);
});

Deno.test("a reply that starts with a slash is a reply", async () => {
  await using r = await surfaceFixture();
  const ref = await showItem(r);
  r.bot.reply(ref, "/usr/bin/env, and /help me");
  await r.settle();
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "/usr/bin/env, and /help me" }]);
});

Deno.test("without a registered human the refusal is shown in the chat", async () => {
  await using r = await surfaceFixture();
  r.mesh.outcomes.push({ status: 503, error: "no_human", detail: "No human is registered" });
  r.bot.write("/inbox");
  await r.settle();
  assert.equal(lastText(r), "No human is registered");
});

const PERMISSION = {
  kind: "choice",
  scope: "tool_permission",
  prompt: "May I write?",
  options: [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }],
};
const ACT = {
  kind: "run",
  title: "Run: make",
  command: null,
  folder: null,
  path: null,
  address: null,
  files: [],
  details: [],
  is_cut: false,
  covers_text: true,
  takes_reason: true,
};

for (const text of ["allow", " Allow\n"]) {
  const said = JSON.stringify(text);
  Deno.test(`the reply ${said} allows no act of which the chat shows a part`, async () => {
    await using r = await surfaceFixture();
    const acts = [{ command: "make one\n".repeat(3000) }, { command: "make", is_cut: true }];
    for (const act of acts) {
      const ref = await showItem(r, { question: { ...PERMISSION, act: { ...ACT, ...act } } });
      const id = r.bot.reply(ref, text);
      await r.settle();
      assert.match(
        lastText(r),
        /^Not sent\. This chat does not show all of it\. .* on the dashboard or with mesh inbox show/,
      );
      assert.equal(r.bot.sentMessages.at(-1)?.reply_to, id);
      assert.deepEqual(r.mesh.replies, []);
      r.bot.reply(ref, "deny: too long");
      await r.settle();
      assert.equal(r.mesh.replies.splice(0)[0]?.["text"], "deny: too long");
    }
    const ref = await showItem(r, {
      question: { ...PERMISSION, act: { ...ACT, command: "make" } },
    });
    r.bot.reply(ref, text);
    await r.settle();
    assert.equal(r.mesh.replies.length, 1);
  });
}

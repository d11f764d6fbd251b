/** Questions that are over: their buttons, late replies and changed replies in Telegram. */

import assert from "node:assert/strict";
import { type SurfaceFixture, surfaceFixture } from "../../support/telegram/surface_fixture.ts";

const OPTIONS = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
const PERMISSION = { kind: "choice", scope: "tool_permission", options: OPTIONS };

/** Shows a permission; returns it with its message. */
async function showPermission(r: SurfaceFixture, more: Record<string, unknown> = {}) {
  const item = r.mesh.item({ question: PERMISSION, ...more });
  await r.settle();
  return { item, ref: r.bot.sentMessages.at(-1)?.message_id ?? 0 };
}

const buttonsOf = (r: SurfaceFixture, ref: number) =>
  r.bot.sentMessages.find(({ message_id }) => message_id === ref)?.keyboard?.flat()
    .map(({ text }) => text);
const lastMessage = (r: SurfaceFixture) => r.bot.sentMessages.at(-1);

Deno.test("the buttons of a permission that is decided elsewhere end with how it was", async () => {
  // deno-fmt-ignore
  const endings: [outcome: string, more: Record<string, unknown>, label: RegExp][] = [
    ["allowed_there", { responder: "terminal" },                     /^⏹ It was allowed in the agent's own/],
    ["denied_there",  { responder: "terminal" },                     /^⏹ It was denied in the agent's own/],
    ["answered",      { responder: "sam", option_id: "allow" },      /^⏹ sam answered: Allow$/],
    ["cancelled",     { responder: "ada" },                          /^⏹ It was cancelled by ada\.$/],
    ["denied",        { close_reason: "evicted", responder: null },  /^⏹ It was closed without an answer/],
  ];
  for (const [outcome, more, label] of endings) {
    await using r = await surfaceFixture();
    const { item, ref } = await showPermission(r);
    assert.deepEqual(buttonsOf(r, ref), ["Allow", "Deny"]);
    r.mesh.end(item, outcome, more);
    await r.settle();
    const [button, ...others] = buttonsOf(r, ref) ?? [];
    assert.match(button ?? "", label);
    assert.deepEqual(others, []);
    assert.equal(r.bot.sentMessages.length, 1);
  }
});

Deno.test("buttons end also after a restart of the surface, and under the last text of a long item", async () => {
  await using r = await surfaceFixture();
  const { item, ref } = await showPermission(r, { text: "x".repeat(5000) });
  await r.restart();
  r.mesh.end(item, "denied_there", { responder: "terminal" });
  await r.settle();
  assert.match(buttonsOf(r, ref)?.[0] ?? "", /^⏹ It was denied/);
});

Deno.test("a question that ended before it was shown has no buttons", async () => {
  await using r = await surfaceFixture();
  r.mesh.item({ question: PERMISSION, state: "closed", outcome: "allowed_there" });
  await r.settle();
  assert.match(lastMessage(r)?.text ?? "", /It was allowed in the agent's own terminal\.$/);
  assert.equal(lastMessage(r)?.keyboard, undefined);
});

Deno.test("a text to a permission that is over is sent only once the person has confirmed it", async () => {
  await using r = await surfaceFixture();
  const { item, ref } = await showPermission(r);
  r.mesh.end(item, "cancelled", { responder: "ada" });
  const reply = r.bot.reply(ref, "allow");
  await r.settle();
  assert.deepEqual(r.mesh.replies, []);
  const asked = lastMessage(r);
  assert.equal(asked?.text, "It was cancelled by ada. Your text was not sent.");
  assert.equal(asked?.reply_to, reply);
  r.bot.tap(asked?.message_id ?? 0, "Send it as a new question");
  await r.settle();
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "allow", as_new_ask: true }]);
  assert.deepEqual(buttonsOf(r, asked?.message_id ?? 0), ["✓ Sent"]);
});

Deno.test("after a restart the person has to reply once more before confirming", async () => {
  await using r = await surfaceFixture();
  const { item, ref } = await showPermission(r);
  r.mesh.end(item, "timed_out");
  r.bot.reply(ref, "allow");
  await r.settle();
  await r.restart();
  r.bot.tap(lastMessage(r)?.message_id ?? 0, "Send it as a new question");
  await r.settle();
  assert.deepEqual(r.mesh.replies, []);
  assert.match(r.bot.answeredTaps.at(-1)?.text ?? "", /Reply once more/);
});

Deno.test("a changed reply is not forwarded, and the chat says what counts", async () => {
  await using r = await surfaceFixture();
  const { item, ref } = await showPermission(r);
  const reply = r.bot.reply(ref, "deny");
  await r.settle();
  r.mesh.end(item, "answered", { responder: "sam", option_id: "deny" });
  r.bot.edit(reply, ref, "allow");
  await r.settle();
  assert.equal(r.mesh.replies.length, 1);
  const { text, reply_to } = lastMessage(r) ?? {};
  assert.match(text ?? "", /^I do not forward changes.* sam answered: Deny$/);
  assert.equal(reply_to, reply);
});

Deno.test("until when a permission can be answered is part of its message", async () => {
  await using r = await surfaceFixture();
  await showPermission(r, { expires_at: "2030-01-01T00:05:00.000Z" });
  assert.match(lastMessage(r)?.text ?? "", /\n\nAnswer until 2030-01-01 \d\d:05:00 /);
});

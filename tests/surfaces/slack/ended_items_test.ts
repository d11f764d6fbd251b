/** Questions that are over: their buttons, late replies and changed replies in Slack. */

import assert from "node:assert/strict";
import { POST_MS, slackFixture } from "../../support/slack/surface_fixture.ts";

const OPTIONS = [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }];
const PERMISSION = { kind: "choice", scope: "tool_permission", options: OPTIONS };

type Fixture = Awaited<ReturnType<typeof slackFixture>>;

async function showPermission(r: Fixture) {
  const item = r.mesh.item({ question: PERMISSION });
  await r.advance(POST_MS);
  return { item, ts: r.slack.sent.at(-1)?.ts ?? "" };
}

Deno.test("the buttons of a permission that is decided elsewhere end with how it was", async () => {
  await using r = await slackFixture();
  const { item, ts } = await showPermission(r);
  r.mesh.end(item, "allowed_there", { responder: "terminal" });
  await r.advance(POST_MS);
  const { blocks } = r.slack.mustFind(ts);
  assert.deepEqual(blocks.filter(({ type }) => type === "actions"), []);
  const line = JSON.stringify(blocks.at(-1));
  assert.match(line, /⏹ It was allowed in the agent's own/);
  assert.doesNotMatch(line, /"user"/);
});

Deno.test("a text to a permission that is over is sent only once the person has confirmed it", async () => {
  await using r = await slackFixture();
  const { item, ts } = await showPermission(r);
  r.mesh.end(item, "cancelled", { responder: "ada" });
  r.slack.reply(ts, "allow");
  await r.advance(POST_MS);
  assert.deepEqual(r.mesh.replies, []);
  const asked = r.slack.sent.at(-1);
  assert.match(JSON.stringify(asked?.blocks), /It was cancelled by ada\. Your text was not sent\./);
  r.slack.press(asked?.ts ?? "", "Send it as a new question");
  await r.advance(POST_MS);
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "allow", as_new_ask: true }]);
});

Deno.test("a changed reply is not forwarded, and the thread says what counts", async () => {
  await using r = await slackFixture();
  const { item, ts } = await showPermission(r);
  const reply = r.slack.reply(ts, "deny");
  await r.advance(POST_MS);
  r.mesh.end(item, "answered", { responder: "sam", option_id: "deny" });
  await r.advance(POST_MS);
  const sent = r.slack.sent.length;
  const { event } = r.slack.eventOf(r.slack.mustFind(reply)) as { event: Record<string, unknown> };
  const { channel, type, ...message } = event;
  const change = (text: string) => ({
    event: {
      type,
      channel,
      subtype: "message_changed",
      ts: "1.000001",
      message: { ...message, text },
      previous_message: message,
    },
  });
  r.slack.connections.send("events_api", change("deny")); // As for the preview of a link.
  await r.advance(POST_MS);
  assert.equal(r.slack.sent.length, sent);
  r.slack.connections.send("events_api", change("allow"));
  await r.advance(POST_MS);
  assert.equal(r.mesh.replies.length, 1);
  const text = JSON.stringify(r.slack.sent.at(-1)?.blocks);
  assert.match(text, /I do not forward changes.* sam answered: Deny/);
});

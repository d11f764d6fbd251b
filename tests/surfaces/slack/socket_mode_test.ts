/** The connection of Socket Mode: refreshed, lost, half-open, shared, and refused. */

import assert from "node:assert/strict";
import { ENVELOPES_MAX, OVERLAP_MS_MAX, PING_MS } from "../../../surfaces/slack/socket_mode.ts";
import { slackFixture } from "../../support/slack/surface_fixture.ts";

/** Longer than a connection must live to count as stable. */
const STABLE_MS = 20_000;

Deno.test("a refresh opens the next connection before the last one ends, and loses nothing", async () => {
  await using r = await slackFixture();
  const { connections } = r.slack;
  await r.advance(STABLE_MS);
  r.mesh.item();
  await r.settle();
  const ts = r.slack.sent[0]?.ts ?? "";
  const [first] = connections.open;
  connections.disconnect("refresh_requested");
  await r.settle();
  assert.equal(connections.open.length, 2);
  const event = r.slack.eventOf(r.slack.addMessage("Yes", { thread_ts: ts }));
  first?.send(JSON.stringify({ envelope_id: "late", type: "events_api", payload: event }));
  await r.settle();
  assert.deepEqual(connections.acknowledged, ["late"], "on the connection that is about to end");
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "Yes" }]);
  await r.advance(OVERLAP_MS_MAX + 1_000);
  assert.equal(connections.open.length, 1);
  assert.notEqual(connections.open[0], first);
});

Deno.test("a warning is a refresh, too", async () => {
  await using r = await slackFixture();
  await r.advance(STABLE_MS);
  r.slack.connections.disconnect("warning");
  await r.settle();
  assert.equal(r.slack.count("apps.connections.open"), 2);
});

Deno.test("refreshes that follow each other at once are slowed down", async () => {
  await using r = await slackFixture();
  for (let count = 0; count < 20; count++) {
    r.slack.connections.disconnect("refresh_requested");
    await r.advance(100);
  }
  assert.ok(r.slack.count("apps.connections.open") < 6);
});

Deno.test("a lost connection is opened again with growing pauses, and is logged once", async () => {
  await using r = await slackFixture();
  r.slack.connections.up = false;
  r.slack.connections.closeAll();
  await r.advance(300_000);
  const attempts = r.slack.count("apps.connections.open");
  assert.ok(attempts > 5 && attempts < 40, String(attempts));
  r.slack.connections.up = true;
  await r.advance(60_000);
  assert.equal(r.slack.connections.open.length, 1);
  assert.deepEqual(r.printed.filter((line) => line.includes("Slack")), [
    "Lost the connection to Slack; retrying",
    "Reconnected to Slack",
  ]);
});

Deno.test("a half-open connection is noticed by its silence, and missed messages are found", async () => {
  await using r = await slackFixture();
  r.mesh.item();
  await r.settle();
  const [connection] = r.slack.connections.open;
  assert.ok(connection);
  connection.isWhole = false;
  r.slack.reply(r.slack.sent[0]?.ts ?? "", "Into the void");
  await r.advance(PING_MS * 2 + 1_000);
  assert.notEqual(r.slack.connections.open[0], connection);
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "Into the void" }]);
});

Deno.test("a connection that answers pings is kept", async () => {
  await using r = await slackFixture();
  await r.advance(3_600_000);
  assert.equal(r.slack.count("apps.connections.open"), 1);
  assert.ok(r.slack.connections.pongs > 100);
});

Deno.test("a connection that never says hello is given up", async () => {
  await using r = await slackFixture({ before: ({ slack }) => slack.connections.greets = false });
  r.slack.connections.greets = true;
  await r.advance(20_000);
  assert.equal(r.slack.count("apps.connections.open"), 2);
  assert.equal(r.slack.connections.open.length, 1);
});

Deno.test("another program with the same app token is named, once", async () => {
  await using r = await slackFixture({ before: ({ slack }) => slack.connections.others = 1 });
  r.slack.connections.closeAll();
  await r.advance(60_000);
  const warnings = r.printed.filter((line) => /another program uses its app token/.test(line));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^Slack has 2 connections of this app, and 1 from here/);
});

Deno.test("messages that another program received are found at the next connection", async () => {
  await using r = await slackFixture();
  r.mesh.item();
  await r.settle();
  r.slack.addMessage("Got by another", { thread_ts: r.slack.sent[0]?.ts });
  r.slack.connections.closeAll();
  await r.advance(60_000);
  assert.partialDeepStrictEqual(r.mesh.replies, [{ text: "Got by another" }]);
});

Deno.test("envelopes of other kinds are acknowledged, and unknown frames are ignored", async () => {
  await using r = await slackFixture();
  const { connections } = r.slack;
  connections.send("slash_commands", { command: "/mesh" });
  connections.send("events_api", { event: { type: "app_home_opened" } });
  for (const text of ["{", "[]", '{"type":"goodbye"}', '{"envelope_id":7}']) {
    connections.open[0]?.send(text);
  }
  await r.settle();
  assert.equal(connections.acknowledged.length, 2);
});

Deno.test("beyond its limit the surface accepts no envelopes, and does not acknowledge them", async () => {
  await using r = await slackFixture();
  r.mesh.item();
  await r.settle();
  const ts = r.slack.sent[0]?.ts ?? "";
  r.mesh.up = false;
  r.slack.reply(ts, "The first");
  for (let count = 0; count < ENVELOPES_MAX; count++) r.slack.connections.send("other", {});
  await r.settle();
  r.mesh.up = true;
  await r.advance(60_000);
  assert.equal(r.slack.connections.acknowledged.length, ENVELOPES_MAX);
});

// deno-fmt-ignore
const REFUSALS = [
  ["invalid_auth",  /surfaces\.slack\.app_token: Slack rejects it: .*invalid_auth/       ],
  ["missing_scope", /^CommandError: Slack refuses apps\.connections\.open: missing_scope/],
] as const;
for (const [error, expected] of REFUSALS) {
  Deno.test(`the surface ends when Slack refuses the connection with ${error}`, async () => {
    const r = await slackFixture({
      before: ({ slack }) => slack.failNext("apps.connections.open", { error }),
    });
    await r.advance(1_000);
    await assert.rejects(r.ended(), expected);
  });
}

Deno.test("Socket Mode that is turned off ends the surface", async () => {
  const r = await slackFixture();
  r.slack.connections.disconnect("link_disabled");
  await r.advance(1_000);
  await assert.rejects(r.ended(), /turned off Socket Mode/);
});

Deno.test("a limit of connections is waited out for as long as Slack says", async () => {
  await using r = await slackFixture({
    before: ({ slack }) =>
      slack.failNext("apps.connections.open", { status: 429, retry_after: 50 }),
  });
  await r.advance(50_000);
  assert.equal(r.slack.count("apps.connections.open"), 1);
  await r.advance(2_000);
  assert.equal(r.slack.connections.open.length, 1);
});

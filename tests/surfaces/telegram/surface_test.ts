/** The Telegram surface with failing connections: to the daemon, and to Telegram. */

import assert from "node:assert/strict";
import { TOKEN } from "../../support/telegram/fake_bot_api.ts";
import { surfaceFixture } from "../../support/telegram/surface_fixture.ts";

const bodyOf = (replies: Record<string, unknown>[]) => replies.map(({ text }) => text);

Deno.test("a reply waits while the daemon is down, and is sent and confirmed once afterwards", async () => {
  await using r = await surfaceFixture();
  r.mesh.item();
  await r.settle();
  const ref = r.bot.sentMessages[0]?.message_id ?? 0;
  r.mesh.up = false;
  r.mesh.close(1006);
  r.bot.reply(ref, "Yes");
  await r.advance(60_000);
  assert.deepEqual(r.mesh.replies, []);
  assert.equal(r.bot.updates.length, 1, "Telegram still has it");
  assert.equal(
    r.bot.sentMessages.filter(({ text }) => /daemon is not reachable/.test(text)).length,
    1,
  );
  r.mesh.up = true;
  await r.advance(60_000);
  assert.deepEqual(bodyOf(r.mesh.replies), ["Yes"]);
  assert.deepEqual(r.bot.updates, []);
  assert.deepEqual(r.printed.slice(-2), [
    "Lost the daemon; waiting for it",
    "Reconnected to the daemon",
  ]);
});

Deno.test("a reply whose answer from the daemon was lost does not become a new ask", async () => {
  await using r = await surfaceFixture();
  r.mesh.item();
  await r.settle();
  r.mesh.outcomes.push("lost");
  r.bot.reply(r.bot.sentMessages[0]?.message_id ?? 0, "Yes");
  await r.advance(60_000);
  assert.deepEqual(bodyOf(r.mesh.replies), ["Yes"]);
  assert.match(r.bot.sentMessages.at(-1)?.text ?? "", /answered in the meantime/);
});

Deno.test("an update left unconfirmed by a crash is not answered twice", async () => {
  await using r = await surfaceFixture();
  r.mesh.item();
  await r.settle();
  r.bot.reply(r.bot.sentMessages[0]?.message_id ?? 0, "Yes");
  const [update] = r.bot.updates;
  await r.advance(10_000);
  assert.deepEqual(bodyOf(r.mesh.replies), ["Yes"]);
  await r.restart();
  r.bot.updates = [...update ? [update] : []];
  await r.advance(120_000);
  assert.deepEqual(bodyOf(r.mesh.replies), ["Yes"]);
  assert.match(r.bot.sentMessages.at(-1)?.text ?? "", /answered in the meantime/);
});

Deno.test("replies written while the surface was off are all forwarded in order", async () => {
  await using r = await surfaceFixture();
  r.mesh.item();
  await r.settle();
  const ref = r.bot.sentMessages[0]?.message_id ?? 0;
  r.mesh.up = false;
  r.mesh.close(1006);
  r.bot.reply(ref, "Yes");
  r.bot.reply(ref, "And one thing more");
  await r.advance(10_000);
  await r.restart();
  r.mesh.up = true;
  await r.advance(60_000);
  assert.deepEqual(bodyOf(r.mesh.replies), ["Yes", "And one thing more"]);
});

Deno.test("an update that Telegram repeats is handled once", async () => {
  await using r = await surfaceFixture();
  r.mesh.item();
  await r.settle();
  r.bot.reply(r.bot.sentMessages[0]?.message_id ?? 0, "Yes");
  const [update] = r.bot.updates;
  await r.settle();
  r.bot.updates = [...update ? [update] : []];
  r.bot.write("/help");
  await r.settle();
  assert.deepEqual(bodyOf(r.mesh.replies), ["Yes"]);
});

Deno.test("the long poll asks for messages and taps, without an offset when nothing is unconfirmed", async () => {
  await using r = await surfaceFixture();
  const polls = () => r.bot.calls.filter(({ method }) => method === "getUpdates");
  assert.deepEqual(polls()[0]?.params, {
    timeout: 50,
    allowed_updates: ["message", "edited_message", "callback_query"],
  });
  r.bot.write("/help");
  await r.settle();
  assert.equal(polls().at(-1)?.params["offset"], 2);
  await r.advance(50_000);
  assert.ok(!("offset" in (polls().at(-1)?.params ?? {})));
});

Deno.test("another poller is logged once, and polling continues when it has gone", async () => {
  await using r = await surfaceFixture(({ bot }) =>
    bot.failNext("getUpdates", { error_code: 409 }, { error_code: 409 })
  );
  await r.advance(30_000);
  assert.equal(r.printed.filter((line) => /Another process polls this bot/.test(line)).length, 1);
  assert.equal(r.printed.at(-1), "Telegram answers again");
  r.bot.write("/help");
  await r.settle();
  assert.equal(r.bot.sentMessages.length, 1);
});

Deno.test("a poll is retried forever, with pauses of up to 30 s", async () => {
  await using r = await surfaceFixture(({ bot }) =>
    bot.failNext("getUpdates", ...Array(100).fill("unreached"))
  );
  await r.advance(600_000);
  const polls = r.bot.count("getUpdates");
  assert.ok(polls > 20 && polls < 50, String(polls));
  assert.equal(r.printed.filter((line) => /cannot be reached/.test(line)).length, 1);
});

Deno.test("a poll waits for as long as Telegram asks", async () => {
  await using r = await surfaceFixture(({ bot }) => {
    bot.failNext("getUpdates", { error_code: 429, parameters: { retry_after: 100 } });
  });
  await r.advance(99_000);
  assert.equal(r.bot.count("getUpdates"), 1);
  await r.advance(2_000);
  assert.ok(r.bot.count("getUpdates") > 1);
});

Deno.test("a poll that Telegram never answers times out, and is repeated", async () => {
  await using r = await surfaceFixture(({ bot }) => {
    const { fetch } = bot;
    let first = true;
    const hangForever = (request: Request) => {
      if (!first) return fetch(request);
      first = false;
      return new Promise<Response>((_, reject) => {
        request.signal.addEventListener("abort", () => reject(request.signal.reason));
      });
    };
    Object.assign(bot, { fetch: hangForever });
  });
  r.bot.write("/help");
  await r.advance(66_000);
  assert.equal(r.bot.sentMessages.length, 1);
});

for (const error_code of [401, 404]) {
  Deno.test(`a token that Telegram rejects (${error_code}) ends the surface and names the setting`, async () => {
    await using r = await surfaceFixture(({ bot }) => bot.failNext("getUpdates", { error_code }));
    await assert.rejects(r.ended(), (error: Error) => {
      assert.equal(error.name, "ConfigError");
      assert.match(error.message, /^surfaces\.telegram\.token: Telegram rejects it/);
      return true;
    });
    assert.equal(r.mesh.connected, false, "the connection is closed");
  });
}

Deno.test("a token that is rejected during a push first fails the push", async () => {
  await using r = await surfaceFixture();
  r.bot.failNext("sendMessage", { error_code: 401 });
  r.mesh.item();
  await r.settle();
  await assert.rejects(r.ended(), { name: "ConfigError" });
  assert.partialDeepStrictEqual(r.mesh.receipts, [{
    status: "failed",
    error_class: "unauthorized",
  }]);
});

// deno-fmt-ignore
const FINAL = [
  [4001, /rejects our token/         ],
  [4002, /rejects our connect frame/ ],
  [4004, /retired this surface/      ],
  [4009, /Another surface/           ],
] as const;
for (const [code, why] of FINAL) {
  Deno.test(`a connection that closes with ${code} is not reopened`, async () => {
    await using r = await surfaceFixture();
    r.mesh.close(code);
    await r.settle();
    await assert.rejects(r.ended(), { name: "CommandError", message: why });
    assert.equal(r.mesh.dials, 1);
  });
}

Deno.test("the connection is retried forever, with pauses of up to 15 s", async () => {
  await using r = await surfaceFixture(({ mesh }) => mesh.up = false);
  await r.advance(600_000);
  assert.ok(r.mesh.dials > 40 && r.mesh.dials < 100, String(r.mesh.dials));
  r.mesh.up = true;
  await r.advance(15_000);
  assert.ok(r.mesh.connected);
  assert.deepEqual(r.printed, ["Lost the daemon; waiting for it", "Reconnected to the daemon"]);
  r.mesh.close(1001);
  await r.advance(500);
  assert.ok(r.mesh.connected, "pauses start short again");
});

Deno.test("pings are answered, and a silent connection is reopened", async () => {
  await using r = await surfaceFixture();
  for (let ping = 1; ping <= 6; ping++) {
    r.mesh.sendFrame({ type: "ping", ping_id: String(ping) });
    await r.advance(20_000);
  }
  assert.equal(r.mesh.dials, 1);
  assert.deepEqual(r.mesh.pongs.map(({ ping_id }) => ping_id), ["1", "2", "3", "4", "5", "6"]);
  await r.advance(75_000);
  assert.equal(r.mesh.dials, 2);
});

Deno.test("unknown frames are ignored, but an unreadable item is logged", async () => {
  await using r = await surfaceFixture();
  for (const frame of ["no JSON", "[]", { type: "peer_update" }, { type: "inbox_item" }]) {
    r.mesh.sendFrame(frame as Record<string, unknown>);
  }
  r.mesh.item();
  await r.settle();
  assert.equal(r.bot.sentMessages.length, 1);
  assert.deepEqual(r.printed, ["An inbox item has an unknown form and is not shown"]);
});

Deno.test("a daemon that does not close the connection is dropped after a second", async () => {
  const r = await surfaceFixture();
  r.mesh.closesOnHangUp = false;
  const ending = r[Symbol.asyncDispose]();
  await r.advance(1_000);
  await ending;
});

Deno.test("Ctrl-C during sends and retries ends the surface cleanly", async () => {
  const r = await surfaceFixture();
  r.bot.failNext("sendMessage", { error_code: 429, parameters: { retry_after: 3600 } });
  r.mesh.item();
  r.mesh.outcomes.push("lost");
  r.bot.reply(1, "Yes");
  await r.settle();
  await r[Symbol.asyncDispose]();
  await r.ended();
  assert.equal(r.mesh.connected, false);
});

Deno.test("the token appears in no log line and no message", async () => {
  await using r = await surfaceFixture(({ bot }) => {
    bot.failNext("getUpdates", "unreached", "lost", { error_code: 500 }, { error_code: 409 });
  });
  r.bot.failNext("sendMessage", "unreached", "lost", {
    error_code: 400,
    description: `/bot${TOKEN}/x`,
  });
  r.mesh.item();
  await r.advance(600_000);
  assert.ok(r.printed.length > 3);
  assert.doesNotMatch(r.printed.join() + JSON.stringify(r.bot.sentMessages), /topsecret/);
});

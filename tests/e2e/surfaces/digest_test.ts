/** A scheduled digest of a daemon, in the chat that the program for Telegram shows. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import { notify } from "../../support/daemon/peer_clients.ts";
import { meshArguments } from "../../support/programs/program.ts";
import { FakeBotApi, surfaceEnvironment } from "../../support/telegram/fake_bot_api.ts";
import { until } from "../../support/waiting.ts";
import { LOOPBACK, world } from "../../support/world.ts";

const LOCAL = { hostname: "127.0.0.1", port: 0, onListen: () => undefined };

Deno.test("a scheduled digest comes to the chat", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const bot = new FakeBotApi(systemClock);
  await using daemon = Deno.serve(LOCAL, (request) => w.daemon.fetch(request, LOOPBACK));
  const onError = () => new Response(null, { status: 500 }); // A poll that the end interrupts.
  await using api = Deno.serve({ ...LOCAL, onError }, bot.fetch);
  const cwd = Deno.makeTempDirSync();
  const child = new Deno.Command(Deno.execPath(), {
    args: meshArguments(["surface", "telegram"]),
    cwd,
    env: surfaceEnvironment(cwd, { daemon: daemon.addr.port, api: api.addr.port }),
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    const shows = (text: string) => bot.sentMessages.some((sent) => sent.text.includes(text));
    await notify(w, "ada", "sam", "The chat is there");
    await until("the first message", () => shows("The chat is there"));
    await w.call(createSchedule, {
      body: { from_peer: "sam", to_peer: "sam", text: "Good day", digest: true, fire_at: "1h" },
    });
    await w.tick(3600);
    await until("the digest", () => shows("Good day"));
    assert.ok(shows("Waits for you (1)"), bot.sentMessages.at(-1)?.text);
  } finally {
    child.kill("SIGINT");
    await child.status;
    Deno.removeSync(cwd, { recursive: true });
  }
});

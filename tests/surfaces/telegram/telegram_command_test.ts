/** `mesh surface telegram` as a command, and the errors of the Bot API client. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { Secret } from "kit/core/settings.ts";
import { runCli } from "../../../cli.ts";
import { ChatError } from "../../../surfaces/chat/chat.ts";
import { BotApi } from "../../../surfaces/telegram/bot_api.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { FakeBotApi, TOKEN } from "../../support/telegram/fake_bot_api.ts";

const serving = { port: 0, hostname: "127.0.0.1", onListen: () => {} } as const;

/** A home without a daemon, and a listening fake Bot API. */
function setup() {
  const dir = Deno.makeTempDirSync();
  const bot = new FakeBotApi(systemClock);
  const server = Deno.serve(serving, bot.fetch);
  const base = `http://127.0.0.1:${server.addr.port}`;
  const env = {
    MESH_CONFIG: join(dir, "config.yaml"),
    MESH_STATE: dir,
    MESH_DAEMON__PORT: "1",
    TELEGRAM_API_BASE: base,
  };
  return {
    dir,
    bot,
    base,
    async mesh(more: Record<string, string> = {}) {
      const { terminal, lines } = capturedTerminal();
      const code = await runCli(["surface", "telegram"], { ...env, ...more }, terminal);
      return { code, ...lines };
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      Deno.removeSync(dir, { recursive: true });
    },
  };
}

const TELEGRAM_ENV = {
  MESH_SURFACES__TELEGRAM__TOKEN: TOKEN,
  MESH_SURFACES__TELEGRAM__CHAT_ID: "815",
};

Deno.test("without settings it exits 2 and names each missing key", async () => {
  await using p = setup();
  const { code, out, err } = await p.mesh();
  assert.deepEqual([code, out], [2, ""]);
  assert.match(err, /^mesh: surfaces\.telegram\.token is missing/m);
  assert.match(err, /^mesh: surfaces\.telegram\.chat_id is missing/m);
  assert.ok(err.includes(join(p.dir, "config.yaml")));
  const { MESH_SURFACES__TELEGRAM__CHAT_ID } = TELEGRAM_ENV;
  const without_token = await p.mesh({ MESH_SURFACES__TELEGRAM__CHAT_ID });
  assert.equal(without_token.code, 2);
  assert.doesNotMatch(without_token.err, /chat_id/);
});

Deno.test("without a chat_id it lists the chats that wrote to the bot, and confirms no update", async () => {
  await using p = setup();
  const { MESH_SURFACES__TELEGRAM__TOKEN } = TELEGRAM_ENV;
  const none = await p.mesh({ MESH_SURFACES__TELEGRAM__TOKEN });
  assert.match(none.err, /chat_id is missing[^]*Write to the bot/);
  p.bot.write("Hello");
  p.bot.write("Hi", { chat: { id: -42, type: "group" } });
  const { code, err } = await p.mesh({ MESH_SURFACES__TELEGRAM__TOKEN });
  assert.equal(code, 2);
  assert.match(err, /815 \(private\), -42 \(group\)/);
  assert.equal(p.bot.updates.length, 2);
  const wrong = await p.mesh({ MESH_SURFACES__TELEGRAM__TOKEN: "4711:wrongwrong" });
  assert.match(wrong.err, /Cannot list the chats of the bot: Unauthorized/);
});

Deno.test("settings are also read from the file, and a bad one is reported without the token", async () => {
  await using p = setup();
  const file = join(p.dir, "config.yaml");
  Deno.writeTextFileSync(
    file,
    `surfaces: {telegram: {token: "${TOKEN}", chat_id: -1001234567890}}`,
  );
  assert.equal((await p.mesh()).code, 3);
  Deno.writeTextFileSync(file, `surfaces: {telegram: {token: "${TOKEN}/../x", chat_id: my chat}}`);
  const { code, err } = await p.mesh();
  assert.equal(code, 2);
  assert.match(err, /surfaces\.telegram\.token: found a value/);
  assert.match(err, /surfaces\.telegram\.chat_id: found "my chat"/);
  assert.doesNotMatch(err, /topsecret/);
});

Deno.test("without a daemon it exits 3 and prints how to start one", async () => {
  await using p = setup();
  const { code, err } = await p.mesh(TELEGRAM_ENV);
  assert.equal(code, 3);
  assert.match(err, /No daemon answers[^]*Start it with: mesh up\n$/);
  assert.deepEqual(p.bot.calls, [], "Telegram is not called");
});

Deno.test("the token is sent only to https or to this machine", async () => {
  await using p = setup();
  for (const base of ["http://api.test", "ftp://127.0.0.1", "not an address", "//x"]) {
    const { code, err } = await p.mesh({ ...TELEGRAM_ENV, TELEGRAM_API_BASE: base });
    assert.equal(code, 2, base);
    assert.match(err, /TELEGRAM_API_BASE: ".*" is not allowed; use an https URL/);
  }
});

/** Calls a server with this answer, and returns the error. */
async function errorOf(
  answer: (request: Request) => Response | Promise<Response>,
): Promise<ChatError> {
  await using server = Deno.serve(serving, answer);
  const base = `http://127.0.0.1:${server.addr.port}`;
  return await requestFailure(base);
}

async function requestFailure(base: string): Promise<ChatError> {
  const token = new Secret(TOKEN), clock = systemClock;
  const bot = new BotApi({
    base,
    token,
    chat_id: "815",
    clock,
    fetch: (request) => fetch(request),
  });
  try {
    await bot.sendMessage({ text: "Hi" }, new AbortController().signal);
  } catch (error) {
    assert.ok(error instanceof ChatError, String(error));
    const text = `${error.message} ${error.stack} ${Deno.inspect(error)} ${error.cause}`;
    assert.doesNotMatch(text, /topsecret/);
    return error;
  }
  throw new Error("The call did not fail");
}

const refusal = (status: number, more: Record<string, unknown> = {}) => () =>
  Response.json({ ok: false, error_code: status, description: "No", ...more }, { status });

/** Redirects the request to an address that would accept it. */
function redirect({ url }: Request): Response {
  if (url.endsWith("/ok")) return Response.json({ ok: true, result: { message_id: 1 } });
  return Response.redirect(new URL("/ok", url), 307);
}

Deno.test("an error's class gives the call's outcome, and it never contains the token", async () => {
  // deno-fmt-ignore
  const answers: [name: string, error_class: string, answer: (request: Request) => Response][] = [
    ["a bad request",          "bad_request",  refusal(400)],
    ["a token refused",        "unauthorized", refusal(401)],
    ["a bot that was blocked", "forbidden",    refusal(403)],
    ["a malformed token",      "unauthorized", refusal(404)],
    ["another poller", "conflict",     refusal(409)],
    ["too many",               "rate_limited", refusal(429)],
    ["an error of Telegram", "unclear",      refusal(500)],
    ["a gateway's page",       "unclear",      () => new Response("<html>", { status: 502 })],
    ["a page that says yes",   "unclear",      () => new Response("<html>")],
    ["no such page",           "bad_request",  () => new Response("<html>", { status: 404 })],
    ["a redirect",             "unclear",      redirect],
    ["another shape",          "unclear",      () => Response.json({ ok: true, result: [] })],
    ["the address repeated",   "bad_request",  ({ url }) => refusal(400, { description: url })()],
  ];
  for (const [name, error_class, answer] of answers) {
    assert.equal((await errorOf(answer)).error_class, error_class, name);
  }
});

Deno.test("a refused connection is a network error; a connection that breaks is unclear", async () => {
  const free = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = free.addr;
  free.close();
  assert.equal((await requestFailure(`http://127.0.0.1:${port}`)).error_class, "network");
  assert.equal((await requestFailure("http://name.invalid")).error_class, "network");
  using breaking = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const accepting = (async () => {
    const connection = await breaking.accept();
    await connection.read(new Uint8Array(1024));
    connection.close();
  })();
  const broken = await requestFailure(`http://127.0.0.1:${breaking.addr.port}`);
  assert.equal(broken.error_class, "unclear");
  await accepting;
});

Deno.test("a refusal's retry time and new chat id are read", async () => {
  const limited = await errorOf(refusal(429, { parameters: { retry_after: 3 } }));
  assert.equal(limited.retry_after_ms, 3000);
  const moved = await errorOf(refusal(400, { parameters: { migrate_to_chat_id: -100 } }));
  assert.match(moved.message, /the chat's new id is -100/);
});

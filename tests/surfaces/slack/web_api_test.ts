/** The errors of the client of Slack's Web API, and what it reads of several pages. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { Secret } from "kit/core/settings.ts";
import { WebApi } from "../../../surfaces/slack/web_api.ts";
import { ChatError } from "../../../surfaces/chat/chat.ts";
import { APP_TOKEN, BOT_TOKEN } from "../../support/slack/fake_slack.ts";

const serving = { port: 0, hostname: "127.0.0.1", onListen: () => {} } as const;
const { signal } = new AbortController();

function apiAt(base: string): WebApi {
  const [app_token, bot_token] = [new Secret(APP_TOKEN), new Secret(BOT_TOKEN)];
  const clock = systemClock;
  return new WebApi({ base, app_token, bot_token, clock, fetch: (request) => fetch(request) });
}

async function sendFailure(base: string): Promise<ChatError> {
  try {
    await apiAt(base).postMessage({ channel: "D1", text: "Hi", blocks: [] }, signal);
  } catch (error) {
    assert.ok(error instanceof ChatError, String(error));
    const text = `${error.message} ${error.stack} ${Deno.inspect(error)} ${error.cause}`;
    assert.doesNotMatch(text, /topsecret/);
    return error;
  }
  throw new Error("The call did not fail");
}

/** Calls a server with this answer, and returns the error. */
async function errorOf(answer: (request: Request) => Response): Promise<ChatError> {
  await using server = Deno.serve(serving, answer);
  return await sendFailure(`http://127.0.0.1:${server.addr.port}`);
}

const refusal = (error: string, more = {}) => () => Response.json({ ok: false, error, ...more });
const page = (status: number) => () => new Response("<html>", { status });

/** Redirects the request to an address that would accept it. */
function redirect({ url }: Request): Response {
  if (url.endsWith("/ok")) return Response.json({ ok: true, ts: "1.000000" });
  return Response.redirect(new URL("/ok", url), 307);
}

Deno.test("an error's class gives the call's outcome, and it never contains a token", async () => {
  // deno-fmt-ignore
  const answers: [name: string, error_class: string, answer: (request: Request) => Response][] = [
    ["a bad token",            "unauthorized", refusal("invalid_auth")],
    ["a revoked token",        "unauthorized", refusal("token_revoked")],
    ["no scope",               "forbidden",    refusal("missing_scope", { needed: "chat:write" })],
    ["not a member",           "forbidden",    refusal("not_in_channel")],
    ["bad blocks",             "bad_request",  refusal("invalid_blocks")],
    ["an unknown refusal",     "bad_request",  refusal("something_new")],
    ["no reason",              "bad_request",  () => Response.json({ ok: false })],
    ["too many",               "rate_limited", page(429)],
    ["too many, in the body",  "rate_limited", refusal("ratelimited")],
    ["a truncated request",    "network",      refusal("request_timeout")],
    ["an error of Slack",      "unclear",      refusal("internal_error")],
    ["a serious one",          "unclear",      refusal("fatal_error")],
    ["a gateway's page",       "unclear",      page(502)],
    ["a page that says yes",   "unclear",      page(200)],
    ["no such page",           "bad_request",  page(404)],
    ["a redirect",             "unclear",      redirect],
    ["another shape",          "unclear",      () => Response.json({ ok: true, ts: 5 })],
    ["the token repeated",     "bad_request",  refusal(`no ${BOT_TOKEN}`)],
  ];
  for (const [name, error_class, answer] of answers) {
    assert.equal((await errorOf(answer)).error_class, error_class, name);
  }
});

Deno.test("a refusal says what to do, and which scope is missing", async () => {
  const { message } = await errorOf(refusal("missing_scope", { needed: "reactions:write" }));
  assert.equal(
    message,
    "Slack refuses chat.postMessage: missing_scope (reactions:write); add the scope to the app, " +
      "and install the app again",
  );
});

Deno.test("the time that Slack asks us to wait is read", async () => {
  const limited = (header: string) => () =>
    new Response("", { status: 429, headers: { "retry-after": header } });
  assert.equal((await errorOf(limited("30"))).retry_after_ms, 30_000);
  assert.equal((await errorOf(limited("soon"))).retry_after_ms, undefined);
});

Deno.test("a refused connection is a network error", async () => {
  const free = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = free.addr;
  free.close();
  assert.equal((await sendFailure(`http://127.0.0.1:${port}`)).error_class, "network");
});

Deno.test("each token goes only into the header of its own calls", async () => {
  const seen: string[] = [];
  await using server = Deno.serve(serving, async (request) => {
    const { pathname } = new URL(request.url);
    seen.push(`${pathname} ${request.headers.get("authorization")} ${await request.text()}`);
    return Response.json({ ok: true, ts: "1.000000", url: "wss://a.test/link" });
  });
  const api = apiAt(`http://127.0.0.1:${server.addr.port}`);
  await api.openConnection(signal);
  await api.postMessage({ channel: "D1", text: "Hi", blocks: [] }, signal);
  assert.equal(seen[0], `/apps.connections.open Bearer ${APP_TOKEN} `);
  assert.match(seen[1] ?? "", new RegExp(`^/chat.postMessage Bearer ${BOT_TOKEN} channel=D1`));
});

Deno.test("pages are read up to the limit; messages of an unknown form are left out", async () => {
  await using server = Deno.serve(serving, async (request) => {
    const cursor = Number(new URLSearchParams(await request.text()).get("cursor") ?? 0);
    const messages = [{ ts: `${cursor + 1}.000000`, text: "Hi" }, { ts: "now" }, null];
    return Response.json({
      ok: true,
      messages,
      response_metadata: { next_cursor: cursor < 3 ? String(cursor + 1) : "" },
    });
  });
  const api = apiAt(`http://127.0.0.1:${server.addr.port}`);
  const read = async (pages_max: number) => {
    const { messages, complete } = await api.history("D1", { limit: 3, pages_max }, signal);
    return [messages.length, complete];
  };
  assert.deepEqual(await read(3), [3, false]);
  assert.deepEqual(await read(9), [4, true]);
});

/** Authorization requests: which are refused, and where the refusal and the code are sent. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import {
  ALL_SCOPES,
  App,
  CALLBACK,
  ISSUER,
  oauthWorld,
  parseTokens,
  Person,
  READ_SCOPE,
  redirectError,
  redirectUrl,
} from "../../../support/relay/oauth_world.ts";

type Change = Record<string, string | undefined>;

/** Refusals of requests whose client and redirect URI are verified. */
// deno-fmt-ignore
const ANSWERED_ERRORS: readonly [what: string, change: Change, error: string][] = [
  ["no response_type",            { response_type: undefined },            "invalid_request"],
  ["a token at once",             { response_type: "token" },              "unsupported_response_type"],
  ["a code and a token",          { response_type: "code token" },         "unsupported_response_type"],
  ["an answer in the fragment",   { response_mode: "fragment" },           "invalid_request"],
  ["no code_challenge",           { code_challenge: undefined },           "invalid_request"],
  ["an empty code_challenge",     { code_challenge: "" },                  "invalid_request"],
  ["a plain challenge",           { code_challenge_method: "plain" },      "invalid_request"],
  ["a challenge of no method",    { code_challenge_method: undefined },    "invalid_request"],
  ["the method in small letters", { code_challenge_method: "s256" },       "invalid_request"],
  ["a challenge too short",       { code_challenge: "x".repeat(42) },      "invalid_request"],
  ["a challenge with padding",    { code_challenge: `${"x".repeat(43)}=` }, "invalid_request"],
  ["no resource",                 { resource: undefined },                 "invalid_target"],
  ["the resource of another",     { resource: "https://other.example.com/mcp" }, "invalid_target"],
  ["the issuer as the resource",  { resource: ISSUER },                    "invalid_target"],
  ["the resource with a slash",   { resource: `${ISSUER}/mcp/` },          "invalid_target"],
  ["messaging without reading",   { scope: "agents:write" },               "invalid_scope"],
  ["unknown scopes only",         { scope: "offline_access admin" },       "invalid_scope"],
  ["a scope of blanks",           { scope: "  " },                         "invalid_scope"],
  ["a scope in capitals",         { scope: "AGENTS:READ" },                "invalid_scope"],
];

const LOOPBACK = "http://127.0.0.1:3000/callback";

for (const [what, change, error] of ANSWERED_ERRORS) {
  Deno.test(`a request with ${what} is answered with ${error} [4.oauth.authorize] [4.oauth.resource-parameter] [5.oauth.scope.read-required] [c11.oauth.errors]`, async () => {
    using w = oauthWorld();
    const [local, allowed, stranger] = [
      await App.register(w, LOOPBACK),
      await App.register(w),
      await App.register(w),
    ];
    await allowed.connect();
    for (const app of [local, allowed]) {
      const response = await new Person(w).visit(app.authorizePath(change));
      assert.equal(response.status, 303);
      assert.equal(response.headers.get("cache-control"), "no-store");
      assertAnswer(redirectUrl(response), app, error);
    }
    const page = await new Person(w).visit(stranger.authorizePath(change));
    assert.deepEqual([page.status, page.headers.get("location")], [400, null]);
    assert.equal(page.headers.get("refresh"), null);
    assertAnswer(linkIn(await page.text()), stranger, error);
  });
}

function assertAnswer(answer: URL, { redirect_uri }: App, error: string): void {
  assert.ok(answer.href.startsWith(`${redirect_uri}?`), answer.href);
  assert.equal(redirectError(answer), error);
  assert.ok(answer.searchParams.get("error_description"));
  assert.equal(answer.searchParams.get("state"), "st 1");
  assert.equal(answer.searchParams.get("iss"), ISSUER);
}

/** The link of a page that names a refusal. */
function linkIn(page: string): URL {
  const [, href = ""] = /<a href="(https:[^"]*)" rel="noreferrer">/.exec(page) ?? [];
  assert.match(page, /<code>[a-z_]+<\/code>/);
  return new URL(href.replaceAll("&amp;", "&"));
}

Deno.test("a client that a person has allowed but that has no tokens yet is redirected to [c11.oauth.errors]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await new Person(w).allow(app);
  const response = await new Person(w).visit(app.authorizePath({ scope: "x" }));
  assertAnswer(redirectUrl(response), app, "invalid_scope");
});

Deno.test("a client stays allowed when its grant has ended [c11.oauth.errors]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  await app.revoke(refresh_token);
  await w.clock.advance(31 * DAY_MS);
  const response = await new Person(w).visit(app.authorizePath({ scope: "x" }));
  assertAnswer(redirectUrl(response), app, "invalid_scope");
});

Deno.test("unknown scopes beside agents:read are left out [c11.oauth.scopes]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  // deno-fmt-ignore
  const scopes: readonly [requested: string, granted: string][] = [
    [`${READ_SCOPE} offline_access`,          READ_SCOPE],
    [`openid ${ALL_SCOPES} profile`,          ALL_SCOPES],
    [`${READ_SCOPE} agents:admin AGENTS:WRITE`, READ_SCOPE],
  ];
  for (const [scope, granted] of scopes) {
    const tokens = await app.connect({ scope });
    assert.equal(tokens.scope, granted);
    const refreshed = await app.refresh(tokens.refresh_token, { scope });
    assert.equal((await parseTokens(refreshed)).scope, granted);
  }
});

/** Refusals that are not redirected, because the redirect URI is not verified. */
// deno-fmt-ignore
const PAGE_ERRORS: readonly [what: string, change: Change, more?: string][] = [
  ["no client_id",                  { client_id: undefined }],
  ["an unknown client_id",          { client_id: `mc_${"z".repeat(22)}` }],
  ["a client_id that is none",      { client_id: "mc_1' or 1=1 --" }],
  ["two client_ids",                {}, "&client_id=mc_other"],
  ["another redirect_uri",          { redirect_uri: "https://evil.example/callback" }],
  ["a longer redirect_uri",         { redirect_uri: `${CALLBACK}/more` }],
  ["a redirect_uri with a query",   { redirect_uri: `${CALLBACK}?next=1` }],
  ["a redirect_uri with a user",    { redirect_uri: "https://app.example.net@evil.example/callback" }],
  ["a redirect_uri in capitals",    { redirect_uri: "https://APP.example.net/callback" }],
  ["two redirect_uris",             {}, `&redirect_uri=${encodeURIComponent("https://evil.example/")}`],
  ["a request beyond its bound",    { state: "x".repeat(9000) }],
];

for (const [what, change, more = ""] of PAGE_ERRORS) {
  Deno.test(`${what} is refused on a page and not redirected [5.oauth.redirects.verified]`, async () => {
    using w = oauthWorld();
    const app = await App.register(w);
    const response = await new Person(w).visit(app.authorizePath(change) + more);
    assert.ok(response.status === 400 || response.status === 413, `${response.status}`);
    assert.equal(response.headers.get("location"), null);
    const text = await response.text();
    assert.match(text, /role="alert"/);
    assert.ok(!text.includes("evil.example"));
  });
}

Deno.test("a repeated parameter is refused, and a repeated state is not sent back", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  for (
    const more of [
      `&scope=${READ_SCOPE}`,
      "&state=two",
      "&code_challenge_method=S256",
      "&foo=1&foo=1",
    ]
  ) {
    const page = await new Person(w).visit(app.authorizePath() + more);
    const answer = linkIn(await page.text());
    assert.equal(redirectError(answer), "invalid_request", more);
    assert.equal(answer.searchParams.get("state"), more === "&state=two" ? null : "st 1");
  }
});

Deno.test("unknown parameters are ignored, and a single redirect_uri is the default", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const change = { redirect_uri: undefined, prompt: "consent", audience: "x" };
  const answer = await new Person(w).allow(app, change);
  assert.ok(answer.href.startsWith(`${CALLBACK}?code=mesh_ac_`));
});

Deno.test("the query of a redirect URI is kept", async () => {
  using w = oauthWorld();
  const app = await App.register(w, `${CALLBACK}?tenant=a%20b&x`);
  const answer = await new Person(w).allow(app);
  assert.ok(answer.href.startsWith(`${CALLBACK}?tenant=a%20b&x&code=`), answer.href);
});

Deno.test("the redirect has code, state and iss, and a loopback URI may have any port [4.oauth.iss]", async () => {
  using w = oauthWorld();
  const app = await App.register(w, "http://127.0.0.1:3000/callback/x1");
  const redirect_uri = "http://127.0.0.1:49999/callback/x1";
  const answer = await new Person(w).allow(app, { redirect_uri });
  assert.equal(answer.origin + answer.pathname, redirect_uri);
  assert.match(answer.searchParams.get("code") ?? "", /^mesh_ac_/);
  assert.equal(answer.searchParams.get("state"), "st 1");
  assert.equal(answer.searchParams.get("iss"), ISSUER);
  await parseTokens(await app.redeem(answer.searchParams.get("code") ?? "", { redirect_uri }));
});

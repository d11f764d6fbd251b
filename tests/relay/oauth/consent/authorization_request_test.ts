/** Authorization requests: which are refused, and where the refusal and the code are sent. */

import assert from "node:assert/strict";
import {
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

/** Refusals that are redirected, because the client and its redirect URI are verified. */
// deno-fmt-ignore
const REDIRECTED_ERRORS: readonly [what: string, change: Change, error: string][] = [
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
  ["a scope that is not there",   { scope: `${READ_SCOPE} admin` },              "invalid_scope"],
  ["a scope of blanks",           { scope: "  " },                         "invalid_scope"],
  ["a scope in capitals",         { scope: "AGENTS:READ" },                "invalid_scope"],
];

for (const [what, change, error] of REDIRECTED_ERRORS) {
  Deno.test(`a request with ${what} is redirected with ${error} [4.oauth.authorize] [4.oauth.resource-parameter] [5.oauth.scope.read-required]`, async () => {
    using w = oauthWorld();
    const app = await App.register(w);
    const response = await new Person(w).visit(app.authorizePath(change));
    assert.equal(response.status, 303);
    assert.equal(response.headers.get("cache-control"), "no-store");
    const answer = redirectUrl(response);
    assert.ok(answer.href.startsWith(`${CALLBACK}?`));
    assert.equal(redirectError(answer), error);
    assert.ok(answer.searchParams.get("error_description"));
    assert.equal(answer.searchParams.get("state"), "st 1");
    assert.equal(answer.searchParams.get("iss"), ISSUER);
  });
}

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
    const answer = redirectUrl(await new Person(w).visit(app.authorizePath() + more));
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

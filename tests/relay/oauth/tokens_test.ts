/** Tokens: the exchange of codes, invalid requests, and lifetimes. */

import { temporary } from "../../support/programs/child.ts";
import assert from "node:assert/strict";
import { DAY_MS, MINUTE_MS } from "kit/core/duration.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import {
  ALL_SCOPES,
  App,
  countRows,
  ISSUER,
  oauthError,
  oauthWorld,
  parseTokens,
  Person,
  RESOURCE,
  SECRET,
  tokenService,
  VERIFIER,
} from "../../support/relay/oauth_world.ts";

type Change = Record<string, string | undefined>;
const FORM = "application/x-www-form-urlencoded";

async function authorizationCode(app: App, change: Change = {}): Promise<string> {
  return (await new Person(app.world).allow(app, change)).searchParams.get("code") ?? "";
}

Deno.test("a code is exchanged for tokens of the grant [4.oauth.token] [2.relay.grant]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const response = await app.redeem(await authorizationCode(app));
  assert.equal(response.headers.get("pragma"), "no-cache");
  const { access_token, refresh_token, ...rest } = await parseTokens(response);
  assert.match(access_token, /^mesh_at_.{43}$/);
  assert.match(refresh_token, /^mesh_rt_.{43}$/);
  assert.deepEqual(rest, { token_type: "Bearer", expires_in: 900, scope: ALL_SCOPES });
  const bearer = tokenService(w).check(access_token);
  assert.match(bearer?.asker ?? "", /^mcp-[0-9a-f]{12}$/);
  assert.match(bearer?.grant_id ?? "", /^mg_/);
  assert.equal(bearer?.namespace, namespaceOf(SECRET));
  assert.equal(bearer?.scope, ALL_SCOPES);
});

/** Mistakes in the exchange of a valid code. */
// deno-fmt-ignore
const BAD_EXCHANGES: readonly [what: string, change: Change, status: number, error: string][] = [
  ["no grant_type",                { grant_type: undefined },             400, "invalid_request"],
  ["a grant_type that is unknown", { grant_type: "password" },            400, "unsupported_grant_type"],
  ["client credentials",           { grant_type: "client_credentials" },  400, "unsupported_grant_type"],
  ["a grant_type of Object",       { grant_type: "constructor" },         400, "unsupported_grant_type"],
  ["no client_id",                 { client_id: undefined },              400, "invalid_request"],
  ["an unknown client",            { client_id: `mc_${"z".repeat(22)}` }, 401, "invalid_client"],
  ["a client secret",              { client_secret: "secret" },           401, "invalid_client"],
  ["a client assertion",           { client_assertion: "e30.e30.e30" },   401, "invalid_client"],
  ["another resource",             { resource: ISSUER },                  400, "invalid_target"],
  ["no code",                      { code: undefined },                   400, "invalid_request"],
  ["another code",                 { code: `mesh_ac_${"0".repeat(43)}` }, 400, "invalid_grant"],
  ["no code_verifier",             { code_verifier: undefined },          400, "invalid_request"],
  ["another code_verifier",        { code_verifier: "w".repeat(43) },     400, "invalid_grant"],
  ["the challenge as verifier",    { code_verifier: "ZtNPunH49FD35FWYhT5Tv8I7vRKQJ8uxMaL0_9eHjNA" }, 400, "invalid_grant"],
  ["a verifier too short",         { code_verifier: "v".repeat(42) },     400, "invalid_grant"],
  ["a verifier too long",          { code_verifier: "v".repeat(129) },    400, "invalid_grant"],
  ["another redirect_uri",         { redirect_uri: "https://app.example.net/other" }, 400, "invalid_grant"],
];

for (const [what, change, status, error] of BAD_EXCHANGES) {
  Deno.test(`an exchange with ${what} is ${error}, and the code stays valid [4.oauth.token]`, async () => {
    using w = oauthWorld();
    const app = await App.register(w);
    const code = await authorizationCode(app);
    assert.deepEqual(await oauthError(await app.redeem(code, change)), [status, error]);
    assert.equal(countRows(w.db, "oauth_access_tokens"), 0);
    await parseTokens(await app.redeem(code));
  });
}

Deno.test("an exchange without a resource is for the resource of the code [c11.oauth.resource]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  for (const resource of [undefined, ""]) {
    const tokens = await parseTokens(await app.redeem(await authorizationCode(app), { resource }));
    assert.ok(tokenService(w).check(tokens.access_token));
  }
});

Deno.test("the redirect_uri is optional in the exchange, because PKCE binds the code", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await parseTokens(await app.redeem(await authorizationCode(app), { redirect_uri: undefined }));
});

/** Mistakes in the format of the request. */
// deno-fmt-ignore
const BAD_FORMS: readonly [what: string, path: string, headers: Record<string, string>, body: string, status: number, error: string][] = [
  ["JSON",                        "",     { "content-type": "application/json" }, "{}", 400, "invalid_request"],
  ["no content type",             "",     { "content-type": "" },                 "grant_type=x", 400, "invalid_request"],
  ["a look-alike content type",   "",     { "content-type": `${FORM}x` },         "grant_type=x", 400, "invalid_request"],
  ["multipart",                   "",     { "content-type": "multipart/form-data; boundary=x" }, "--x--", 400, "invalid_request"],
  ["an empty body",               "",     {}, "", 400, "invalid_request"],
  ["a parameter twice",           "",     {}, "grant_type=refresh_token&grant_type=refresh_token", 400, "invalid_request"],
  ["an unknown parameter twice",  "",     {}, "grant_type=refresh_token&a=1&a=1", 400, "invalid_request"],
  ["parameters in the address",   "?client_id=x", {}, "grant_type=refresh_token", 400, "invalid_request"],
  ["a body beyond its bound",     "",     {}, `a=${"x".repeat(33_000)}`, 413, "invalid_request"],
  ["an Authorization header",     "",     { authorization: "Basic YTpi" }, "grant_type=refresh_token&client_id=a", 401, "invalid_client"],
];

for (const [what, query, headers, body, status, error] of BAD_FORMS) {
  for (const path of ["/oauth/token", "/oauth/revoke"]) {
    Deno.test(`${path} refuses ${what} as ${error} [4.oauth.token]`, async () => {
      using w = oauthWorld();
      const response = await w.postForm(path + query, body, headers);
      assert.deepEqual(await oauthError(response), [status, error]);
    });
  }
}

Deno.test("a content type may name its charset, in any case", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  const body = new URLSearchParams({
    grant_type: "refresh_token",
    client_id: app.client_id,
    refresh_token,
    resource: RESOURCE,
  });
  const headers = { "content-type": "Application/X-WWW-Form-Urlencoded ; charset=UTF-8" };
  await parseTokens(await w.fetch("/oauth/token", { method: "POST", body: `${body}`, headers }));
});

Deno.test("a code is refused for another client, and stays valid for its own", async () => {
  using w = oauthWorld();
  const app = await App.register(w), thief = await App.register(w);
  const code = await authorizationCode(app);
  assert.deepEqual(await oauthError(await thief.redeem(code)), [400, "invalid_grant"]);
  await parseTokens(await app.redeem(code));
});

Deno.test("a code is valid for one minute, and its grant is deleted if it is not exchanged [8.relay.code] [8.relay.abandoned]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const early = await authorizationCode(app), late = await authorizationCode(app);
  await w.clock.advance(MINUTE_MS - 1);
  await parseTokens(await app.redeem(early));
  await w.clock.advance(1);
  assert.deepEqual(await oauthError(await app.redeem(late)), [400, "invalid_grant"]);
  assert.equal(countRows(w.db, "oauth_grants"), 1);
  assert.equal(countRows(w.db, "oauth_codes"), 1);
});

Deno.test("a second use of a code revokes its grant [5.oauth.code-reused]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const code = await authorizationCode(app);
  const first = await parseTokens(await app.redeem(code));
  const second = await parseTokens(await app.refresh(first.refresh_token));
  await w.clock.advance(10 * MINUTE_MS);
  assert.deepEqual(await oauthError(await app.redeem(code)), [400, "invalid_grant"]);
  for (const { access_token } of [first, second]) {
    assert.equal(tokenService(w).check(access_token), undefined);
  }
  assert.deepEqual(await oauthError(await app.refresh(second.refresh_token)), [
    400,
    "invalid_grant",
  ]);
});

Deno.test("a second use of a code revokes its grant, for any client and any verifier", async () => {
  for (
    const change of [{ code_verifier: "w".repeat(43) }, { redirect_uri: "https://x.example/" }]
  ) {
    using w = oauthWorld();
    const app = await App.register(w), thief = await App.register(w);
    const code = await authorizationCode(app);
    const { access_token } = await parseTokens(await app.redeem(code));
    assert.deepEqual(await oauthError(await thief.redeem(code, change)), [400, "invalid_grant"]);
    assert.equal(tokenService(w).check(access_token), undefined);
  }
});

Deno.test("an access token is valid for 15 minutes [8.relay.access-token]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { access_token } = await app.connect();
  const { check } = tokenService(w);
  await w.clock.advance(15 * MINUTE_MS - 1);
  assert.ok(check(access_token));
  await w.clock.advance(1);
  assert.equal(check(access_token), undefined);
});

Deno.test("a grant ends 30 days after the consent, even if it was refreshed [8.relay.grant]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  let { refresh_token } = await app.connect();
  for (let day = 0; day < 29; day++) {
    await w.clock.advance(DAY_MS);
    ({ refresh_token } = await parseTokens(await app.refresh(refresh_token)));
  }
  await w.clock.advance(DAY_MS - 5 * MINUTE_MS);
  const last = await parseTokens(await app.refresh(refresh_token));
  assert.equal(last.expires_in, 300);
  await w.clock.advance(5 * MINUTE_MS - 1);
  assert.ok(tokenService(w).check(last.access_token));
  await w.clock.advance(1);
  assert.equal(tokenService(w).check(last.access_token), undefined);
  assert.deepEqual(await oauthError(await app.refresh(last.refresh_token)), [400, "invalid_grant"]);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
  assert.equal(countRows(w.db, "oauth_refresh_tokens"), 0);
});

Deno.test("errors and tokens have no-store headers [5.oauth.no-store]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const responses = [
    await app.redeem(await authorizationCode(app)),
    await app.redeem("none"),
    await app.revoke("none"),
    await w.postJson("/oauth/register", {}),
    await w.postForm("/oauth/token", "", { "content-type": "text/plain" }),
    await new Person(w).visit(app.authorizePath({ scope: "x" })),
    await new Person(w).visit(app.authorizePath({ client_id: "x" })),
  ];
  for (const { headers } of responses) assert.equal(headers.get("cache-control"), "no-store");
});

Deno.test("a wrong method is a 405 with Allow", async () => {
  using w = oauthWorld();
  for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/register"]) {
    const response = await w.fetch(path);
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST");
  }
});

Deno.test("the database file contains digests and no credentials [5.oauth.hashes]", async () => {
  using folder = temporary();
  const path = `${folder.path}/mesh.db`;
  const { openDatabase } = await import("../../../relay/app/database.ts");
  using quiet = oauthWorld();
  using w = oauthWorld({ db: openDatabase(path, ISSUER, quiet) });
  const app = await App.register(w);
  const person = new Person(w);
  const request = await person.formFor(app);
  const answer = await person.decide(request, "allow", SECRET);
  const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
  const first = await parseTokens(await app.redeem(code));
  const second = await parseTokens(await app.refresh(first.refresh_token));
  w.db.checkpoint();
  const secrets = [SECRET, code, VERIFIER, request, ...person.cookies.values()];
  for (const { access_token, refresh_token } of [first, second]) {
    secrets.push(access_token, refresh_token);
  }
  for (const file of [path, `${path}-wal`]) {
    const stored = new TextDecoder("latin1").decode(await Deno.readFile(file));
    for (const secret of secrets) assert.ok(!stored.includes(secret), `${file}: ${secret}`);
    assert.ok(file !== path || stored.includes(app.client_id), "the file is really read");
  }
  for (const line of w.logged) {
    for (const secret of secrets) assert.ok(!line.includes(secret), line);
  }
});

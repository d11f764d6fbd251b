/** Refresh and revocation: rotation, narrowing, replay, and the revocation of grants. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import {
  ALL_SCOPES,
  App,
  oauthError,
  oauthWorld,
  parseTokens,
  Person,
  READ_SCOPE,
  RESOURCE,
  SECRET,
  tokenService,
} from "../../support/relay/oauth_world.ts";

type Change = Record<string, string | undefined>;

async function authorizationCode(app: App, change: Change = {}): Promise<string> {
  return (await new Person(app.world).allow(app, change)).searchParams.get("code") ?? "";
}

Deno.test("a refresh token can be used once, and each exchange returns a new one [5.oauth.refresh.rotates]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const first = await app.connect();
  const second = await parseTokens(await app.refresh(first.refresh_token));
  assert.notEqual(second.refresh_token, first.refresh_token);
  assert.notEqual(second.access_token, first.access_token);
  const { check } = tokenService(w);
  assert.ok(check(first.access_token), "an access token stays valid after a refresh");
  assert.ok(check(second.access_token));
});

Deno.test("a consumed refresh token revokes the grant and all its tokens [7.relay.refresh-reused] [5.oauth.refresh.reuse]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const other = await app.connect();
  const first = await app.connect();
  const second = await parseTokens(await app.refresh(first.refresh_token));
  await w.clock.advance(DAY_MS);
  const third = await parseTokens(await app.refresh(second.refresh_token));
  assert.deepEqual(await oauthError(await app.refresh(first.refresh_token)), [
    400,
    "invalid_grant",
  ]);
  const { check } = tokenService(w);
  assert.equal(check(third.access_token), undefined);
  for (const { refresh_token } of [first, second, third]) {
    assert.deepEqual(await oauthError(await app.refresh(refresh_token)), [400, "invalid_grant"]);
  }
  await parseTokens(await app.refresh(other.refresh_token));
});

Deno.test("a second use of a refresh token revokes its grant, for any client and any scope", async () => {
  using w = oauthWorld();
  const app = await App.register(w), thief = await App.register(w);
  const first = await app.connect();
  const second = await parseTokens(await app.refresh(first.refresh_token));
  const stolen = await thief.refresh(first.refresh_token, { scope: "everything" });
  assert.deepEqual(await oauthError(stolen), [400, "invalid_grant"]);
  assert.equal(tokenService(w).check(second.access_token), undefined);
});

/** Mistakes in a refresh, after which the token stays valid. */
// deno-fmt-ignore
const BAD_REFRESHES: readonly [what: string, change: Change, status: number, error: string][] = [
  ["no refresh_token",           { refresh_token: undefined },          400, "invalid_request"],
  ["an unknown refresh_token",   { refresh_token: `mesh_rt_${"0".repeat(43)}` }, 400, "invalid_grant"],
  ["no client_id",               { client_id: undefined },              400, "invalid_request"],
  ["an unknown client",          { client_id: `mc_${"z".repeat(22)}` }, 401, "invalid_client"],
  ["another resource",           { resource: `${RESOURCE}/` },          400, "invalid_target"],
  ["a scope without reading",    { scope: "agents:write" },             400, "invalid_scope"],
  ["the issuer as the resource", { resource: new URL(RESOURCE).origin },      400, "invalid_target"],
  ["unknown scopes only",        { scope: "offline_access" },                 400, "invalid_scope"],
  ["a wider scope",              { scope: ALL_SCOPES },                       400, "invalid_scope"],
];

for (const [what, change, status, error] of BAD_REFRESHES) {
  Deno.test(`a refresh with ${what} is ${error}, and the token stays valid [4.oauth.token]`, async () => {
    using w = oauthWorld();
    const app = await App.register(w);
    const { refresh_token } = await app.connect({ scope: READ_SCOPE });
    assert.deepEqual(await oauthError(await app.refresh(refresh_token, change)), [status, error]);
    await parseTokens(await app.refresh(refresh_token));
  });
}

Deno.test("a refresh without a resource is for the resource of the grant [c11.oauth.resource]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  let { refresh_token } = await app.connect();
  for (const resource of [undefined, "", RESOURCE]) {
    const tokens = await parseTokens(await app.refresh(refresh_token, { resource }));
    assert.ok(tokenService(w).check(tokens.access_token));
    ({ refresh_token } = tokens);
  }
});

Deno.test("a refresh token is refused for another client", async () => {
  using w = oauthWorld();
  const app = await App.register(w), thief = await App.register(w);
  const { refresh_token, access_token } = await app.connect();
  assert.deepEqual(await oauthError(await thief.refresh(refresh_token)), [400, "invalid_grant"]);
  assert.ok(tokenService(w).check(access_token));
  await parseTokens(await app.refresh(refresh_token));
});

Deno.test("codes, access tokens and refresh tokens are not interchangeable", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const code = await authorizationCode(app);
  const { check } = tokenService(w);
  assert.equal(check(code), undefined);
  assert.deepEqual(await oauthError(await app.refresh(code)), [400, "invalid_grant"]);
  const { access_token, refresh_token } = await parseTokens(await app.redeem(code));
  for (const token of [refresh_token, access_token.slice(0, -1), "", " ", SECRET, app.client_id]) {
    assert.equal(check(token), undefined, token);
  }
  assert.deepEqual(await oauthError(await app.refresh(access_token)), [400, "invalid_grant"]);
  assert.deepEqual(await oauthError(await app.redeem(refresh_token)), [400, "invalid_grant"]);
  assert.ok(check(access_token));
});

Deno.test("narrowing the scope is permanent, and applies to older access tokens [5.oauth.scope.narrow]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const wide = await app.connect({ scope: ALL_SCOPES });
  const narrow = await parseTokens(await app.refresh(wide.refresh_token, { scope: READ_SCOPE }));
  assert.equal(narrow.scope, READ_SCOPE);
  const { check } = tokenService(w);
  for (const { access_token } of [wide, narrow]) {
    assert.equal(check(access_token)?.scope, READ_SCOPE);
  }
  const next = await app.refresh(narrow.refresh_token, { scope: ALL_SCOPES });
  assert.deepEqual(await oauthError(next), [400, "invalid_scope"]);
  assert.equal((await parseTokens(await app.refresh(narrow.refresh_token))).scope, READ_SCOPE);
});

Deno.test("only a new connection adds the write scope [5.oauth.scope.reconnect]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect({ scope: READ_SCOPE });
  assert.deepEqual(await oauthError(await app.refresh(refresh_token, { scope: ALL_SCOPES })), [
    400,
    "invalid_scope",
  ]);
  assert.equal((await app.connect({ scope: ALL_SCOPES })).scope, ALL_SCOPES);
});

Deno.test("a refresh keeps the asker, and a new grant has another [5.oauth.identity]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { check } = tokenService(w);
  const first = await app.connect();
  const asker = check(first.access_token)?.asker;
  const next = await parseTokens(await app.refresh(first.refresh_token, { scope: READ_SCOPE }));
  assert.equal(check(next.access_token)?.asker, asker);
  const again = await app.connect();
  assert.notEqual(check(again.access_token)?.asker, asker);
  assert.match(check(again.access_token)?.asker ?? "", /^mcp-[0-9a-f]{12}$/);
});

Deno.test("a new asker is unique", async () => {
  const drawn = ["mcp-00000000000a", "mcp-00000000000a", "mcp-00000000000b"];
  using plain = oauthWorld();
  const ids = { ...plain.ids, next: () => drawn.shift() ?? "mcp-ffffffffffff" };
  using w = oauthWorld({ ids });
  const app = await App.register(w);
  const { check } = tokenService(w);
  const askers = [await app.connect(), await app.connect()]
    .map(({ access_token }) => check(access_token)?.asker);
  assert.deepEqual(askers, ["mcp-00000000000a", "mcp-00000000000b"]);
});

Deno.test("a refresh works while every daemon is offline [5.oauth.refresh.offline]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  w.onlineNamespaces.clear();
  await parseTokens(await app.refresh(refresh_token));
});

Deno.test("revoking a refresh token revokes the grant at once [4.oauth.revoke] [5.relay.revoked]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const first = await app.connect();
  const second = await parseTokens(await app.refresh(first.refresh_token));
  const response = await app.revoke(second.refresh_token, { token_type_hint: "access_token" });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const { check } = tokenService(w);
  for (const { access_token } of [first, second]) assert.equal(check(access_token), undefined);
  assert.deepEqual(await oauthError(await app.refresh(second.refresh_token)), [
    400,
    "invalid_grant",
  ]);
  assert.equal((await app.revoke(second.refresh_token)).status, 200);
});

Deno.test("revoking a consumed refresh token revokes the grant, too [4.oauth.revoke]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const first = await app.connect();
  const second = await parseTokens(await app.refresh(first.refresh_token));
  assert.equal((await app.revoke(first.refresh_token)).status, 200);
  assert.equal(tokenService(w).check(second.access_token), undefined);
});

Deno.test("revoking an access token revokes only that token [4.oauth.revoke]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const first = await app.connect();
  const second = await parseTokens(await app.refresh(first.refresh_token));
  assert.equal((await app.revoke(second.access_token)).status, 200);
  const { check } = tokenService(w);
  assert.equal(check(second.access_token), undefined);
  assert.ok(check(first.access_token));
  await parseTokens(await app.refresh(second.refresh_token));
});

Deno.test("revoking is always a 200, and affects only tokens of the client [4.oauth.revoke]", async () => {
  using w = oauthWorld();
  const app = await App.register(w), thief = await App.register(w);
  const { access_token, refresh_token } = await app.connect();
  for (const token of [access_token, refresh_token, "nothing", `mesh_rt_${"0".repeat(43)}`]) {
    assert.equal((await thief.revoke(token)).status, 200);
    assert.equal((await app.revoke(token, { client_id: "mc_unknown" })).status, 200);
  }
  assert.ok(tokenService(w).check(access_token));
  await parseTokens(await app.refresh(refresh_token));
});

Deno.test("revoking needs a token and no client_id [4.oauth.revoke]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  assert.deepEqual(await oauthError(await app.revoke("")), [400, "invalid_request"]);
  const { access_token, refresh_token } = await app.connect();
  assert.equal((await app.revoke(refresh_token, { client_id: undefined })).status, 200);
  assert.equal(tokenService(w).check(access_token), undefined);
});

/** `/api/v1/apps`: an owner lists and revokes the apps of the secret, as data. */

import assert from "node:assert/strict";
import * as z from "zod";
import { listApps } from "protocol/relay/apps.ts";
import {
  ALL_SCOPES,
  App,
  ISSUER,
  oauthError,
  type OAuthWorld,
  oauthWorld,
  OTHER_SECRET,
  parseTokens,
  READ_SCOPE,
  SECRET,
} from "../../support/relay/oauth_world.ts";

const PATH = "/api/v1/apps";
const SAME_ORIGIN = { origin: ISSUER, "sec-fetch-site": "same-origin" };
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

async function appsOf(w: OAuthWorld, headers: Record<string, string>) {
  const answer = await w.fetch(PATH, { headers });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  return listApps.returns.parse(await answer.json()).apps;
}

async function send(w: OAuthWorld, method: string, path: string, headers: Record<string, string>) {
  const answer = await w.fetch(path, { method, headers });
  const body = z.object({ error: z.string().optional() }).parse(await answer.json());
  return [answer.status, body.error];
}

async function signIn(w: OAuthWorld): Promise<string> {
  const answer = await w.postForm("/login", { secret: SECRET }, { origin: ISSUER });
  return answer.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
}

Deno.test("the apps of a secret are listed with what each may do, to its owner only", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await app.connect({ scope: ALL_SCOPES });
  await w.clock.advance(1000);
  await app.connect({ scope: READ_SCOPE });
  const found = await appsOf(w, bearer(SECRET));
  assert.deepEqual(found.map(({ scope }) => scope), [READ_SCOPE, ALL_SCOPES]);
  assert.deepEqual(found.map(({ client_name }) => client_name), ["An app", "An app"]);
  const [newest] = found;
  assert.ok(newest && newest.expires_at > newest.granted_at);
  assert.deepEqual(await appsOf(w, bearer(OTHER_SECRET)), []);
  const cookie = await signIn(w);
  assert.deepEqual(await appsOf(w, { cookie, ...SAME_ORIGIN }), found);
  assert.ok(!JSON.stringify(found).includes("namespace"));
});

Deno.test("revoking an app ends its tokens; a second time it is unknown", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  const [{ grant_id } = { grant_id: "" }] = await appsOf(w, bearer(SECRET));
  const path = `${PATH}/${grant_id}`;
  assert.deepEqual(await send(w, "DELETE", path, bearer(OTHER_SECRET)), [404, "unknown_app"]);
  assert.deepEqual(await send(w, "DELETE", path, bearer(SECRET)), [200, undefined]);
  assert.deepEqual(await oauthError(await app.refresh(refresh_token)), [400, "invalid_grant"]);
  assert.deepEqual(await send(w, "DELETE", path, bearer(SECRET)), [404, "unknown_app"]);
  assert.deepEqual(await appsOf(w, bearer(SECRET)), []);
});

Deno.test("an app is revoked only with the secret, or by a page of a session with it", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  const [{ grant_id } = { grant_id: "" }] = await appsOf(w, bearer(SECRET));
  const cookie = await signIn(w);
  // deno-fmt-ignore
  const refused: [why: string, headers: Record<string, string>, status: number][] = [
    ["nobody",                     {},                                                401],
    ["no secret, but a cookie",    { authorization: "Bearer x", cookie },             401],
    ["a cookie from another page", { cookie, origin: "https://evil.example" },        403],
    ["a cookie from nowhere",      { cookie },                                        403],
    ["another session's form",     { cookie, ...SAME_ORIGIN, "x-mesh-form-token": "x" }, 403],
  ];
  for (const [why, headers, status] of refused) {
    assert.equal((await send(w, "DELETE", `${PATH}/${grant_id}`, headers))[0], status, why);
  }
  await parseTokens(await app.refresh(refresh_token));
  const headers = { cookie, ...SAME_ORIGIN };
  assert.deepEqual(await send(w, "DELETE", `${PATH}/${grant_id}`, headers), [200, undefined]);
});

Deno.test("a failing database is a 503, and not an empty list", async () => {
  using w = oauthWorld();
  w.db.transact((tx) => tx.run("alter table oauth_grants rename to lost_grants"));
  const owner = bearer(SECRET);
  assert.deepEqual(await send(w, "GET", PATH, owner), [503, "storage_failed"]);
  assert.deepEqual(await send(w, "DELETE", `${PATH}/mg_x`, owner), [503, "storage_failed"]);
});

/** `/oauth/connections`: a signed-in person lists and revokes the grants of the secret. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import {
  ALL_SCOPES,
  App,
  countRows,
  hiddenField,
  oauthError,
  oauthWorld,
  OTHER_SECRET,
  parseTokens,
  Person,
  READ_SCOPE,
} from "../../../support/relay/oauth_world.ts";

const PATH = "/oauth/connections";

function grantsIn(text: string): string[] {
  return [...text.matchAll(/name="grant_id" value="(mg_[^"]+)"/g)].map(([, id = ""]) => id);
}

Deno.test("without a session, connections are neither shown nor revoked [4.oauth.connections]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  const stranger = new Person(w);
  const page = await stranger.visit(PATH);
  assert.equal(page.status, 403);
  const text = await page.text();
  assert.deepEqual(grantsIn(text), []);
  assert.match(text, /<a href="\/">Sign in/);
  const owner = new Person(w);
  await owner.signIn();
  const [grant_id] = grantsIn(await (await owner.visit(PATH)).text());
  const ended = await stranger.submit(PATH, { grant_id, form_token: "x" });
  assert.equal(ended.status, 403);
  await parseTokens(await app.refresh(refresh_token));
});

Deno.test("only the grants of the session's secret are listed [4.oauth.connections]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await app.connect({ scope: ALL_SCOPES });
  await w.clock.advance(1000);
  await app.connect({ scope: READ_SCOPE });
  const person = new Person(w), other = new Person(w);
  await new Person(w).allow(app); // Its code is not exchanged yet, so it is no connection.
  await person.signIn();
  await other.signIn(OTHER_SECRET);
  const text = await (await person.visit(PATH)).text();
  assert.equal(grantsIn(text).length, 2);
  assert.match(text, /An app<\/strong> may read\s[\s\S]*An app<\/strong> may read and send/);
  assert.match(await (await other.visit(PATH)).text(), /No app is connected/);
});

Deno.test("revoking a connection revokes the grant with all its tokens [4.oauth.connections] [5.relay.revoked]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const ended = await app.connect();
  await w.clock.advance(1000);
  const kept = await app.connect();
  const person = new Person(w);
  await person.signIn();
  const text = await (await person.visit(PATH)).text();
  const grant_id = grantsIn(text)[1]; // The newest is first.
  const form_token = hiddenField(text, "form_token");
  const answer = await person.submit(PATH, { grant_id, form_token });
  assert.equal(answer.status, 303);
  assert.equal(answer.headers.get("location"), PATH);
  assert.deepEqual(await oauthError(await app.refresh(ended.refresh_token)), [
    400,
    "invalid_grant",
  ]);
  await parseTokens(await app.refresh(kept.refresh_token));
  assert.equal(grantsIn(await (await person.visit(PATH)).text()).length, 1);
  // A repetition or an unknown grant has no effect.
  for (const again of [grant_id, "mg_none"]) {
    assert.equal((await person.submit(PATH, { grant_id: again, form_token })).status, 303);
  }
});

Deno.test("a grant of another secret cannot be revoked", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await app.connect();
  const owner = new Person(w), other = new Person(w);
  await owner.signIn();
  await other.signIn(OTHER_SECRET);
  const [grant_id] = grantsIn(await (await owner.visit(PATH)).text());
  const code = (await other.allow(app, {}, OTHER_SECRET)).searchParams.get("code");
  await parseTokens(await app.redeem(code ?? ""));
  const form_token = hiddenField(await (await other.visit(PATH)).text(), "form_token");
  await other.submit(PATH, { grant_id, form_token });
  assert.equal(countRows(w.db, "oauth_grants", "state = 'revoked'"), 0);
});

Deno.test("only a form of the same session revokes a grant [c9.oauth.pages]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await app.connect();
  const person = new Person(w), twin = new Person(w);
  await person.signIn();
  await twin.signIn();
  const [grant_id] = grantsIn(await (await person.visit(PATH)).text());
  const text = await (await person.visit(PATH)).text();
  const form_token = hiddenField(text, "form_token");
  const otherFormToken = hiddenField(await (await twin.visit(PATH)).text(), "form_token");
  const tries: [Record<string, string | undefined>, Record<string, string>][] = [
    [{ grant_id }, {}],
    [{ grant_id, form_token: otherFormToken }, {}],
    [{ grant_id, form_token: "" }, {}],
    [{ grant_id, form_token }, { origin: "https://evil.example" }],
    [{ grant_id, form_token }, { "sec-fetch-site": "cross-site" }],
    [{ form_token }, {}],
  ];
  for (const [params, headers] of tries) {
    const { status } = await person.submit(PATH, params, headers);
    assert.ok(status === 400 || status === 403, `${status}`);
  }
  assert.equal(countRows(w.db, "oauth_grants", "state = 'active'"), 1);
  assert.equal((await person.submit(PATH, { grant_id, form_token })).status, 303);
  assert.equal(countRows(w.db, "oauth_grants", "state = 'active'"), 0);
});

Deno.test("an expired grant is not listed", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await app.connect();
  await w.clock.advance(30 * DAY_MS);
  const person = new Person(w);
  await person.signIn();
  assert.match(await (await person.visit(PATH)).text(), /No app is connected/);
});

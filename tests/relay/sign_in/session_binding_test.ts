/** Pages and forms are bound to the secret that they were opened under. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import {
  connectDaemon,
  cookieOf,
  form,
  ISSUER,
  relayFixture,
} from "../../support/relay/composed_relay.ts";
import {
  App,
  countRows,
  hiddenField,
  oauthWorld,
  OTHER_SECRET,
  Person,
  SECRET,
} from "../../support/relay/oauth_world.ts";
import { daemonId, NAMESPACE, relayWorld } from "../../support/relay/relay_world.ts";

const SAME_ORIGIN = { origin: ISSUER, "sec-fetch-site": "same-origin" };

Deno.test("a consent form shown under one secret cannot be allowed under another [c9.session.bound]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  await person.signIn(SECRET);
  const request = await person.formFor(app);
  await person.signIn(OTHER_SECRET);
  const answer = await person.decide(request, "allow");
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /another relay secret/);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
});

Deno.test("a consent form shown without a session does not use a later session [c9.session.bound]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const request = await person.formFor(app);
  await person.signIn(OTHER_SECRET);
  const answer = await person.decide(request, "allow");
  assert.equal(answer.status, 403);
  const text = await answer.text();
  assert.match(text, /<label for="relay_secret">/);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
  assert.equal((await person.decide(hiddenField(text, "request"), "allow", SECRET)).status, 303);
});

Deno.test("an entered secret takes precedence over the session [c9.session.bound]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  await person.signIn(SECRET);
  const request = await person.formFor(app);
  await person.signIn(OTHER_SECRET);
  assert.equal((await person.decide(request, "allow", SECRET)).status, 303);
  assert.equal(countRows(w.db, "oauth_grants", `namespace = '${namespaceOf(SECRET)}'`), 1);
});

Deno.test("a consent form stays valid after signing in again with the same secret", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  await person.signIn();
  const request = await person.formFor(app);
  await person.signIn();
  assert.equal((await person.decide(request, "allow")).status, 303);
});

Deno.test("a consent form whose session has ended asks for the secret", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  await person.signIn();
  const request = await person.formFor(app);
  await person.submit("/logout", {});
  const answer = await person.decide(request, "allow");
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /<label for="relay_secret">/);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
});

Deno.test("a denied consent form cannot be allowed, nor an allowed one denied [c9.oauth.decided]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const denied = await person.formFor(app), allowed = await person.formFor(app);
  const refused = await person.decide(denied, "deny");
  assert.match(await refused.text(), /<code>access_denied<\/code>/);
  assert.equal((await person.decide(allowed, "allow", SECRET)).status, 303);
  for (const [request, decision] of [[denied, "allow"], [denied, "deny"], [allowed, "deny"]]) {
    const answer = await person.decide(request ?? "", decision ?? "", SECRET);
    assert.equal(answer.status, 400);
    assert.equal(answer.headers.get("location"), null);
    assert.match(await answer.text(), /decided already/);
  }
  assert.equal(countRows(w.db, "oauth_grants"), 1);
});

Deno.test("a decided form is remembered until it would have expired", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  await person.decide(await person.formFor(app), "deny");
  assert.equal(countRows(w.db, "oauth_spent_forms"), 1);
  await w.clock.advance(10 * 60_000);
  await person.decide(await person.formFor(app), "deny");
  assert.equal(countRows(w.db, "oauth_spent_forms"), 1);
});

Deno.test("a connections form of one secret revokes nothing under another [c9.session.bound]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await app.connect();
  const person = new Person(w);
  await person.signIn(SECRET);
  const text = await (await person.visit("/oauth/connections")).text();
  const form_token = hiddenField(text, "form_token");
  const [, grant_id = ""] = /name="grant_id" value="([^"]+)"/.exec(text) ?? [];
  await person.signIn(OTHER_SECRET);
  const answer = await person.submit("/oauth/connections", { grant_id, form_token });
  assert.equal(answer.status, 403);
  assert.match(answer.headers.get("content-type") ?? "", /text\/html/);
  assert.equal(countRows(w.db, "oauth_grants", "state = 'active'"), 1);
});

Deno.test("a sign-out form of one secret does not end the session of another [c9.session.bound]", async () => {
  using w = oauthWorld({ ids: randomIds });
  const person = new Person(w);
  await person.signIn(SECRET);
  const form_token = hiddenField(await (await person.visit("/")).text(), "form_token");
  await person.signIn(OTHER_SECRET);
  const answer = await person.submit("/logout", { form_token });
  assert.equal(answer.status, 403);
  assert.match(answer.headers.get("content-type") ?? "", /text\/html/);
  assert.match(await answer.text(), /role="alert"/);
  assert.match(await (await person.visit("/")).text(), /You are signed in/);
});

/** Signs in twice in one browser; returns the first form token and the second cookie. */
async function switchNamespace(at: Awaited<ReturnType<typeof relayFixture>>) {
  const first = cookieOf(await at.send("/login", form({ secret: SECRET })));
  const request = new Request(at.base, { headers: { cookie: first } });
  const form_token = at.sessions.get(request)?.form_token ?? "";
  const cookie = cookieOf(
    await at.send("/login", form({ secret: OTHER_SECRET }, { cookie: first })),
  );
  return { cookie, form_token };
}

Deno.test("a page of one secret cannot create, list or revoke shares of another [c9.session.bound]", async () => {
  await using at = relayFixture({ ids: randomIds });
  await using _w = connectDaemon(at, "dm-000000000001", namespaceOf(OTHER_SECRET));
  const { cookie, form_token } = await switchNamespace(at);
  const headers = { cookie, ...SAME_ORIGIN, "x-mesh-form-token": form_token };
  for (const [method, path] of [["POST", ""], ["GET", ""], ["DELETE", "/sh_x"]] as const) {
    const answer = await at.send(`/api/v1/shares${path}`, { method, headers });
    assert.equal(answer.status, 403, method);
    assert.equal((await answer.json()).error, "forbidden_origin");
  }
});

Deno.test("a request to a machine with the form token of another session is refused [c9.session.bound]", async () => {
  await using r = relayWorld();
  await using _w = await r.daemon(1);
  const open = (namespace: string) => {
    const request = new Request("https://relay.test/");
    const [cookie = ""] = r.relay.sessions.open(namespace, request).split(";");
    const signed_in = new Request("https://relay.test/", { headers: { cookie } });
    return { cookie, form_token: r.relay.sessions.get(signed_in)?.form_token ?? "" };
  };
  const ownSession = open(NAMESPACE), other = open("n".repeat(64));
  const ask = async (form_token: string, path: string) => {
    const headers = {
      cookie: ownSession.cookie,
      "sec-fetch-site": "same-origin",
      "x-mesh-form-token": form_token,
    };
    return (await r.fetch(path, { headers })).status;
  };
  for (const path of [`/m/${daemonId(1)}/peers`, "/api/v1/daemons"]) {
    assert.equal(await ask(ownSession.form_token, path), 200);
    assert.equal(await ask(other.form_token, path), 403);
    assert.equal(await ask("", path), 403);
  }
});

/** Consent: the form, its binding to a browser, and the decision. */

import assert from "node:assert/strict";
import { DAY_MS, MINUTE_MS } from "kit/core/duration.ts";
import { randomIds } from "kit/core/clock.ts";
import { namespaceOf } from "../../../../relay/web/secrets.ts";
import {
  ALL_SCOPES,
  App,
  CALLBACK,
  countRows,
  hiddenField,
  ISSUER,
  oauthWorld,
  OTHER_SECRET,
  parseTokens,
  Person,
  READ_SCOPE,
  redirectError,
  redirectUrl,
  SECRET,
  tokenService,
} from "../../../support/relay/oauth_world.ts";

Deno.test("the consent page works without scripts and shows the claimed name of the app [5.oauth.consent]", async () => {
  using w = oauthWorld();
  const response = await w.postJson("/oauth/register", {
    redirect_uris: [CALLBACK],
    client_name: `<script>alert("1")</script>'`,
  });
  const app = new App(w, (await response.json()).client_id, CALLBACK);
  const page = await new Person(w).visit(app.authorizePath());
  const text = await page.text();
  assert.ok(!/<script/i.test(text));
  assert.match(text, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&#39;/);
  assert.match(text, /app\.example\.net/);
  assert.match(text, /<label for="relay_secret">/);
  assert.match(text, /<html lang="en">/);
  assert.match(text, /ask agents to work/);
});

Deno.test("pages cannot be framed, are not cached, and have no form-action [c9.oauth.pages]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const paths = [app.authorizePath(), "/oauth/authorize", "/oauth/connections"];
  await person.signIn();
  for (const path of paths) {
    const { headers } = await person.visit(path);
    const policy = headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.ok(!policy.includes("form-action"));
    assert.ok(!policy.includes("unsafe"));
    assert.equal(headers.get("referrer-policy"), "same-origin");
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-frame-options"), "DENY");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
  }
});

Deno.test("the browser's cookie is for this host only and not readable by scripts [5.oauth.consent.bound]", async () => {
  using secure = oauthWorld();
  const app = await App.register(secure);
  const page = await new Person(secure).visit(app.authorizePath());
  assert.match(
    page.headers.get("set-cookie") ?? "",
    /^__Host-mesh-consent=[^;]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  );
  using local = oauthWorld({ issuer: "http://127.0.0.1:8378" });
  const local_page = await new Person(local).visit((await App.register(local)).authorizePath());
  assert.match(
    local_page.headers.get("set-cookie") ?? "",
    /^mesh-consent=[^;]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
});

Deno.test("denying needs no secret and redirects to a program on this computer [5.oauth.consent]", async () => {
  using w = oauthWorld();
  const app = await App.register(w, "http://localhost:3000/cb");
  const person = new Person(w);
  const answer = redirectUrl(await person.decide(await person.formFor(app), "deny"));
  assert.equal(redirectError(answer), "access_denied");
  assert.equal(answer.searchParams.get("iss"), ISSUER);
  assert.equal(answer.searchParams.get("state"), "st 1");
  assert.equal(countRows(w.db, "oauth_grants"), 0);
});

Deno.test("denying a stranger does not lead to its address, but links there [c11.oauth.errors]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const page = await person.decide(await person.formFor(app), "deny");
  assert.deepEqual([page.status, page.headers.get("location")], [403, null]);
  const text = await page.text();
  assert.match(text, /role="alert">The person did not allow it/);
  assert.match(text, /href="https:\/\/app\.example\.net\/callback\?error=access_denied&amp;/);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
});

// deno-fmt-ignore
const CHOICES: readonly [requested: string, access: string | undefined, granted: string][] = [
  [ALL_SCOPES, undefined, ALL_SCOPES],
  [ALL_SCOPES, "write",   ALL_SCOPES],
  [ALL_SCOPES, "read",    READ_SCOPE],
  [READ_SCOPE, "read",    READ_SCOPE],
  [READ_SCOPE, "write",   READ_SCOPE],
];

for (const [scope, access, granted] of CHOICES) {
  Deno.test(`a person who selects ${access} for ${scope} allows ${granted} [c11.oauth.read-only]`, async () => {
    using w = oauthWorld();
    const app = await App.register(w);
    const person = new Person(w);
    const request = await person.formFor(app, { scope });
    const form = { request, decision: "allow", relay_secret: SECRET, access };
    const answer = redirectUrl(await person.submit("/oauth/authorize", form));
    const tokens = await parseTokens(await app.redeem(answer.searchParams.get("code") ?? ""));
    assert.equal(tokens.scope, granted);
    assert.equal(tokenService(w).check(tokens.access_token)?.scope, granted);
    const refreshed = await parseTokens(await app.refresh(tokens.refresh_token));
    assert.equal(refreshed.scope, granted);
  });
}

Deno.test("read only is offered if the app requests to send, and stays selected when the form is shown again [c11.oauth.read-only]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const selected = (text: string) => /name="access" value="(\w+)"\s+checked/.exec(text)?.[1];
  const text = await (await person.visit(app.authorizePath())).text();
  assert.match(text, /Read only/);
  assert.equal(selected(text), "write");
  const request = hiddenField(text, "request");
  const form = { request, decision: "allow", relay_secret: "wrong", access: "read" };
  assert.equal(selected(await (await person.submit("/oauth/authorize", form)).text()), "read");
  const reading = await person.visit(app.authorizePath({ scope: READ_SCOPE }));
  assert.ok(!(await reading.text()).includes('name="access"'));
});

Deno.test("an unknown access allows nothing, and the form stays open [c11.oauth.read-only]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const request = await person.formFor(app);
  for (const access of ["admin", "Read", "read write", "agents:read"]) {
    const form = { request, decision: "allow", relay_secret: SECRET, access };
    assert.equal((await person.submit("/oauth/authorize", form)).status, 400, access);
  }
  assert.equal(countRows(w.db, "oauth_grants"), 0);
  assert.equal((await person.decide(request, "allow", SECRET)).status, 303);
});

// deno-fmt-ignore
const FORGED: readonly [what: string, headers: Record<string, string>][] = [
  ["another site's form",      { origin: "https://evil.example" }],
  ["an origin that is null",   { origin: "null" }],
  ["a plain http origin",      { origin: "http://relay.example.com" }],
  ["a sibling's form",         { "sec-fetch-site": "same-site" }],
  ["a cross-site form",        { "sec-fetch-site": "cross-site" }],
];

for (const [what, headers] of FORGED) {
  Deno.test(`${what} allows nothing [5.oauth.consent.bound]`, async () => {
    using w = oauthWorld();
    const app = await App.register(w);
    const person = new Person(w);
    const request = await person.formFor(app);
    const form = { request, decision: "allow", relay_secret: SECRET };
    const response = await person.submit("/oauth/authorize", form, headers);
    assert.equal(response.status, 403);
    assert.equal(response.headers.get("location"), null);
    assert.equal(countRows(w.db, "oauth_grants"), 0);
  });
}

Deno.test("a form is valid only in the browser that it was shown in [5.oauth.consent.bound]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const attacker = new Person(w), victim = new Person(w), fresh = new Person(w);
  const request = await attacker.formFor(app);
  await victim.formFor(app);
  for (const person of [victim, fresh]) {
    await person.signIn();
    const response = await person.decide(request, "allow", SECRET);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /expired or belongs to another browser/);
  }
  assert.equal((await victim.decide(request, "deny")).status, 400);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
});

Deno.test("two forms in one browser are independent", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const first = await person.formFor(app), second = await person.formFor(app);
  for (const request of [first, second]) {
    assert.match(
      redirectUrl(await person.decide(request, "allow", SECRET)).search,
      /code=mesh_ac_/,
    );
  }
});

Deno.test("a form can be allowed once [5.oauth.consent.bound]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const request = await person.formFor(app);
  assert.equal((await person.decide(request, "allow", SECRET)).status, 303);
  await w.clock.advance(2 * MINUTE_MS);
  assert.equal((await person.decide(request, "allow", SECRET)).status, 400);
});

Deno.test("a form is valid for ten minutes [8.relay.consent]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const early = await person.formFor(app), late = await person.formFor(app);
  await w.clock.advance(10 * MINUTE_MS - 1);
  assert.equal((await person.decide(early, "allow", SECRET)).status, 303);
  await w.clock.advance(1);
  assert.equal((await person.decide(late, "allow", SECRET)).status, 400);
  assert.equal((await person.decide(late, "deny")).status, 400);
});

Deno.test("a changed form, or one of another process, is refused", async () => {
  using w = oauthWorld();
  using other = oauthWorld({ ids: randomIds });
  const app = await App.register(w);
  const person = new Person(w);
  const request = await person.formFor(app);
  const stranger = new Person(other);
  const foreign = await stranger.formFor(await App.register(other));
  const middle = Math.floor(request.length / 2);
  const letter = request[middle] === "A" ? "B" : "A";
  const changed = `${request.slice(0, middle)}${letter}${request.slice(middle + 1)}`;
  for (const forged of [changed, foreign, "", "x", "a.b.c.d.e", `${request}x`]) {
    assert.equal((await person.decide(forged, "allow", SECRET)).status, 400, forged);
  }
  assert.equal(countRows(w.db, "oauth_grants"), 0);
});

Deno.test("a decision must be allow or deny, once, in a posted form", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const request = await person.formFor(app);
  for (const decision of ["", "yes", "Allow"]) {
    assert.equal((await person.decide(request, decision, SECRET)).status, 400);
  }
  const cookie = [...person.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const body = `request=${request}&relay_secret=${SECRET}&decision=deny&decision=allow`;
  assert.equal((await w.postForm("/oauth/authorize", body, { cookie })).status, 400);
  const json = { method: "POST", headers: { cookie }, body: JSON.stringify({ request }) };
  assert.equal((await w.fetch("/oauth/authorize", json)).status, 400);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
  // A program that acts for a person may omit the Origin header.
  const plain = { request, relay_secret: SECRET, decision: "allow" };
  assert.equal((await w.postForm("/oauth/authorize", plain, { cookie })).status, 303);
});

Deno.test("a client or a redirect URI that has expired since gets no code", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  await w.clock.advance(DAY_MS - MINUTE_MS);
  const request = await person.formFor(app);
  await w.clock.advance(MINUTE_MS);
  const response = await person.decide(request, "allow", SECRET);
  assert.equal(response.status, 400);
  assert.match(await response.text(), /remove and re-add the connector/);
});

// deno-fmt-ignore
const NO_SECRETS = ["", " ", "mesh_sk_", `mesh_sk_${"a".repeat(42)}`, `${SECRET}a`, "password", `mesh_sk_${"ä".repeat(43)}`];

for (const secret of NO_SECRETS) {
  Deno.test(`"${secret}" is not a relay secret, and the form is shown again [5.oauth.secret.namespace]`, async () => {
    using w = oauthWorld();
    const app = await App.register(w);
    const person = new Person(w);
    const request = await person.formFor(app);
    const response = await person.decide(request, "allow", secret);
    assert.equal(response.status, 403);
    const text = await response.text();
    assert.match(text, /role="alert">That is not a relay secret/);
    assert.equal(hiddenField(text, "request"), request);
    assert.ok(secret.length < 10 || !text.includes(secret));
    assert.equal((await person.decide(request, "allow", ` ${SECRET}\n`)).status, 303);
  });
}

Deno.test("the first authorization of a secret needs a connected daemon [5.oauth.first-online]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  w.onlineNamespaces.clear();
  w.onlineNamespaces.add(namespaceOf(OTHER_SECRET));
  const request = await person.formFor(app);
  const response = await person.decide(request, "allow", SECRET);
  assert.equal(response.status, 403);
  assert.match(await response.text(), /No machine with this relay secret is online/);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
  w.onlineNamespaces.add(namespaceOf(SECRET));
  const code = redirectUrl(await person.decide(request, "allow", SECRET)).searchParams.get("code");
  w.onlineNamespaces.clear();
  await parseTokens(await app.redeem(code ?? ""));
  assert.match((await new Person(w).allow(app)).search, /code=/);
});

Deno.test("a grant that was not exchanged does not prove the secret [5.oauth.first-online]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await new Person(w).allow(app);
  w.onlineNamespaces.clear();
  const person = new Person(w);
  assert.equal((await person.decide(await person.formFor(app), "allow", SECRET)).status, 403);
});

Deno.test("a signed-in browser need not enter the secret [5.oauth.consent]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  await person.signIn(OTHER_SECRET);
  const text = await (await person.visit(app.authorizePath())).text();
  assert.ok(!text.includes("relay_secret"));
  const answer = await person.decide(hiddenField(text, "request"), "allow");
  await parseTokens(await app.redeem(redirectUrl(answer).searchParams.get("code") ?? ""));
  assert.equal(countRows(w.db, "oauth_grants", `namespace = '${namespaceOf(OTHER_SECRET)}'`), 1);
});

Deno.test("a browser without a session must enter the secret", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const response = await person.decide(await person.formFor(app), "allow");
  assert.equal(response.status, 403);
  assert.equal(countRows(w.db, "oauth_grants"), 0);
});

Deno.test("the default scope is read-only [5.oauth.scope.default]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const text = await (await new Person(w).visit(app.authorizePath({ scope: undefined }))).text();
  assert.ok(!/ask agents to work/.test(text));
  for (const scope of [undefined, "", READ_SCOPE]) {
    assert.equal((await app.connect({ scope })).scope, READ_SCOPE);
  }
  for (const scope of [ALL_SCOPES, "agents:write agents:read", ` ${ALL_SCOPES}  ${READ_SCOPE}`]) {
    assert.equal((await app.connect({ scope })).scope, ALL_SCOPES);
  }
});

/** Creating secrets, and signing in with one. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { registerKey } from "protocol/relay/sign_in.ts";
import { SESSION_MS, SESSIONS_EACH_MAX, SESSIONS_MAX } from "../../../relay/sign_in/sessions.ts";
import { namespaceOf } from "../../../relay/web/secrets.ts";
import {
  cookieOf,
  form,
  ISSUER,
  NAMESPACE,
  OTHER_NAMESPACE,
  OTHER_SECRET,
  type RelayFixture,
  relayFixture,
  SECRET,
} from "../../support/relay/composed_relay.ts";

const SAME_ORIGIN = { origin: ISSUER, "sec-fetch-site": "same-origin" };

async function signIn(at: RelayFixture, secret = SECRET, headers: Record<string, string> = {}) {
  const response = await at.send("/login", form({ secret }, headers));
  assert.equal(response.status, 303);
  return cookieOf(response);
}

const signedIn = (at: RelayFixture, cookie: string) =>
  at.sessions.namespaceOf(new Request(at.base, { headers: { cookie } }));

// deno-fmt-ignore
const BODIES: [why: string, body: string | undefined][] = [
  ["nothing",                undefined],
  ["an owner's id",          JSON.stringify({ user_id: "user-1" })],
  ["a secret",               JSON.stringify({ secret: SECRET })],
  ["no JSON at all",         "{"],
];
for (const [why, body] of BODIES) {
  Deno.test(`a registration with ${why} returns a new secret [5.relay.register-fresh]`, async () => {
    await using at = relayFixture({ ids: randomIds });
    const draw = async () => {
      const response = await at.send("/api/v1/register", { method: "POST", body: body ?? null });
      assert.equal(response.headers.get("cache-control"), "no-store");
      return registerKey.returns.parse(await response.json()).secret;
    };
    const [first, second] = [await draw(), await draw()];
    assert.match(first, /^mesh_sk_[A-Za-z0-9_-]{43}$/);
    assert.notEqual(first, second);
    assert.notEqual(first, SECRET);
  });
}

Deno.test("the namespace is the SHA-256 of the whole secret with its prefix [5.relay.namespace]", () => {
  // printf 'mesh_sk_aaa…' | sha256sum
  assert.equal(
    namespaceOf(SECRET),
    "a9a6e60e98ca4201d59cf4ccdc047022550ba28fb90b0708e55ba87a02e69785",
  );
  assert.notEqual(namespaceOf(SECRET), namespaceOf(OTHER_SECRET));
});

// deno-fmt-ignore
const NO_SECRETS: [why: string, secret: string, found: RegExp][] = [
  ["nothing",                 "",                            /Found nothing/],
  ["blanks",                  "   ",                         /Found nothing/],
  ["no prefix",               "a".repeat(43),                /Found 43 other letters/],
  ["a letter too few",        `mesh_sk_${"a".repeat(42)}`,   /Found mesh_sk_ and 42 other letters/],
  ["a letter too many",       `mesh_sk_${"a".repeat(44)}`,   /Found mesh_sk_ and 44 other letters/],
  ["another alphabet",        `mesh_sk_${"=".repeat(43)}`,   /Found mesh_sk_ and 43 other letters/],
  ["markup",                  `<script>alert(1)</script>`,   /Found 25 other letters/],
];
for (const [why, secret, found] of NO_SECRETS) {
  Deno.test(`a malformed secret is refused and not shown: ${why}`, async () => {
    await using at = relayFixture();
    const response = await at.send("/login", form({ secret }));
    assert.equal(response.status, 422);
    const text = await response.text();
    assert.match(text, found);
    if (secret.trim() !== "") assert.ok(!text.includes(secret));
    assert.equal(response.headers.get("set-cookie"), null);
  });
}

Deno.test("a browser signs in with the secret and receives a random cookie [5.relay.browser]", async () => {
  await using at = relayFixture({ ids: randomIds });
  const response = await at.send("/login", form({ secret: SECRET }, SAME_ORIGIN));
  assert.deepEqual([response.status, response.headers.get("location")], [303, "/dashboard"]);
  const setCookie = response.headers.get("set-cookie") ?? "";
  assert.match(
    setCookie,
    /^__Host-mesh=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400; Secure$/,
  );
  const cookie = cookieOf(response);
  assert.ok(!setCookie.includes(SECRET) && !setCookie.includes(NAMESPACE));
  assert.equal(signedIn(at, cookie), NAMESPACE);
  assert.equal(signedIn(at, cookie.slice(0, -1)), undefined);
});

Deno.test("on loopback the cookie has no __Host- prefix, which http does not allow", async () => {
  await using at = relayFixture({ issuer: null });
  const response = await at.send("/login", form({ secret: SECRET }));
  assert.match(
    response.headers.get("set-cookie") ?? "",
    /^mesh=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400$/,
  );
  assert.equal(signedIn(at, cookieOf(response)), NAMESPACE);
});

Deno.test("without an issuer, every host but loopback is treated as HTTPS", async () => {
  await using at = relayFixture({ issuer: null });
  const request = new Request("http://relay.lan/login", form({ secret: SECRET }));
  const cookie = (await at.fetch(request)).headers.get("set-cookie") ?? "";
  assert.match(cookie, /^__Host-mesh=.*; Secure$/);
});

Deno.test("a session ends after a day, even if it was used", async () => {
  await using at = relayFixture();
  const cookie = await signIn(at);
  await at.clock.advance(SESSION_MS - 1);
  assert.equal(signedIn(at, cookie), NAMESPACE);
  await at.clock.advance(1);
  assert.equal(signedIn(at, cookie), undefined);
  at.sessions.tick();
  assert.equal(signedIn(at, cookie), undefined);
});

Deno.test("signing in again in the same browser ends the previous session", async () => {
  await using at = relayFixture();
  const first = await signIn(at);
  const second = await signIn(at, OTHER_SECRET, { cookie: first });
  assert.equal(signedIn(at, first), undefined);
  assert.equal(signedIn(at, second), OTHER_NAMESPACE);
});

Deno.test("sessions are limited per secret, and the oldest is evicted", async () => {
  await using at = relayFixture();
  const cookies: string[] = [];
  for (let n = 0; n <= SESSIONS_EACH_MAX; n++) cookies.push(await signIn(at));
  const other = await signIn(at, OTHER_SECRET);
  const [first = "", second = ""] = cookies;
  assert.equal(signedIn(at, first), undefined);
  assert.equal(signedIn(at, second), NAMESPACE);
  assert.equal(signedIn(at, other), OTHER_NAMESPACE);
});

Deno.test("sessions are limited in total, and those with a machine are evicted last", async () => {
  await using at = relayFixture();
  at.machines.connect(NAMESPACE, "dm-1", () => Promise.resolve(new Response()));
  const { sessions } = at;
  const request = new Request(at.base);
  const cookiePair = (setCookie: string) => setCookie.split(";", 1)[0] ?? "";
  const ownSession = cookiePair(sessions.open(NAMESPACE, request));
  const strangers: string[] = [];
  for (let n = 0; n < SESSIONS_MAX; n++) {
    strangers.push(cookiePair(sessions.open(`n${n}`, request)));
  }
  const [first = "", second = ""] = strangers;
  assert.equal(signedIn(at, ownSession), NAMESPACE);
  assert.equal(signedIn(at, first), undefined);
  assert.equal(signedIn(at, second), "n1");
});

// deno-fmt-ignore
const FOREIGN: [why: string, headers: Record<string, string>][] = [
  ["another origin",        { origin: "https://evil.example" }],
  ["our name over http",    { origin: "http://relay.example" }],
  ["our name as a prefix",  { origin: "https://relay.example.evil.example" }],
  ["no origin to be told",  { origin: "null" }],
  ["another site",          { "sec-fetch-site": "cross-site" }],
  ["another subdomain",     { "sec-fetch-site": "same-site" }],
];
for (const [why, headers] of FOREIGN) {
  Deno.test(`a request of another page is refused: ${why}`, async () => {
    await using at = relayFixture();
    const cookie = await signIn(at);
    for (const path of ["/login", "/logout", "/api/v1/register"]) {
      const response = await at.send(path, form({ secret: SECRET }, { ...headers, cookie }));
      assert.equal(response.status, 403, path);
      assert.equal(response.headers.get("set-cookie"), null);
    }
    assert.equal(signedIn(at, cookie), NAMESPACE);
  });
}

Deno.test("signing out ends this session only", async () => {
  await using at = relayFixture();
  const [cookie, other] = [await signIn(at), await signIn(at)];
  const response = await at.send("/logout", form({}, { ...SAME_ORIGIN, cookie }));
  assert.deepEqual([response.status, response.headers.get("location")], [303, "/"]);
  assert.match(response.headers.get("set-cookie") ?? "", /^__Host-mesh=; .*Max-Age=0; Secure$/);
  assert.deepEqual([signedIn(at, cookie), signedIn(at, other)], [undefined, NAMESPACE]);
});

Deno.test("signing out needs the form token of the session", async () => {
  await using at = relayFixture({ ids: randomIds });
  const cookie = await signIn(at);
  const page = await (await at.send("/", { headers: { cookie } })).text();
  const form_token = /name="form_token"\s+value="([\w-]+)"/.exec(page)?.[1] ?? "";
  const forged = await at.send("/logout", form({ form_token: "x" }, { ...SAME_ORIGIN, cookie }));
  assert.equal(forged.status, 403);
  assert.equal(signedIn(at, cookie), NAMESPACE);
  assert.equal((await at.send("/logout", form({ form_token }, { cookie }))).status, 303);
  assert.equal(signedIn(at, cookie), undefined);
});

Deno.test("creating secrets and signing in have separate rate limits", async () => {
  await using at = relayFixture();
  at.limits.register.wait = 7;
  const drawn = await at.send("/api/v1/register", { method: "POST" });
  assert.deepEqual([drawn.status, drawn.headers.get("retry-after")], [429, "7"]);
  assert.equal((await drawn.json()).error, "rate_limited");
  await signIn(at);
  at.limits.login.wait = 9;
  const tried = await at.send("/login", form({ secret: SECRET }));
  assert.deepEqual([tried.status, tried.headers.get("retry-after")], [429, "9"]);
  assert.match(await tried.text(), /Try again in\s+9 s/);
  assert.equal(tried.headers.get("set-cookie"), null);
});

Deno.test("the dashboard lists only the machines of the secret", async () => {
  await using at = relayFixture();
  const nobody = await at.send("/dashboard");
  assert.deepEqual([nobody.status, nobody.headers.get("location")], [303, "/"]);
  const cookie = await signIn(at);
  const readDashboard = async () =>
    await (await at.send("/dashboard", { headers: { cookie } })).text();
  assert.match(await readDashboard(), /No machine of this secret is connected/);
  const silent = () => Promise.resolve(new Response());
  at.machines.connect(NAMESPACE, "dm-000000000001", silent);
  at.machines.connect(OTHER_NAMESPACE, "dm-000000000002", silent);
  const page = await readDashboard();
  assert.match(page, /href="\/m\/dm-000000000001\/dashboard"/);
  assert.ok(!page.includes("dm-000000000002"));
});

Deno.test("pages run no script, cannot be framed, and have no form-action", async () => {
  await using at = relayFixture();
  const { headers } = await at.send("/");
  const policy = headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; /);
  assert.match(policy, /frame-ancestors 'none'$/);
  assert.ok(!policy.includes("form-action") && !policy.includes("unsafe"));
  assert.equal(headers.get("referrer-policy"), "same-origin");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

Deno.test("the name of a machine is escaped on the page", async () => {
  await using at = relayFixture();
  const cookie = await signIn(at);
  at.machines.connect(
    NAMESPACE,
    `"><script>alert('1')</script>`,
    () => Promise.resolve(new Response()),
  );
  const page = await (await at.send("/dashboard", { headers: { cookie } })).text();
  assert.ok(!page.includes("<script"));
  assert.ok(page.includes("&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)"));
});

Deno.test("no log line holds a secret or a cookie", async () => {
  await using at = relayFixture({ ids: randomIds });
  const cookie = await signIn(at);
  await at.send("/login", form({ secret: `${SECRET}x` }));
  await at.send("/login", { method: "POST", body: "x".repeat(5000) });
  await at.send("/dashboard", { headers: { cookie } });
  const lines = at.logged.join("\n");
  for (const secret of [SECRET, cookie.split("=")[1] ?? ""]) assert.ok(!lines.includes(secret));
});

/** Dynamic client registration: redirect URIs, metadata, rate limits and expiry. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import * as z from "zod";
import fc from "fast-check";
import { isRegistered, redirectProblem } from "../../../relay/oauth/redirects.ts";
import {
  ALL_SCOPES,
  App,
  CALLBACK,
  countRows,
  oauthError,
  type OAuthWorld,
  oauthWorld,
  parseTokens,
  Person,
} from "../../support/relay/oauth_world.ts";

const HOUR_MS = 3_600_000;

Deno.test("a public client registers and receives its supported metadata [4.oauth.register] [2.relay.client]", async () => {
  using w = oauthWorld();
  const response = await w.postJson("/oauth/register", {
    redirect_uris: [CALLBACK, "http://127.0.0.1:3000/cb"],
    client_name: "An app",
    token_endpoint_auth_method: "none",
    grant_types: [
      "authorization_code",
      "refresh_token",
      "urn:ietf:params:oauth:grant-type:device_code",
    ],
    response_types: ["code"],
    logo_uri: "https://app.example.net/logo.png",
    jwks_uri: "https://app.example.net/jwks",
    scope: ALL_SCOPES,
  });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get("cache-control"), "no-store");
  const { client_id, ...rest } = await response.json();
  assert.match(client_id, /^mc_[A-Za-z0-9_-]{22}$/);
  assert.deepEqual(rest, {
    client_id_issued_at: Math.floor(w.clock.now() / 1000),
    client_name: "An app",
    redirect_uris: [CALLBACK, "http://127.0.0.1:3000/cb"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
});

Deno.test("a registration with only redirect_uris is a public client", async () => {
  using w = oauthWorld();
  const response = await w.postJson("/oauth/register", { redirect_uris: [CALLBACK] });
  assert.equal(response.status, 201);
  assert.equal((await response.json()).token_endpoint_auth_method, "none");
});

const uris = (...redirect_uris: unknown[]) => ({ redirect_uris });
const long = (length: number) => `https://app.example.net/${"x".repeat(length - 24)}`;

// deno-fmt-ignore
const REFUSED: readonly [what: string, body: unknown, status: number, error: string][] = [
  ["no redirect URIs",             {},                                        400, "invalid_redirect_uri"],
  ["an empty list of them",        uris(),                                    400, "invalid_redirect_uri"],
  ["one that is no text",          uris(5),                                   400, "invalid_redirect_uri"],
  ["http to elsewhere",            uris("http://app.example.net/cb"),         400, "invalid_redirect_uri"],
  ["http that only looks local",   uris("http://localhost.example.net/cb"),   400, "invalid_redirect_uri"],
  ["a user before the host",       uris("http://127.0.0.1:80@example.net/"),  400, "invalid_redirect_uri"],
  ["a user on https",              uris("https://me:pw@example.net/cb"),      400, "invalid_redirect_uri"],
  ["an empty user",                uris("https://@example.net/cb"),           400, "invalid_redirect_uri"],
  ["a scheme of the app's own",    uris("myapp://callback"),                  400, "invalid_redirect_uri"],
  ["a script",                     uris("javascript:alert(1)"),               400, "invalid_redirect_uri"],
  ["data",                         uris("data:text/html,hi"),                 400, "invalid_redirect_uri"],
  ["a fragment",                   uris(`${CALLBACK}#here`),                  400, "invalid_redirect_uri"],
  ["an empty fragment",            uris(`${CALLBACK}#`),                      400, "invalid_redirect_uri"],
  ["a relative one",               uris("/callback"),                         400, "invalid_redirect_uri"],
  ["a backslash",                  uris("https://app.example.net\\@evil/"),   400, "invalid_redirect_uri"],
  ["a line break",                 uris("https://app.example.net/\r\nx: y"),  400, "invalid_redirect_uri"],
  ["a blank",                      uris("https://app.example.net/ b"),        400, "invalid_redirect_uri"],
  ["letters that are not ASCII",   uris("https://äpp.example.net/"),          400, "invalid_redirect_uri"],
  ["a host that is rewritten",     uris("https://0x7f.1/"),                   400, "invalid_redirect_uri"],
  ["a pattern for a host",         uris("https://*.example.net/cb"),          400, "invalid_redirect_uri"],
  ["a port beyond all ports",      uris("http://127.0.0.1:70000/cb"),         400, "invalid_redirect_uri"],
  ["an answer's code",             uris(`${CALLBACK}?code=mine`),             400, "invalid_redirect_uri"],
  ["an answer's state, encoded",   uris(`${CALLBACK}?a=1&st%61te=mine`),      400, "invalid_redirect_uri"],
  ["an answer's iss on loopback",  uris("http://127.0.0.1/cb?iss"),           400, "invalid_redirect_uri"],
  ["an answer's error",            uris(`${CALLBACK}?error=access_denied`),   400, "invalid_redirect_uri"],
  ["port 0",                       uris("https://app.example.net:0/cb"),      400, "invalid_redirect_uri"],
  ["port 0 of loopback",           uris("http://127.0.0.1:00/cb"),            400, "invalid_redirect_uri"],
  ["a host that ends in a dot",    uris("https://app.example.net./cb"),       400, "invalid_redirect_uri"],
  ["several bad ones",             uris("cursor://x/cb", "ftp://example.net/"), 400, "invalid_redirect_uri"],
  ["a good one and no text",       uris(CALLBACK, 5),                         400, "invalid_redirect_uri"],
  ["more than 4 KiB of one",       uris(long(4097)),                          400, "invalid_redirect_uri"],
  ["more than 4 KiB of all",       uris(long(2000), long(2000), long(97)),    400, "invalid_redirect_uri"],
  ["a method that is no text",     { ...uris(CALLBACK), token_endpoint_auth_method: 5 }, 400, "invalid_client_metadata"],
  ["other grants only",            { ...uris(CALLBACK), grant_types: ["client_credentials"] }, 400, "invalid_client_metadata"],
  ["implicit answers only",        { ...uris(CALLBACK), response_types: ["token"] }, 400, "invalid_client_metadata"],
  ["a name that is no text",       { ...uris(CALLBACK), client_name: { a: 1 } }, 400, "invalid_client_metadata"],
  ["a list",                       [CALLBACK],                                400, "invalid_client_metadata"],
  ["nothing",                      null,                                      400, "invalid_client_metadata"],
  ["a body beyond its bound",      { ...uris(CALLBACK), client_name: "x".repeat(40_000) }, 413, "invalid_request"],
];

for (const [what, body, status, error] of REFUSED) {
  Deno.test(`registering ${what} is ${error} [5.oauth.redirects.exact]`, async () => {
    using w = oauthWorld();
    assert.deepEqual(await oauthError(await w.postJson("/oauth/register", body)), [status, error]);
    assert.equal(countRows(w.db, "oauth_clients"), 0);
  });
}

Deno.test("registration keeps and returns only the redirect URIs that are allowed [c11.oauth.registration]", async () => {
  using w = oauthWorld();
  const local = "http://127.0.0.1:3000/cb";
  const mixed = uris(
    "cursor://anysphere.mcp/oauth/callback",
    CALLBACK,
    `${CALLBACK}#x`,
    `cursor://x/${"x".repeat(5000)}`,
    local,
  );
  const response = await w.postJson("/oauth/register", mixed);
  assert.equal(response.status, 201);
  const { client_id, redirect_uris } = await response.json();
  assert.deepEqual(redirect_uris, [CALLBACK, local]);
  await new App(w, client_id, local).connect();
  const refused = new App(w, client_id, "cursor://anysphere.mcp/oauth/callback");
  assert.equal((await new Person(w).visit(refused.authorizePath())).status, 400);
});

Deno.test("a client is public, also if it requests a way of authentication [c11.oauth.registration]", async () => {
  using w = oauthWorld();
  for (const method of ["client_secret_basic", "client_secret_post", "private_key_jwt", "", "x"]) {
    const body = { ...uris(CALLBACK), token_endpoint_auth_method: method };
    const response = await w.postJson("/oauth/register", body);
    assert.equal(response.status, 201, method);
    const registration = await response.json();
    assert.equal(registration.token_endpoint_auth_method, "none");
    assert.ok(!("client_secret" in registration));
    await new App(w, registration.client_id, CALLBACK).connect();
  }
});

Deno.test("an aborted request body is a 400, not a 500", async () => {
  using w = oauthWorld();
  const broken = () =>
    new ReadableStream({
      start: (controller) => controller.error(new Error("The caller left")),
    });
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  for (const path of ["/oauth/register", "/oauth/token", "/oauth/revoke"]) {
    const answer = await w.fetch(path, { method: "POST", headers, body: broken() });
    assert.deepEqual(await oauthError(answer), [400, "invalid_request"]);
  }
  assert.deepEqual(w.logged, []);
});

Deno.test("a body that is not JSON or not UTF-8 is refused", async () => {
  using w = oauthWorld();
  const post = (body: BodyInit) => w.fetch("/oauth/register", { method: "POST", body });
  assert.deepEqual(await oauthError(await post("{")), [400, "invalid_client_metadata"]);
  assert.deepEqual(await oauthError(await post("")), [400, "invalid_client_metadata"]);
  const bytes = new Uint8Array([0x7b, 0xff, 0x7d]);
  assert.deepEqual(await oauthError(await post(bytes)), [400, "invalid_request"]);
});

Deno.test("exactly 4 KiB of redirect URIs are accepted [8.relay.redirects]", async () => {
  using w = oauthWorld();
  const response = await w.postJson("/oauth/register", uris(long(2000), long(2096)));
  assert.equal(response.status, 201);
});

// deno-fmt-ignore
const LOOPBACK: readonly [registered: string, asked: string, same: boolean][] = [
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:49152/cb",    true],
  ["http://127.0.0.1/cb",         "http://127.0.0.1:49152/cb",    true],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1/cb",          true],
  ["http://[::1]:3000/cb",        "http://[::1]:49152/cb",        true],
  ["http://localhost:3000/cb",    "http://localhost:49152/cb",    true],
  ["http://localhost:3000",       "http://localhost:49152",       true],
  ["http://127.0.0.1:3000/cb?a=1", "http://127.0.0.1:9/cb?a=1",   true],
  ["http://127.0.0.1:3000/cb",    "http://localhost:3000/cb",     false],
  ["http://127.0.0.1:3000/cb",    "http://[::1]:3000/cb",         false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:3000/cb/",    false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:3000/CB",     false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:3000/x/../cb", false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:3000/cb?a=1", false],
  ["http://127.0.0.1:3000/cb?a=1", "http://127.0.0.1:3000/cb?a=2", false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:3000/cb#x",   false],
  ["http://127.0.0.1:3000/cb",    "https://127.0.0.1:3000/cb",    false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:99999/cb",    false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:0/cb",        false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.1:3000@e.net/cb", false],
  ["http://127.0.0.1:3000/cb",    "http://127.0.0.2:3000/cb",     false],
  ["http://127.0.0.1:3000/cb",    "http://LOCALHOST:3000/cb",     false],
  ["https://app.example.net/cb",  "https://app.example.net/cb",   true],
  ["https://app.example.net/cb",  "https://app.example.net:8443/cb", false],
  ["https://app.example.net/cb",  "https://app.example.net/cb/",  false],
  ["https://app.example.net/cb",  "https://app.example.net/cb?x", false],
  ["https://app.example.net/cb",  "https://APP.example.net/cb",   false],
  ["https://app.example.net/cb",  "https://app.example.net/cb/../cb", false],
  ["https://app.example.net/cb",  "https://app.example.net.evil.net/cb", false],
];

for (const [registered, asked, same] of LOOPBACK) {
  const verb = same ? "means" : "does not mean";
  Deno.test(`${asked} ${verb} ${registered} [4.oauth.loopback]`, () => {
    assert.equal(redirectProblem(registered), undefined);
    assert.equal(isRegistered(asked, [registered]), same);
  });
}

Deno.test("an allowed redirect URI matches itself and is https or loopback", () => {
  fc.assert(fc.property(
    fc.oneof(fc.webUrl({ withQueryParameters: true }), fc.string(), fc.string({ unit: "binary" })),
    (uri) => {
      if (redirectProblem(uri) !== undefined) return;
      const { protocol, hostname, hash } = new URL(uri);
      assert.ok(protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(hostname));
      assert.equal(hash, "");
      assert.ok(isRegistered(uri, [uri]));
    },
  ));
});

Deno.test("a client name is cleaned and truncated", async () => {
  using w = oauthWorld();
  const nameOf = async (client_name: string) => {
    const response = await w.postJson("/oauth/register", { ...uris(CALLBACK), client_name });
    return z.object({ client_name: z.string().optional() }).parse(await response.json())
      .client_name;
  };
  assert.equal(await nameOf("  Ed\u202etor\n\n\u0000x\u200b "), "Edtor x");
  assert.equal((await nameOf("é".repeat(200)))?.length, 80);
  assert.equal(await nameOf("\u0000\u200b"), undefined);
});

async function register(w: OAuthWorld, from?: string): Promise<Response> {
  return await w.postJson("/oauth/register", uris(CALLBACK), from);
}

Deno.test("an address registers five at once, then one a minute [8.relay.rate]", async () => {
  using w = oauthWorld();
  const from = "192.0.2.1";
  for (let at = 0; at < 5; at++) assert.equal((await register(w, from)).status, 201);
  const refused = await register(w, from);
  assert.equal(refused.headers.get("retry-after"), "60");
  assert.deepEqual(await oauthError(refused), [429, "temporarily_unavailable"]);
  assert.equal((await register(w, "::ffff:192.0.2.1")).status, 429);
  assert.equal((await register(w, "192.0.2.2")).status, 201);
  await w.clock.advance(60_000);
  assert.equal((await register(w, from)).status, 201);
  assert.equal((await register(w, from)).status, 429);
});

Deno.test("an IPv6 /64 is one address [8.relay.rate]", async () => {
  using w = oauthWorld();
  for (let at = 0; at < 5; at++) {
    assert.equal((await register(w, `2001:db8::${at}:1`)).status, 201);
  }
  assert.equal((await register(w, "2001:db8::ffff")).status, 429);
  assert.equal((await register(w, "2001:db8:0:1::1")).status, 201);
});

Deno.test("all addresses together register 120 at once, then 60 a minute [8.relay.rate]", async () => {
  using w = oauthWorld();
  for (let at = 0; at < 120; at++) {
    assert.equal((await register(w, `10.1.${at}.1`)).status, 201);
  }
  assert.deepEqual(await oauthError(await register(w, "10.2.0.1")), [
    429,
    "temporarily_unavailable",
  ]);
  await w.clock.advance(1000);
  assert.equal((await register(w, "10.2.0.1")).status, 201);
  assert.equal((await register(w, "10.2.0.2")).status, 429);
});

Deno.test("the limit of registrations affects no other route", async () => {
  using w = oauthWorld();
  for (let at = 0; at < 6; at++) await register(w, "192.0.2.1");
  const response = await w.fetch("/.well-known/oauth-authorization-server", { from: "192.0.2.1" });
  assert.equal(response.status, 200);
});

/** True if the client is known: a known client is refused for another reason. */
async function isKnown(app: App): Promise<boolean> {
  const [, error] = await oauthError(await app.refresh("none"));
  return error !== "invalid_client";
}

Deno.test("an unused client is kept for 24 hours [8.relay.unused-clients]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await w.clock.advance(24 * HOUR_MS - 1);
  assert.ok(await isKnown(app));
  await w.clock.advance(1);
  assert.ok(!await isKnown(app));
});

Deno.test("a client is kept for 90 days from its latest exchange [8.relay.used-clients]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  await w.clock.advance(29 * DAY_MS);
  await parseTokens(await app.refresh(refresh_token));
  await w.clock.advance(90 * DAY_MS - 1);
  assert.ok(await isKnown(app));
  await w.clock.advance(1);
  assert.ok(!await isKnown(app));
  await register(w);
  assert.equal(countRows(w.db, "oauth_clients"), 1);
});

Deno.test("beyond 4,096 unused clients the oldest is deleted, but no used one [8.relay.unused-clients]", async () => {
  using w = oauthWorld();
  const used = await App.register(w);
  await used.connect();
  await w.clock.advance(1000);
  const oldest = await App.register(w);
  const second = await App.register(w);
  const insert = (at: number) =>
    w.db.transact((tx) =>
      tx.run(
        `insert into oauth_clients values (:id, null, '["${CALLBACK}"]', 'unused', :at, :until)`,
        {
          id: `mc_${String(at).padStart(22, "x")}`,
          at: w.clock.now(),
          until: w.clock.now() + DAY_MS,
        },
      )
    );
  w.db.transactNow(() => {
    for (let at = 2; at < 4096; at++) insert(at);
  });
  assert.equal(countRows(w.db, "oauth_clients", "state = 'unused'"), 4096);
  const newest = await App.register(w);
  assert.equal(countRows(w.db, "oauth_clients", "state = 'unused'"), 4096);
  assert.ok(!await isKnown(oldest));
  for (const app of [second, newest, used]) assert.ok(await isKnown(app), app.client_id);
});

Deno.test("expired clients are deleted at the next registration [8.relay.cleanup]", async () => {
  using w = oauthWorld();
  for (let at = 0; at < 5; at++) await register(w);
  await w.clock.advance(24 * HOUR_MS);
  assert.equal(countRows(w.db, "oauth_clients"), 5);
  await register(w);
  assert.equal(countRows(w.db, "oauth_clients"), 1);
});

Deno.test("the error for an expired client says to remove and re-add the connector [7.relay.client-expired]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await w.clock.advance(24 * HOUR_MS);
  const person = new Person(w);
  const page = await person.visit(app.authorizePath());
  assert.equal(page.status, 400);
  assert.equal(page.headers.get("location"), null);
  assert.equal(page.headers.get("www-authenticate"), null);
  assert.match(await page.text(), /remove and re-add the connector in your app/);
  const token = await app.redeem("mesh_ac_none");
  assert.equal(token.status, 401);
  const body = await token.json();
  assert.equal(body.error, "invalid_client");
  assert.match(body.error_description, /remove and re-add the connector in your app/);
});

/** Random requests: no 500, no redirect to an unknown address, no secret in the log. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as contracts from "protocol/relay/oauth.ts";
import {
  App,
  CALLBACK,
  oauthWorld,
  Person,
  SECRET,
  VERIFIER,
} from "../../support/relay/oauth_world.ts";

/** Some thousand requests, which take a few seconds. */
const RUNS = 700;

const PRINTABLE = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code));

/** The paths of the authorization server, from its contracts. */
const PATHS = Object.values(contracts).flatMap((value) =>
  typeof value === "object" && "path" in value ? [value.path] : []
);

const NAMES = [
  "client_id",
  "redirect_uri",
  "response_type",
  "response_mode",
  "scope",
  "state",
  "resource",
  "code_challenge",
  "code_challenge_method",
  "grant_type",
  "code",
  "code_verifier",
  "refresh_token",
  "token",
  "token_type_hint",
  "request",
  "relay_secret",
  "decision",
  "grant_id",
  "form_token",
  "redirect_uris",
  "client_name",
  "__proto__",
];

/** Random text, and valid words in wrong places. */
function valuesOf(words: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...words) },
    { weight: 2, arbitrary: fc.string({ maxLength: 40 }) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("\0", "\ud800", "%", "%ff", "\r\nx: y", "x".repeat(5000)),
    },
  );
}

function requestsOf(words: readonly string[]) {
  const value = valuesOf(words);
  const pairs = fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 12 });
  const body = fc.oneof(
    pairs.map((all) => new URLSearchParams(all).toString()),
    pairs.map((all) => JSON.stringify(Object.fromEntries(all))),
    pairs.map((all) => JSON.stringify({ redirect_uris: all.map(([, text]) => text) })),
    fc.string({ maxLength: 100 }),
    fc.json(),
  );
  return fc.record({
    path: fc.constantFrom(...PATHS),
    query: pairs.map((all) => new URLSearchParams(all).toString()),
    method: fc.constantFrom("GET", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"),
    type: fc.constantFrom("application/x-www-form-urlencoded", "application/json", "x", undefined),
    header: fc.constantFrom(
      "authorization",
      "origin",
      "cookie",
      "x-forwarded-for",
      "sec-fetch-site",
    ),
    header_value: fc.oneof(
      fc.string({ unit: PRINTABLE, maxLength: 60 }),
      fc.constantFrom(
        `Bearer ${SECRET}`,
        "null",
        "mesh=x; mesh=y",
        "__Host-mesh-consent=%%%",
        ",,",
      ),
    ),
    body,
  });
}

Deno.test("random requests cause no 500 and leak nothing [5.oauth.fuzz]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const person = new Person(w);
  const request = await person.formFor(app);
  const code = (await person.allow(app)).searchParams.get("code") ?? "";
  const { access_token, refresh_token } = await app.connect();
  const secrets = [SECRET, code, access_token, refresh_token, VERIFIER, request];
  const words = [
    ...secrets,
    app.client_id,
    CALLBACK,
    "https://evil.example/cb",
    "S256",
    "code",
    "authorization_code",
    "refresh_token",
    "agents:read",
    "allow",
    "deny",
    w.resource,
    "",
  ];
  const cookies = [...person.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  await fc.assert(
    fc.asyncProperty(requestsOf(words), async (sent) => {
      const headers = new Headers({ cookie: cookies });
      if (sent.type) headers.set("content-type", sent.type);
      headers.set(sent.header, sent.header_value.trim());
      const bodiless = sent.method === "GET" || sent.method === "HEAD";
      const response = await w.fetch(`${sent.path}?${sent.query}`.slice(0, 30_000), {
        method: sent.method,
        headers,
        ...(!bodiless && { body: sent.body }),
      });
      const text = await response.text();
      assert.ok(response.status < 500, `${response.status} ${text}`);
      const location = response.headers.get("location") ?? CALLBACK;
      assert.ok(location.startsWith(CALLBACK) || location.startsWith("/"), location);
    }),
    { numRuns: RUNS },
  );
  for (const line of w.logged) {
    for (const secret of secrets) assert.ok(!line.includes(secret), line);
    assert.ok(!line.includes('"error"'), line);
  }
});

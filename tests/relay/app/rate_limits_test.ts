/** Rate limits: of connecting daemons, of consent decisions, registrations and tokens. */

import assert from "node:assert/strict";
import { mustParseRange } from "kit/net/ip_address.ts";
import {
  App,
  CALLBACK,
  oauthError,
  oauthWorld,
  parseTokens,
  Person,
} from "../../support/relay/oauth_world.ts";
import { relayWorld, SECRET } from "../../support/relay/relay_world.ts";

const DIALS = 30;
const DIALS_WITH_SECRET = 2000;
const DECISIONS = 60;
const EXCHANGES = 600;

Deno.test("connects without a secret are limited by address and do not delay those with a secret", async () => {
  await using r = relayWorld();
  const openSocket = (authorization: string, hostname = "192.0.2.1") => {
    const headers = { authorization, "x-mesh-daemon-id": "dm-000000000009" };
    const request = new Request("https://relay.test/ws/daemon", { headers });
    return r.relay.fetch(request, { transport: "tcp", hostname, port: 50_000 });
  };
  for (let number = 0; number < DIALS; number++) {
    assert.equal((await openSocket("Bearer x")).status, 401);
  }
  const limited = await openSocket("Bearer x");
  assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "2"]);
  assert.equal((await limited.json()).error, "rate_limited");
  assert.equal((await openSocket("Bearer x", "192.0.2.2")).status, 401);
  // The connect passes the rate limit, and fails because it requests no WebSocket.
  assert.equal((await openSocket(`Bearer ${SECRET}`)).status, 426);
  await r.clock.advance(2000);
  assert.equal((await openSocket("Bearer x")).status, 401);
});

Deno.test("connects of daemons are rate-limited per address", async () => {
  await using r = relayWorld();
  const openSocket = async (hostname: string) => {
    const headers = { "authorization": `Bearer ${SECRET}`, "x-mesh-daemon-id": "dm-000000000009" };
    const request = new Request("https://relay.test/ws/daemon", { headers });
    return (await r.relay.fetch(request, { transport: "tcp", hostname, port: 50_000 })).status;
  };
  for (let number = 0; number < DIALS_WITH_SECRET; number++) {
    assert.equal(await openSocket("192.0.2.1"), 426);
  }
  assert.equal(await openSocket("192.0.2.1"), 429);
  assert.equal(await openSocket("192.0.2.2"), 426);
});

Deno.test("consent decisions are rate-limited per session", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const [busy, other] = [new Person(w), new Person(w)];
  for (const person of [busy, other]) await person.signIn();
  const form = await busy.formFor(app);
  for (let number = 0; number < DECISIONS; number++) {
    assert.equal((await busy.decide(await busy.formFor(app), "deny")).status, 403);
  }
  const limited = await busy.decide(form, "allow");
  assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "1"]);
  assert.match(await limited.text(), /Too many decisions: try again in 1 s/);
  assert.equal((await other.decide(await other.formFor(app), "allow")).status, 303);
  await w.clock.advance(1000);
  assert.equal((await busy.decide(form, "allow")).status, 303);
});

Deno.test("consent decisions without a session are rate-limited per address", async () => {
  using w = oauthWorld();
  const decide = (from: string) =>
    w.fetch("/oauth/authorize", {
      method: "POST",
      body: "request=x&decision=allow",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      from,
    });
  for (let number = 0; number < DECISIONS; number++) {
    assert.equal((await decide("192.0.2.1")).status, 400);
  }
  assert.equal((await decide("192.0.2.1")).status, 429);
  assert.equal((await decide("192.0.2.2")).status, 400);
});

Deno.test("behind a trusted proxy registrations are rate-limited per client [c9.proxy.trusted]", async () => {
  const proxies = [mustParseRange("172.30.83.0/24")];
  using w = oauthWorld({ proxy: { mode: "trusted", proxies } });
  const register = async (visitor: string) => {
    const body = JSON.stringify({ redirect_uris: [CALLBACK] });
    const headers = { "x-forwarded-for": visitor };
    const init = { method: "POST", body, headers, from: "172.30.83.2" };
    return (await w.fetch("/oauth/register", init)).status;
  };
  for (let number = 0; number < 5; number++) assert.equal(await register("203.0.113.9"), 201);
  assert.equal(await register("203.0.113.9"), 429);
  assert.equal(await register("192.0.2.66, 203.0.113.9"), 429);
  assert.equal(await register("198.51.100.7"), 201);
});

Deno.test("token exchanges are rate-limited per grant, and a refused token stays valid", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  let { refresh_token } = await app.connect();
  const other = await app.connect();
  for (let number = 1; number < EXCHANGES; number++) {
    ({ refresh_token } = await parseTokens(await app.refresh(refresh_token)));
  }
  const limited = await app.refresh(refresh_token);
  assert.equal(limited.headers.get("retry-after"), "1");
  assert.deepEqual(await oauthError(limited), [429, "temporarily_unavailable"]);
  assert.equal((await app.refresh(other.refresh_token)).status, 200);
  await w.clock.advance(1000);
  assert.equal((await app.refresh(refresh_token)).status, 200);
});

Deno.test("requests with a client id but no token do not use up the grant's limit [c9.pace.lockout]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  for (let number = 0; number <= EXCHANGES; number++) {
    assert.equal((await app.refresh("mesh_rt_junk")).status, 400);
    assert.equal((await app.redeem("mesh_ac_junk")).status, 400);
  }
  assert.equal((await app.refresh(refresh_token)).status, 200);
});

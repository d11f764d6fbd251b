/** Starting a relay with OAuth: its configuration, its metadata and its database file. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { jsonLog } from "kit/core/log.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { readRelayConfig } from "../../../relay/app/config.ts";
import { lockDatabase } from "../../../relay/app/database.ts";
import { FakeClock } from "../../support/clock.ts";
import { countingIds } from "../../support/ids.ts";
import { ISSUER, oauthWorld, RESOURCE } from "../../support/relay/oauth_world.ts";

const CLOCK = new FakeClock();
const LOG = jsonLog(CLOCK, "error", () => undefined);
const DEPS = { clock: CLOCK, log: LOG, ids: countingIds() };
const DB = { RELAY_OAUTH_DB: "/var/lib/relay/oauth.db" };

// deno-fmt-ignore
const REFUSED: readonly [what: string, env: Record<string, string>, line: RegExp][] = [
  ["an issuer with a path",           { ...DB, RELAY_OAUTH_ISSUER: "https://relay.example.com/mesh" }, /RELAY_OAUTH_ISSUER: found "https:.*mesh"; allowed: an https origin/],
  ["an issuer with a query",          { ...DB, RELAY_OAUTH_ISSUER: "https://relay.example.com?a" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer with an empty query",   { ...DB, RELAY_OAUTH_ISSUER: "https://relay.example.com/?" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer with a fragment",       { ...DB, RELAY_OAUTH_ISSUER: "https://relay.example.com/#" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer with a user",           { ...DB, RELAY_OAUTH_ISSUER: "https://me@relay.example.com" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer on http elsewhere",     { ...DB, RELAY_OAUTH_ISSUER: "http://relay.example.com" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer that only looks local", { ...DB, RELAY_OAUTH_ISSUER: "http://localhost.example.com" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer of another scheme",     { ...DB, RELAY_OAUTH_ISSUER: "ftp://localhost" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer that is no address",    { ...DB, RELAY_OAUTH_ISSUER: "relay.example.com" }, /RELAY_OAUTH_ISSUER: found/],
  ["an issuer without a database",    { RELAY_OAUTH_ISSUER: ISSUER }, /RELAY_OAUTH_DB: found nothing; allowed: the path of a file/],
  ["an issuer with an empty database", { RELAY_OAUTH_ISSUER: ISSUER, RELAY_OAUTH_DB: " " }, /RELAY_OAUTH_DB: found " "; allowed/],
  ["cloudlb without its address",     { RELAY_OAUTH_PROXY_MODE: "cloudlb" }, /RELAY_OAUTH_LB_FORWARDING_IP: found nothing; allowed: the address/],
  ["cloudlb with a name for it",      { RELAY_OAUTH_PROXY_MODE: "cloudlb", RELAY_OAUTH_LB_FORWARDING_IP: "lb.example.com" }, /RELAY_OAUTH_LB_FORWARDING_IP: found "lb/],
  ["another proxy mode",              { RELAY_OAUTH_PROXY_MODE: "nginx" }, /RELAY_OAUTH_PROXY_MODE: found "nginx"; allowed: direct, cloudlb or trusted/],
  ["trusted without its proxies",     { RELAY_OAUTH_PROXY_MODE: "trusted" }, /RELAY_TRUSTED_PROXIES: found nothing; allowed: addresses and ranges/],
  ["trusted with empty proxies",      { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: " , " }, /RELAY_TRUSTED_PROXIES: found " , "/],
  ["trusted with a name for one",     { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: "caddy" }, /RELAY_TRUSTED_PROXIES: found "caddy"; allowed: .*"caddy" is not/],
  ["trusted with a length too long",  { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: "10.0.0.0/33" }, /"10.0.0.0\/33" is not/],
  ["trusted with one of two wrong",   { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: "10.0.0.1, 10.0.0.300" }, /"10.0.0.300" is not/],
  ["trusting the whole Internet",     { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: "0.0.0.0/0" }, /"0.0.0.0\/0" is too broad/],
  ["trusting half of the Internet",   { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: "128.0.0.0/1,0.0.0.0/1" }, /too broad/],
  ["trusting all of IPv6",            { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: "::/0" }, /"::\/0" is too broad/],
  ["trusting an IPv6 registry",       { RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES: "2001::/16" }, /too broad/],
  ["a port that is none",             { RELAY_PORT: "65536" }, /RELAY_PORT: found "65536"; allowed: a port/],
];

for (const [what, env, line] of REFUSED) {
  Deno.test(`${what} refuses to start, and says what is allowed [c9.oauth.start]`, () => {
    assert.throws(() => readRelayConfig(env), { message: line });
  });
}

Deno.test("all mistakes of the configuration are reported at once", () => {
  const env = { RELAY_PORT: "x", RELAY_OAUTH_ISSUER: ISSUER, RELAY_OAUTH_PROXY_MODE: "cloudlb" };
  assert.throws(() => readRelayConfig(env), ({ message }: Error) => {
    assert.deepEqual(
      message.split("\n  ").map((line) => line.split(":")[0]),
      [
        "Cannot read the configuration",
        "RELAY_PORT",
        "RELAY_OAUTH_LB_FORWARDING_IP",
        "RELAY_OAUTH_DB",
      ],
    );
    return true;
  });
});

// deno-fmt-ignore
const ISSUERS: readonly [header: string, issuer: string][] = [
  ["https://relay.example.com",      "https://relay.example.com"],
  ["https://relay.example.com/",     "https://relay.example.com"],
  ["HTTPS://Relay.Example.com:443",  "https://relay.example.com"],
  ["https://relay.example.com:8443", "https://relay.example.com:8443"],
  ["http://127.0.0.1:8378",          "http://127.0.0.1:8378"],
  ["http://localhost:8378",          "http://localhost:8378"],
  ["http://[::1]:8378",              "http://[::1]:8378"],
];

for (const [header, issuer] of ISSUERS) {
  Deno.test(`the issuer ${header} is the origin ${issuer} [5.oauth.issuer]`, () => {
    const config = readRelayConfig({ ...DB, RELAY_OAUTH_ISSUER: header });
    assert.deepEqual(config.oauth, { issuer, db_path: DB.RELAY_OAUTH_DB });
  });
}

Deno.test("the default proxy mode is direct [5.oauth.proxy.direct]", () => {
  assert.deepEqual(readRelayConfig({}).proxy, { mode: "direct" });
  assert.equal(readRelayConfig({}).oauth, undefined);
  const behind = { RELAY_OAUTH_PROXY_MODE: "cloudlb", RELAY_OAUTH_LB_FORWARDING_IP: "203.0.113.9" };
  assert.equal(readRelayConfig(behind).proxy.mode, "cloudlb");
});

Deno.test("a trusted proxy is named by addresses and ranges [c9.proxy.trusted]", () => {
  const proxyFor = (RELAY_TRUSTED_PROXIES: string) =>
    readRelayConfig({ RELAY_OAUTH_PROXY_MODE: "trusted", RELAY_TRUSTED_PROXIES }).proxy;
  const lengths = (header: string) => {
    const proxy = proxyFor(header);
    return proxy.mode === "trusted" ? proxy.proxies.map(({ length }) => length) : [];
  };
  assert.deepEqual(lengths("172.30.83.0/24"), [24]);
  assert.deepEqual(lengths(" 127.0.0.1 , ::1,10.0.0.0/8, fd00::/8 "), [32, 128, 8, 8]);
  assert.deepEqual(lengths("::ffff:10.0.0.1"), [32]);
  assert.deepEqual(readRelayConfig({ RELAY_TRUSTED_PROXIES: "10.0.0.1" }).proxy, {
    mode: "direct",
  });
});

Deno.test("without an issuer remote MCP and OAuth answer 404 [5.oauth.disabled]", async () => {
  const clock = new FakeClock();
  await using relay = new Relay({
    clock,
    ids: countingIds(),
    log: LOG,
    proxy: { mode: "direct" },
    oauth: undefined,
    accept: () => assert.fail("Nobody dials"),
  });
  for (
    const path of [
      "/mcp",
      "/oauth/register",
      "/oauth/authorize",
      "/oauth/token",
      "/oauth/revoke",
      "/oauth/connections",
      "/api/v1/apps",
      "/api/v1/apps/mg_none",
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-authorization-server",
    ]
  ) {
    for (const method of ["GET", "POST"]) {
      const response = await relay.fetch(new Request(`http://127.0.0.1:8378${path}`, { method }));
      assert.equal(response.status, 404, path);
      assert.equal((await response.json()).error, "oauth_disabled");
    }
  }
  const health = await relay.fetch(new Request("http://127.0.0.1:8378/health"));
  assert.equal((await health.json()).oauth, "disabled");
});

Deno.test("both discovery paths name the authorization server [4.oauth.resource]", async () => {
  using w = oauthWorld();
  const well_known = "/.well-known/oauth-protected-resource";
  for (const path of [well_known, `${well_known}/mcp`]) {
    const response = await w.fetch(path);
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), {
      resource: RESOURCE,
      authorization_servers: [ISSUER],
      scopes_supported: ["agents:read", "agents:write"],
      bearer_methods_supported: ["header"],
      resource_name: "Agent Mesh",
    });
  }
});

Deno.test("the server metadata lists exactly what is supported [4.oauth.server]", async () => {
  using w = oauthWorld();
  const metadata = await (await w.fetch("/.well-known/oauth-authorization-server")).json();
  assert.equal(metadata.issuer, ISSUER);
  assert.equal(metadata.authorization_endpoint, `${ISSUER}/oauth/authorize`);
  assert.equal(metadata.token_endpoint, `${ISSUER}/oauth/token`);
  assert.equal(metadata.registration_endpoint, `${ISSUER}/oauth/register`);
  assert.equal(metadata.revocation_endpoint, `${ISSUER}/oauth/revoke`);
  assert.deepEqual(metadata.response_types_supported, ["code"]);
  assert.deepEqual(metadata.code_challenge_methods_supported, ["S256"]);
  assert.deepEqual(metadata.grant_types_supported, ["authorization_code", "refresh_token"]);
  assert.deepEqual(metadata.token_endpoint_auth_methods_supported, ["none"]);
  assert.equal(metadata.authorization_response_iss_parameter_supported, true);
  assert.equal(metadata.client_id_metadata_document_supported, false);
});

Deno.test("the issuer is never taken from a request [5.oauth.issuer.never-derived]", async () => {
  using w = oauthWorld();
  const headers = {
    host: "evil.example",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "http",
    "forwarded": "host=evil.example;proto=http",
  };
  for (const path of ["oauth-protected-resource", "oauth-authorization-server"]) {
    const text = await (await w.fetch(`https://evil.example/.well-known/${path}`, { headers }))
      .text();
    assert.ok(!text.includes("evil.example"), text);
    assert.ok(text.includes(ISSUER));
  }
});

/** A temporary directory. */
function directory() {
  const path = Deno.makeTempDirSync({ prefix: "mesh-oauth-" });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }) };
}

Deno.test("the database and SQLite's other files are readable by their owner only [5.oauth.db.private]", () => {
  using dir = directory();
  const path = join(dir.path, "deep/er/oauth.db");
  Deno.mkdirSync(join(dir.path, "deep/er"), { recursive: true });
  Deno.writeTextFileSync(path, "", { mode: 0o644 });
  using held = lockDatabase(path, ISSUER, DEPS);
  assert.equal(held.db.commits > 0, true);
  const files = [...Deno.readDirSync(join(dir.path, "deep/er"))].map(({ name }) => name).sort();
  assert.deepEqual(files, [
    "oauth.db",
    "oauth.db-shm",
    "oauth.db-wal",
    "oauth.db.lock",
    "oauth.db.mark",
  ]);
  for (const name of files) {
    assert.equal((Deno.statSync(join(dir.path, "deep/er", name)).mode ?? 0) & 0o777, 0o600, name);
  }
});

Deno.test("a database is bound to its first issuer [5.oauth.db.bound]", () => {
  using dir = directory();
  const path = join(dir.path, "oauth.db");
  for (const _ of [1, 2]) {
    using _held = lockDatabase(path, ISSUER, DEPS);
  }
  assert.throws(() => lockDatabase(path, "https://other.example.com", DEPS), {
    message:
      /belongs to the issuer https:\/\/relay\.example\.com, and RELAY_OAUTH_ISSUER is https:/,
  });
  using again = lockDatabase(path, ISSUER, DEPS);
  assert.ok(again.db);
});

Deno.test("only one relay can open a database, even by another path [8.relay.replica]", () => {
  using dir = directory();
  const path = join(dir.path, "oauth.db"), alias = join(dir.path, "alias.db");
  {
    using _held = lockDatabase(path, ISSUER, DEPS);
    Deno.symlinkSync(path, alias);
    for (const name of [path, alias]) {
      assert.throws(() => lockDatabase(name, ISSUER, DEPS), {
        message: `Cannot open ${name}: another relay uses it; only one replica may run with OAuth`,
      });
    }
  }
  using held = lockDatabase(alias, ISSUER, DEPS);
  assert.ok(held.db);
});

Deno.test("opening a file that is no database fails and releases its lock", () => {
  using dir = directory();
  const path = join(dir.path, "oauth.db");
  Deno.writeTextFileSync(path, "no database at all ".repeat(100));
  for (const _ of [1, 2]) {
    assert.throws(() => lockDatabase(path, ISSUER, DEPS), {
      message: /^Cannot open .*oauth\.db: .*not a database; RELAY_OAUTH_DB names another file$/,
    });
  }
  assert.throws(() => lockDatabase(dir.path, ISSUER, DEPS), {
    message: /^Cannot open .*directory.*; RELAY_OAUTH_DB names another file$/,
  });
});

import assert from "node:assert/strict";
import { proxyFor } from "kit/net/outgoing/proxies.ts";

const at = (host: string, port = 443, tls = true) => ({ host, port, tls });
const hrefOf = (env: Record<string, string>, target = at("relay.example")) =>
  proxyFor(env, target)?.url.href;

Deno.test("the variable of the scheme counts before ALL_PROXY, and lower case before upper", () => {
  const all = { ALL_PROXY: "http://all:1", HTTP_PROXY: "http://h:2", HTTPS_PROXY: "http://s:3" };
  assert.equal(hrefOf(all), "http://s:3/");
  assert.equal(hrefOf(all, at("relay.example", 80, false)), "http://h:2/");
  assert.equal(hrefOf({ ...all, https_proxy: "http://low:4" }), "http://low:4/");
  assert.equal(hrefOf({ all_proxy: "proxy:3128" }), "http://proxy:3128/");
  assert.equal(hrefOf({ HTTP_PROXY: "http://h:2" }), undefined);
  assert.equal(hrefOf({ HTTPS_PROXY: "" }), undefined);
});

Deno.test("this machine is never reached through a proxy", () => {
  const env = { ALL_PROXY: "http://p:1" };
  for (const host of ["localhost", "api.localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]"]) {
    assert.equal(hrefOf(env, at(host)), undefined, host);
  }
  assert.equal(hrefOf(env, at("128.0.0.1")), "http://p:1/");
  assert.equal(hrefOf(env, at("localhost.example")), "http://p:1/");
});

Deno.test("NO_PROXY names hosts, suffixes, ports and networks", () => {
  const direct = (list: string, host: string, port = 443) =>
    hrefOf({ HTTPS_PROXY: "http://p:1", NO_PROXY: list }, at(host, port)) === undefined;
  assert.ok(direct("*", "any.example"));
  assert.ok(direct("a.example, b.example", "B.Example"));
  assert.ok(direct(".example", "deep.a.example"));
  assert.ok(direct("*.example", "a.example"));
  assert.ok(direct("a.example", "sub.a.example"));
  assert.ok(direct("a.example.", "a.example"));
  assert.ok(!direct("a.example", "nota.example"));
  assert.ok(direct("a.example:4222", "a.example", 4222));
  assert.ok(!direct("a.example:4222", "a.example", 443));
  assert.ok(direct("10.0.0.0/8", "10.200.3.4"));
  assert.ok(!direct("10.0.0.0/8", "11.0.0.1"));
  assert.ok(!direct("10.0.0.0/8", "ten.example"));
  assert.ok(!direct("10.0.0.0/99", "10.0.0.1"));
  assert.ok(direct("fd00::/8", "fd12::1"));
  assert.ok(direct("[fd12::1]:443", "fd12::1"));
  assert.ok(direct("fd12::1", "fd12::1"));
  assert.ok(!direct("fd00::/8", "10.0.0.1"));
  assert.ok(!direct("", "a.example"));
});

Deno.test("a name and a password go into a header, and never into an address or an error", () => {
  const proxy = proxyFor({ HTTPS_PROXY: "http://me:p%40ss:%C3%A9@p:8080" }, at("a.example"));
  assert.equal(proxy?.url.href, "http://p:8080/");
  const bytes = Uint8Array.fromBase64(proxy?.authorization?.replace("Basic ", "") ?? "");
  assert.equal(new TextDecoder().decode(bytes), "me:p@ss:é");
  for (const value of ["socks5://me:secret@p:1", "http://me:secret@", "ftp://me:secret@p"]) {
    assert.throws(
      () => proxyFor({ https_proxy: value }, at("a.example")),
      (error: Error) =>
        /^https_proxy does not name an HTTP proxy/.test(error.message) &&
        !error.message.includes("secret"),
    );
  }
});

/** Access to the relay's metrics: for programs on its machine, but not through a proxy. */

import assert from "node:assert/strict";
import { relayWorld } from "../../support/relay/relay_world.ts";

// deno-fmt-ignore
const READERS: readonly [who: string, hostname: string, headers: Record<string, string>, status: number][] = [
  ["a program on this machine",             "127.0.0.1",        {}, 200],
  ["the same by another loopback address",  "127.0.0.9",        {}, 200],
  ["the same by IPv6",                      "::1",              {}, 200],
  ["the same, mapped into IPv6",            "::ffff:127.0.0.1", {}, 200],
  ["a stranger",                            "203.0.113.9",      {}, 404],
  ["a neighbour in the same network",       "172.30.83.7",      {}, 404],
  ["a stranger behind a proxy that is here", "127.0.0.1",       { "x-forwarded-for": "203.0.113.9" }, 404],
  ["the same, told in RFC 7239",            "127.0.0.1",        { forwarded: "for=203.0.113.9" }, 404],
  ["the same, told by another name",        "127.0.0.1",        { "x-real-ip": "203.0.113.9" }, 404],
  ["the same, told by the proxy's own name", "127.0.0.1",       { via: "1.1 caddy" }, 404],
  ["a stranger who claims to be here",      "203.0.113.9",      { "x-forwarded-for": "127.0.0.1" }, 404],
];

for (const [who, hostname, headers, status] of READERS) {
  Deno.test(`${who} ${status === 200 ? "reads" : "does not read"} the relay's metrics [c9.metrics.local]`, async () => {
    await using r = relayWorld();
    const request = new Request("https://relay.test/metrics", { headers });
    const answer = await r.relay.fetch(request, { transport: "tcp", hostname, port: 50_000 });
    assert.equal(answer.status, status);
    assert.equal((await answer.text()).includes("mesh_relay_daemons"), status === 200);
  });
}

Deno.test("the relay's health says that it is up and how many daemons are connected", async () => {
  await using r = relayWorld();
  const health = async () => await (await r.fetch("/health")).json();
  assert.partialDeepStrictEqual(await health(), { status: "ok", daemons: 0 });
  await using _daemon = await r.daemon(1);
  assert.partialDeepStrictEqual(await health(), { status: "ok", daemons: 1 });
});

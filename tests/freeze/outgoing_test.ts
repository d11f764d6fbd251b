/** HTTPS to external servers over links that freeze, and through the proxy of the environment. */

import assert from "node:assert/strict";
import { outgoingFetch } from "kit/net/outgoing/http_client.ts";
import { FakeClock } from "../support/clock.ts";
import { ConnectProxy } from "../support/net/connect_proxy.ts";
import { FrozenProxy } from "../support/net/frozen_proxy.ts";
import { ANSWER, CALLERS } from "../support/net/outgoing_callers.ts";
import { RELAY, SecureServer } from "../support/net/secure_server.ts";
import { until } from "../support/waiting.ts";

const answering = () => SecureServer.start({ handle: () => Response.json(ANSWER) });

for (const [name, { ms_max, call }] of Object.entries(CALLERS)) {
  for (const way of ["up", "down", "both"] as const) {
    Deno.test(`${name} ends in time over a link that is frozen ${way}, and later uses another`, async () => {
      await using server = await answering();
      await using link = new FrozenProxy(server.port);
      const clock = new FakeClock();
      const fetch = outgoingFetch({ SSL_CERT_FILE: server.ca }, clock.now);
      const deps = { base: `https://127.0.0.1:${link.port}`, clock, fetch };
      assert.equal(await call(deps), true);
      link.frozen = way;
      let outcome: boolean | undefined;
      const frozen = call(deps).catch(() => false).then((done) => outcome = done);
      await clock.advance(ms_max - 1);
      assert.equal(outcome, undefined);
      await clock.advance(1);
      assert.equal(await frozen, false);
      await until("the end of the connection", () => link.open === 0);
      // The connection itself stays as it is; only new ones pass.
      link.lose();
      link.frozen = undefined;
      assert.equal(await call(deps), true);
    });
  }

  Deno.test(`${name} uses the proxy and the authority of the environment`, async () => {
    await using server = await answering();
    const hosts = { [RELAY]: "127.0.0.1" };
    await using proxy = new ConnectProxy({ credentials: "me:secret", hosts });
    const clock = new FakeClock();
    const env = { HTTPS_PROXY: `http://me:secret@${proxy.host}`, SSL_CERT_FILE: server.ca };
    const base = `https://${RELAY}:${server.port}`;
    assert.equal(await call({ base, clock, fetch: outgoingFetch(env, clock.now) }), true);
    assert.deepEqual(proxy.asked, [`${RELAY}:${server.port}`]);
    const direct = outgoingFetch({ ...env, NO_PROXY: RELAY }, clock.now);
    assert.equal(await call({ base, clock, fetch: direct }).catch(() => false), false);
    assert.equal(proxy.asked.length, 1);
  });
}

Deno.test("a link that is lost while nothing passes fails one request at most", async () => {
  await using server = await answering();
  await using link = new FrozenProxy(server.port);
  const fetch = outgoingFetch({ SSL_CERT_FILE: server.ca }, Date.now);
  const stop = new AbortController();
  const request = async (signal?: AbortSignal) => {
    const url = `https://127.0.0.1:${link.port}`;
    return (await (await fetch(new Request(url, signal && { signal }))).json()).ok;
  };
  assert.deepEqual(
    await Promise.all(Array.from({ length: 5 }, () => request())),
    Array(5).fill(true),
  );
  link.lose();
  const lost = request(stop.signal);
  stop.abort();
  await assert.rejects(lost);
  assert.deepEqual([await request(), await request()], [true, true]);
});

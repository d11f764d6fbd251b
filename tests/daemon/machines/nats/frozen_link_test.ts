import assert from "node:assert/strict";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { ALPHA, BETA, Network } from "../../../support/nats/network.ts";
import { type Freeze, FrozenProxy } from "../../../support/net/frozen_proxy.ts";
import { BusMachine } from "../../../support/nats/bus_machine.ts";
import { until } from "../../../support/waiting.ts";
import { stopwatch } from "kit/core/clock.ts";

/** After three of these intervals of silence, the link counts as frozen. */
const PING_MS = 100;
const NOTICED_MS_MAX = 3000;

for (const tls of [false, true]) {
  const kind = tls ? "a TLS link" : "a link";
  for (const way of ["up", "down", "both"] as const) {
    natsTest(`${kind} frozen ${way} is noticed, and nothing is lost after the thaw`, async () => {
      await using network = await Network.start({ tls });
      await using proxy = new FrozenProxy(network.server.port);
      const alpha = await machineBehind(network, proxy);
      const beta = await network.machine(BETA, { ...caOf(network, tls) });
      await alpha.publish(beta, "before");
      proxy.frozen = way;
      const elapsed_ms = stopwatch();
      assert.match(await alpha.down(), /cannot be used: it does not answer$/);
      assert.ok(elapsed_ms() < NOTICED_MS_MAX, `noticed after ${elapsed_ms()} ms`);
      await beta.publish(alpha, "meanwhile");
      thaw(proxy);
      await alpha.waitForConnection();
      await alpha.publish(beta, "after");
      await until("both batches", () => beta.batches.length >= 2 && alpha.batches.length >= 1);
      assert.deepEqual(beta.batches, [`${ALPHA} before`, `${ALPHA} after`]);
      assert.deepEqual(alpha.batches, [`${BETA} meanwhile`]);
    });
  }

  natsTest(
    `${kind} that is frozen is closed in bounded time, connected or connecting`,
    async () => {
      await using network = await Network.start({ tls });
      await using proxy = new FrozenProxy(network.server.port);
      const slow_ms = 60_000;
      for (const freeze of ["connected", "connecting"] as const) {
        proxy.frozen = undefined;
        const machine = await machineBehind(network, proxy, { ping_ms: slow_ms });
        proxy.frozen = "both";
        if (freeze === "connecting") {
          proxy.cut();
          const before = proxy.accepted;
          await until("another attempt", () => proxy.accepted > before);
        }
        const elapsed_ms = stopwatch();
        await machine.bus.close();
        assert.ok(elapsed_ms() < NOTICED_MS_MAX, `closed after ${elapsed_ms()} ms, ${freeze}`);
      }
    },
  );
}

natsTest("attempts to connect through a frozen link leave no socket behind", async () => {
  await using network = await Network.start({ tls: true });
  await using proxy = new FrozenProxy(network.server.port);
  const alpha = await machineBehind(network, proxy, { connect_ms_max: 200 });
  proxy.frozen = "down";
  await until("three more attempts", () => proxy.accepted >= 4);
  await until("their end", () => proxy.open <= 1);
  thaw(proxy);
  await alpha.waitForConnection();
});

function caOf(network: Network, tls: boolean) {
  return tls ? { ca_path: network.server.ca } : {};
}

/** Drops the bytes that wait at a frozen proxy: its old connections end. */
function thaw(proxy: FrozenProxy, to?: Freeze): void {
  proxy.frozen = to;
}

async function machineBehind(
  network: Network,
  proxy: FrozenProxy,
  options: { readonly ping_ms?: number; readonly connect_ms_max?: number } = {},
): Promise<BusMachine> {
  const tls = network.server.url.startsWith("tls:");
  const url = `${tls ? "tls" : "nats"}://127.0.0.1:${proxy.port}`;
  return await network.machine(ALPHA, { url, ping_ms: PING_MS, ...caOf(network, tls), ...options });
}

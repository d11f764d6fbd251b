/** The memory limit of all tenants together: the daemon that holds most is cut off first. */

import assert from "node:assert/strict";
import { jsonLog } from "kit/core/log.ts";
import { CHUNK_BYTES_MAX } from "kit/net/tunnel/frames.ts";
import type { ConnectionListener } from "kit/net/tunnel/connection.ts";
import { type MessageItem, packMessage } from "kit/net/tunnel/packing.ts";
import { MachineRegistry } from "../../../relay/daemons/machine_registry.ts";
import { FakeClock } from "../../support/clock.ts";
import { systemClock } from "kit/core/clock.ts";
import { helloFrame } from "../../support/relay/scripted_daemon.ts";
import { daemonId } from "../../support/relay/relay_world.ts";

const HELD_MAX = 4 * CHUNK_BYTES_MAX;
const ATTACKER = "a".repeat(64), VICTIM = "b".repeat(64);

function registry() {
  const clock = new FakeClock();
  const log = jsonLog(clock, "error", () => undefined);
  return new MachineRegistry({
    clock,
    log,
    recordRequest: () => undefined,
    held_bytes_max: HELD_MAX,
  });
}

/** A daemon whose responses the test sends. */
function registeredDaemon(at: MachineRegistry, namespace: string, buffered = 0) {
  const connection = {
    open: true,
    buffered,
    send: () => undefined,
    closed: undefined as number | undefined,
    close: (code: number) => {
      connection.open = false;
      connection.closed = code;
      ears?.closed(code, "");
    },
  };
  let ears: ConnectionListener | undefined;
  at.connect({ namespace, daemon_id: daemonId(1) }, (received) => {
    ears = received;
    return { response: new Response(null), connection };
  });
  ears?.received(JSON.stringify(helloFrame("here")));
  const sendItems = (...items: MessageItem[]) => ears?.received(packMessage(items).buffer);
  /** Sends so many chunks of the response to a request. */
  const answer = async (id: number, pieces: number, whole_bytes_max?: number) => {
    const request = { method: "GET", path: "/x", timeout_ms: 10_000 } as const;
    const whole = whole_bytes_max === undefined ? {} : { whole_bytes_max };
    const asking = at.request(namespace, daemonId(1), { ...request, ...whole });
    asking.catch(() => undefined);
    const head = { type: "response", id, status: 200, headers: [], body: true };
    sendItems(JSON.stringify(head));
    for (let piece = 0; piece < pieces; piece++) {
      sendItems({ id, bytes: new Uint8Array(CHUNK_BYTES_MAX) });
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { asking, end: () => sendItems(JSON.stringify({ type: "end", id })) };
  };
  return { connection, answer };
}

Deno.test("beyond the relay's limit the slowest reader of the daemon that holds most is cut off [c9.tunnel.bounds-of-all]", async () => {
  const at = registry();
  const attacker = registeredDaemon(at, ATTACKER), victim = registeredDaemon(at, VICTIM);
  const kept = await victim.answer(1, 1);
  const slow = await attacker.answer(1, 3), slower = await attacker.answer(2, 2);
  assert.ok(at.held_bytes > HELD_MAX);
  at.tick(systemClock.monotonic());
  assert.ok(at.held_bytes <= HELD_MAX);
  const bodies = await Promise.all([slow.asking, slower.asking]);
  const read = await Promise.allSettled(bodies.map(({ body }) => body?.getReader().read()));
  assert.ok(read.some(({ status }) => status === "rejected"));
  kept.end();
  assert.equal((await (await kept.asking).bytes()).length, CHUNK_BYTES_MAX);
});

Deno.test("collected responses count for the limit [c9.tunnel.bounds-of-all]", async () => {
  const at = registry();
  const attacker = registeredDaemon(at, ATTACKER), victim = registeredDaemon(at, VICTIM);
  const gathered = await attacker.answer(1, 5, 100 * CHUNK_BYTES_MAX);
  const kept = await victim.answer(1, 1, 100 * CHUNK_BYTES_MAX);
  assert.ok(at.held_bytes > HELD_MAX);
  at.tick(systemClock.monotonic());
  await assert.rejects(gathered.asking, /machine_offline/);
  assert.ok(at.held_bytes <= HELD_MAX);
  kept.end();
  assert.equal((await (await kept.asking).bytes()).length, CHUNK_BYTES_MAX);
  assert.equal(at.held_bytes, 0);
});

Deno.test("responses of a disconnected daemon count until they are read [c9.tunnel.bounds-of-all]", async () => {
  const at = registry();
  for (let time = 1; time <= 3; time++) {
    const attacker = registeredDaemon(at, ATTACKER);
    const response = await attacker.answer(1, 2);
    response.end();
    await response.asking;
    attacker.connection.close(1000);
  }
  assert.equal(at.size, 0);
  assert.equal(at.held_bytes, 6 * CHUNK_BYTES_MAX);
  at.tick(systemClock.monotonic());
  assert.equal(at.held_bytes, 4 * CHUNK_BYTES_MAX);
});

Deno.test("a daemon that does not read is disconnected [c9.tunnel.bounds-of-all]", () => {
  const at = registry();
  const attacker = registeredDaemon(at, ATTACKER, 2 * HELD_MAX),
    victim = registeredDaemon(at, VICTIM);
  at.tick(systemClock.monotonic());
  assert.equal(attacker.connection.closed, 4013);
  assert.equal(victim.connection.closed, undefined);
});

/** A client that repeats requests without an answer, against a daemon that is killed. */

import assert from "node:assert/strict";
import { RealDaemon, temporary } from "../../support/programs/child.ts";

const KEYS = 60;
const LANES = 6;
/** Kills of the daemon, and maximum new requests that each run answers. */
const RUNS = 3;
const KEYS_PER_RUN = 15;

/** Posts a notify with a key; its id, or undefined if the daemon ended before it answered. */
async function sendNotify(port: number, key: number): Promise<string | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/notify`, {
      method: "POST",
      headers: { "idempotency-key": `key-${key}` },
      body: JSON.stringify({ from_peer: "cli", to_peer: "bob", text: `Note ${key}` }),
    });
    return (await response.json()).delivery_id;
  } catch (error) {
    if (error instanceof TypeError || error instanceof Deno.errors.ConnectionReset) {
      return undefined;
    }
    throw error;
  }
}

Deno.test("a request that is repeated with its key until it is answered is sent once, through kill -9", async () => {
  using state = temporary();
  const answered = new Map<number, string>();
  for (let run = 0; run <= RUNS; run++) {
    await using daemon = await RealDaemon.start(state.path);
    const base = `http://127.0.0.1:${daemon.port}`;
    if (run === 0) {
      const body = JSON.stringify({ name: "bob", path: "/work", backend: "sdk" });
      await (await fetch(`${base}/peers`, { method: "POST", body })).body?.cancel();
    }
    const keysWanted = run < RUNS ? KEYS_PER_RUN * (run + 1) : Infinity;
    let killed: Promise<void> | undefined;
    /** Every lane repeats its keys from the first, and is interrupted with others in progress. */
    const lane = async (first: number) => {
      for (let key = first; key < KEYS && !killed; key += LANES) {
        const delivery_id = await sendNotify(daemon.port, key);
        if (delivery_id === undefined) continue;
        assert.equal(answered.get(key) ?? delivery_id, delivery_id, `key-${key} changed its id`);
        answered.set(key, delivery_id);
        if (answered.size >= keysWanted) killed ??= daemon.kill();
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, first) => lane(first)));
    await killed;
    if (run < RUNS) continue;
    const { deliveries } = await (await fetch(`${base}/deliveries?limit=500`)).json();
    assert.deepEqual([deliveries.length, answered.size], [KEYS, KEYS]);
  }
});

/** Asks to a sleeping agent through the relay, of a guest, and from another machine. */

import assert from "node:assert/strict";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { sleepingWorld, untilLaunched, wakeItems } from "../../../support/daemon/wakes.ts";
import { MemoryNetwork, pass } from "../../../support/machines/memory_network.ts";
import { daemonId, NAMESPACE, relayWorld } from "../../../support/relay/relay_world.ts";
import type { WorldOptions } from "../../../support/world.ts";

const ALWAYS = { "daemon.wake": "always" };
const ASK = JSON.stringify({ from_peer: "web", to_peer: "api", text: "Ready?" });

/** A sleeping agent behind a relay. */
async function relayed() {
  const r = relayWorld();
  const world = { open: (options: WorldOptions) => r.daemon(1, options) };
  const fixture = await sleepingWorld({ settings: ALWAYS, world });
  await addPeer(fixture.w, "web");
  /** A request of a browser that is signed in to a namespace of the relay. */
  const browse = (namespace: string, path: string) => {
    const cookie = `mesh=${namespace}`;
    r.sessions.set(cookie, namespace);
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    const request = { method: "POST", headers, body: path === "/ask" ? ASK : "{}" };
    return r.fetch(`/m/${daemonId(1)}${path}`, request);
  };
  const wakes =
    async () => [fixture.terminals.launches.length, (await wakeItems(fixture.w)).length];
  return {
    ...fixture,
    r,
    browse,
    wakes,
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await r[Symbol.asyncDispose]();
    },
  };
}

Deno.test("an ask of a program or a guest through the relay asks the human, and starts nothing", async () => {
  await using at = await relayed();
  const response = await at.r.ask(1, "/ask", { method: "POST", body: ASK });
  const { wake, reason } = await response.json();
  assert.deepEqual([wake?.state, reason], ["asking", "wake_asked"]);
  await at.w.tick(5);
  assert.deepEqual(await at.wakes(), [0, 1]);
});

Deno.test("a person at another namespace of the relay neither asks nor wakes", async () => {
  await using at = await relayed();
  for (const path of ["/ask", "/peers/api/wake"]) {
    const response = await at.browse("a-namespace-of-somebody-else", path);
    assert.ok(response.status >= 400, `${path} ${response.status}`);
    await response.body?.cancel();
  }
  await at.w.tick(5);
  assert.deepEqual(await at.wakes(), [0, 0]);
});

Deno.test("a wake through the relay needs relay.allow_admin", async () => {
  await using at = await relayed();
  const refused = await at.browse(NAMESPACE, "/peers/api/wake");
  assert.deepEqual([refused.status, (await refused.json()).error], [403, "relay_admin_off"]);
  assert.deepEqual(await at.wakes(), [0, 0]);
});

Deno.test("an ask from another machine asks the human of this one, whose answer starts the agent", async () => {
  const network = new MemoryNetwork();
  const laptop = network.join("laptop");
  const machines = [laptop];
  const open = (options: WorldOptions) => {
    const buildbox = network.join("buildbox", options);
    machines.push(buildbox);
    return buildbox;
  };
  await using fixture = await sleepingWorld({ settings: ALWAYS, world: { open } });
  await using _ = laptop;
  const { w, terminals } = fixture;
  await laptop.socket().connect({ display_name: "web", circle: "default" });
  await pass(machines, 3);
  const body = { from_peer: "web", to_peer: "api@buildbox", text: "Ready?" };
  const asked = await (await laptop.post("/ask", body)).json();
  assert.ok(asked.correlation_id, JSON.stringify(asked));
  await pass(machines, 10);
  assert.equal(terminals.launches.length, 0);
  const [item] = await wakeItems(w);
  assert.match(item?.text ?? "", /api \(codex in .*\) is asleep[^]*> Ready\?/);
  await w.post(`/inbox/${item?.item_id}/reply`, { option_id: "wake" });
  await untilLaunched(fixture);
});

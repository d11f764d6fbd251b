/** Peers that a daemon reaches by its bus, on other machines: no grant of the relay covers them. */

import assert from "node:assert/strict";
import { listMessages } from "protocol/messages/log.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { announce, BUILDBOX, sharedPeer } from "../../support/machines/remote_peers.ts";
import { connectDaemon, registerAgent, relayFixture } from "../../support/relay/composed_relay.ts";
import { connectApp, grantToken } from "../../support/relay/mcp_apps.ts";

const MACHINE_ID = "dm-000000000001";

/** A daemon behind the relay with the peer `web`, which knows `api` of another machine. */
async function withRemotePeer() {
  const at = relayFixture();
  const w = connectDaemon(at, MACHINE_ID);
  await registerAgent(w, "web");
  const api = sharedPeer("api", "3f9c");
  announce(w, BUILDBOX, [api]);
  const { peers } = await w.call(listPeers, { query: {} });
  assert.deepEqual(peers.map(({ display_name }) => display_name), ["web", "api@buildbox"]);
  const app = await connectApp(at, grantToken(at, "t1"));
  return {
    w,
    app,
    peer_id: api.peer_id,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await w[Symbol.asyncDispose]();
      await at[Symbol.asyncDispose]();
    },
  };
}

Deno.test("list_agents has only the agents of the machine that it names", async () => {
  await using fixture = await withRemotePeer();
  const { data } = await fixture.app.call("list_agents", { daemon_id: MACHINE_ID });
  const { agents } = data;
  assert.ok(Array.isArray(agents));
  assert.deepEqual(agents.map(({ display_name }) => display_name), ["web"]);
});

for (const tool of ["send_message", "ask_agent"]) {
  Deno.test(`${tool} to the id of a peer of another machine is refused, and nothing is sent`, async () => {
    await using fixture = await withRemotePeer();
    const given = { daemon_id: MACHINE_ID, peer_id: fixture.peer_id, message: "Hello" };
    const { data, refused } = await fixture.app.call(tool, given);
    assert.deepEqual([refused, data["error"]], [true, "unknown_peer"]);
    assert.deepEqual((await fixture.w.call(listMessages, { query: {} })).messages, []);
  });
}

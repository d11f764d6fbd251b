/** The commands on agents that sleep: their output, and the wake by a person. */

import assert from "node:assert/strict";
import { answeringDaemon, PEER } from "../../support/cli/answering_daemon.ts";
import { cliFixture } from "../../support/cli/listening_daemon.ts";
import { ask } from "../../support/daemon/peer_clients.ts";
import { sleepingWorld } from "../../support/daemon/wakes.ts";

const ASLEEP = { state: "asleep", policy: "ask", reason: null, detail: null };
const OFFLINE = { ...PEER, status: "offline", turn_state: null };

Deno.test("`peers` shows a sleeping agent as asleep, and one that cannot be woken as offline", async () => {
  const peers = [
    { ...OFFLINE, name: "sleeper", wake: ASLEEP },
    {
      ...OFFLINE,
      peer_id: "peer-a1b2c3d4e5f6",
      name: "gone",
      wake: { ...ASLEEP, state: "not_resumable" },
    },
  ];
  await using p = answeringDaemon({ "GET /peers": () => ({ peers }) });
  const { out } = await p.mesh(["peers"]);
  assert.match(out, /sleeper.*asleep/);
  assert.match(out, /gone.*offline/);
});

Deno.test("`ask` says that its recipient sleeps, and how it goes on", async () => {
  const opened = {
    correlation_id: "ask-000000000001",
    trace_id: "ask-000000000001",
    to_peer_id: PEER.peer_id,
    to_peer_name: "api",
    delivery_state: "queued",
    wake: { ...ASLEEP, state: "asking" },
  };
  await using p = answeringDaemon({ "POST /ask": () => opened });
  const { out } = await p.mesh(["ask", "api", "Ready?"]);
  assert.match(out, /queued to api\napi is asleep, and the human is asked whether to wake it/);
});

Deno.test("`wake` starts a sleeping agent, and `peer set --wake` changes what asks do", async () => {
  const bodies: unknown[] = [];
  await using p = answeringDaemon({
    "GET /peers/api": () => PEER,
    [`POST /peers/api/wake`]: () => ({
      ok: true,
      peer_id: PEER.peer_id,
      name: "api",
      wake: { ...ASLEEP, state: "waking" },
    }),
    [`PATCH /peers/${PEER.peer_id}`]: ({ body }) => {
      bodies.push(body);
      return PEER;
    },
  });
  assert.match((await p.mesh(["wake", "api"])).out, /api was asleep, and is being woken/);
  await p.mesh(["peer", "set", "api", "--wake", "never"]);
  await p.mesh(["peer", "set", "api", "--wake", "default"]);
  assert.deepEqual(bodies.map((body) => (body as { wake: unknown }).wake), ["never", null]);
  assert.equal((await p.mesh(["peer", "set", "api", "--wake", "sometimes"])).code, 2);
});

Deno.test("`show`, `why` and `peer show` say that the recipient of an open ask sleeps", async () => {
  const { w, folder } = await sleepingWorld();
  using _folder = { [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }) };
  await using p = cliFixture(w);
  const id = await ask(w, "cli", "api");
  for (const args of [["show", id], ["why", id], ["peer", "show", "api"]]) {
    const { out } = await p.mesh(...args);
    assert.match(out, /api is asleep, and the human is asked whether to wake it/, args.join(" "));
  }
});

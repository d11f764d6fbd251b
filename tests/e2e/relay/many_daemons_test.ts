import assert from "node:assert/strict";
import { toConnection } from "kit/net/tunnel/connection.ts";
import type { OpenSocket } from "../../../daemon/api/relay/relay_client.ts";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import { daemonId } from "../../support/relay/relay_world.ts";
import { NAMESPACE, RealRelay, SECRET } from "../../support/e2e/relay_lab.ts";
import { until } from "../../support/waiting.ts";

const DAEMONS = 500;
const SECRETS = 10;
const openSocket: OpenSocket = (address, headers, listener) =>
  toConnection(new WebSocket(address, { headers: { ...headers } }), listener);

Deno.test("five hundred daemons keep their tunnels, and each is asked by its own id", async () => {
  await using relay = new RealRelay();
  const address = relay.url.replace("http", "ws");
  const daemons = Array.from({ length: DAEMONS }, (_, at) => {
    // A secret has at most a hundred machines, so these belong to ten people.
    const secret = at % SECRETS === 0 ? SECRET : SECRET.slice(0, -1) + String(at % SECRETS);
    const daemon = ScriptedDaemon.openSocket(openSocket, {
      address,
      secret,
      daemon_id: daemonId(at + 1),
    });
    daemon.on = (frame) => {
      if (frame.type === "ping") daemon.sendFrame({ type: "pong", ping_id: frame.ping_id });
      if (frame.type !== "request") return;
      const { id } = frame;
      daemon.sendFrame({ type: "response", id, status: 200, headers: [], body: true });
      daemon.sendChunk(id, new TextEncoder().encode(daemonId(at + 1)));
      daemon.sendFrame({ type: "end", id });
    };
    return daemon;
  });
  await until("all of them", () => relay.relay.machines.size === DAEMONS || undefined);
  const namespaceMachines = relay.relay.machines.list(NAMESPACE);
  assert.equal(namespaceMachines.length, DAEMONS / SECRETS);
  const answers = await Promise.all(namespaceMachines.map(async ({ daemon_id }) => {
    return [daemon_id, await (await relay.ask(daemon_id, "/health")).text()];
  }));
  assert.ok(answers.every(([asked, answered]) => asked === answered));
  for (const daemon of daemons) daemon.close();
  await until("all are gone", () => relay.relay.machines.size === 0 || undefined);
});

Deno.test("a real connection that sends invalid frames is closed with its reason, and the relay continues", async () => {
  await using relay = new RealRelay();
  const address = relay.url.replace("http", "ws");
  for (const invalidFrame of [{ type: "response" }, { type: "\u20ac".repeat(300) }, {}]) {
    const daemon = ScriptedDaemon.openSocket(openSocket, {
      address,
      secret: SECRET,
      daemon_id: daemonId(1),
    });
    await until("the greeting", () => daemon.of("welcome")[0]);
    daemon.sendFrame({ id: "x".repeat(300), headers: "\u20ac", ...invalidFrame });
    const closed = await until("the end", () => daemon.closed);
    assert.equal(closed.code, 4002);
    assert.equal((await (await fetch(`${relay.url}/health`)).json()).status, "ok");
  }
});

/** The flag of urgent messages: on every way to send one, and in what recipients get. */

import assert from "node:assert/strict";
import { runCli } from "../../../../cli.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";
import { connect, mcpFixture } from "../../../support/daemon/mcp_server.ts";
import { ask, connectPeer, get, notify, post } from "../../../support/daemon/peer_clients.ts";
import { laptopAndBuildbox } from "../../../support/machines/memory_network.ts";
import { world } from "../../../support/world.ts";

Deno.test("an ask, a notification and a broadcast can be urgent, over HTTP and /ws", async () => {
  await using w = world();
  const ada = await connectPeer(w, "ada"), bob = await connectPeer(w, "bob");
  await ask(w, "ada", "bob", "Ready?", { urgent: true });
  await notify(w, "ada", "bob", "Stop", { urgent: true });
  await post(w, "/broadcast", { from_peer: "ada", text: "All", urgent: true });
  await ada.send({ type: "ask", request_id: "1", to_peer: "bob", text: "Now?", urgent: true });
  await ada.send({ type: "notify", request_id: "2", to_peer: "bob", text: "Now", urgent: true });
  const frames = [...bob.of("ask"), ...bob.of("notify"), ...bob.of("broadcast")];
  assert.deepEqual(frames.map(({ urgent }) => urgent), [true, true, true, true, true]);
  const { deliveries } = await get(w, "/deliveries?peer_id=bob");
  assert.equal(deliveries.filter(({ urgent }: { urgent: boolean }) => urgent).length, 5);
});

Deno.test("a message is not urgent by itself, and its frame does not mention it", async () => {
  await using w = world();
  const bob = await connectPeer(w, "bob");
  const { delivery_id } = await notify(w, "ada", "bob", "Later");
  assert.equal(Object.hasOwn(bob.of("notify")[0] ?? {}, "urgent"), false);
  assert.equal((await get(w, `/messages/${delivery_id}`)).urgent, false);
});

Deno.test("a flag that is neither true nor false is refused", async () => {
  await using w = world();
  await connectPeer(w, "bob");
  const { status, error } = await post(w, "/notify", {
    from_peer: "ada",
    to_peer: "bob",
    text: "Stop",
    urgent: "very",
  });
  assert.deepEqual([status, error], [422, "invalid_request"]);
});

Deno.test("the tools of agents pass the flag on", async () => {
  const { fetch, received } = mcpFixture({});
  await using at = await connect(fetch);
  const message = { message: "Stop", urgent: true };
  for (const tool of ["ask", "notify_peer"]) await at.call(tool, { peer: "web", ...message });
  await at.call("broadcast", message);
  const flags = received.flatMap(({ body }) => body ? [Object(body).urgent] : []);
  assert.deepEqual(flags, [true, true, true]);
});

Deno.test("mesh ask, notify and broadcast have --urgent, and otherwise let the daemon decide", async () => {
  const bodies: Record<string, unknown>[] = [];
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
  await using server = Deno.serve(options, async (request) => {
    if (request.method === "POST") bodies.push(await request.json());
    return Response.json({ error: "unknown_peer", detail: "Unknown peer: web" }, { status: 404 });
  });
  const dir = Deno.makeTempDirSync();
  const port = String(server.addr.port);
  const env = { MESH_CONFIG: `${dir}/none`, MESH_STATE: dir, MESH_DAEMON__PORT: port };
  for (const command of [["ask", "web", "Now?"], ["notify", "web", "Now"], ["broadcast", "Now"]]) {
    for (const flag of [["--urgent"], []]) {
      await runCli([...command, "--from", "ada", ...flag], env, capturedTerminal().terminal);
    }
  }
  Deno.removeSync(dir, { recursive: true });
  const urgent = bodies.filter((body) => "text" in body).map((body) => body["urgent"]);
  assert.deepEqual(urgent, [true, undefined, true, undefined, true, undefined]);
});

Deno.test("an urgent message to a peer of another machine is urgent there, too", async () => {
  await using two = await laptopAndBuildbox();
  const body = { from_peer: "web", to_peer: "api@buildbox", text: "Stop" };
  await two.laptop.call(notifyPeer, { body: { ...body, urgent: true } });
  await two.laptop.call(notifyPeer, { body });
  await two.pass();
  assert.deepEqual(two.api.of("notify").map(({ urgent }) => urgent), [true, undefined]);
});

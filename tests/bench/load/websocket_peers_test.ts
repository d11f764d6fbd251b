/** The load generator's peers stay connected, and tell pings from messages. */

import assert from "node:assert/strict";
import { Connections } from "./websocket_peers.ts";

Deno.test("a peer answers a ping, which does not count as a message", async () => {
  const frames: Record<string, unknown>[] = [];
  const served = Promise.withResolvers<WebSocket>();
  const ponged = Promise.withResolvers<void>();
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => {
      frames.push(JSON.parse(data));
      if (frames.length === 1) {
        socket.send(JSON.stringify({ type: "connected", peer_id: "peer-1" }));
        served.resolve(socket);
      } else ponged.resolve();
    };
    return response;
  });
  const closed = Promise.withResolvers<void>();
  {
    using peers = await Connections.join({ port: server.addr.port, peers: 1, bare: false });
    const socket = await served.promise;
    socket.onclose = () => closed.resolve();
    const order: string[] = [];
    const arrived = peers.next(0).then(() => order.push("message"));
    socket.send(JSON.stringify({ type: "ping", ping_id: "3" }));
    await ponged.promise;
    order.push("pong");
    socket.send(JSON.stringify({ type: "notify", text: "hello" }));
    await arrived;
    assert.equal(peers.id(0), "peer-1");
    assert.deepEqual(order, ["pong", "message"]);
    assert.deepEqual(frames[1], { type: "pong", ping_id: "3" });
  }
  await closed.promise;
});

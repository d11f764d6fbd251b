import assert from "node:assert/strict";
import { LOOPBACK, world } from "../../support/world.ts";

Deno.test("a client that sends too many bad frames gets the code of its close", async () => {
  await using w = world();
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => undefined };
  const server = Deno.serve(options, (request) => w.daemon.fetch(request, LOOPBACK));
  const connect = `{"type":"connect","display_name":"bob","backend":"sdk"}`;
  // deno-fmt-ignore
  const floods: [first: string[], code: number][] = [
    [[],                       4000],
    [[`{"type":"connect"}`],   4002],
    [[connect],                4008],
  ];
  for (const [first, code] of floods) {
    const socket = new WebSocket(`ws://127.0.0.1:${server.addr.port}/ws`);
    const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
    await new Promise((resolve) => socket.onopen = resolve);
    for (const frame of [...first, ...Array<string>(60).fill("{")]) socket.send(frame);
    assert.equal((await closed).code, code);
  }
  await server.shutdown();
});

import assert from "node:assert/strict";
import { LOOPBACK, type World, world } from "../../support/world.ts";
import { notify } from "../../support/daemon/peer_clients.ts";
import { pushTo, type SentItem } from "../../support/daemon/surfaces.ts";

/** A daemon's routes on a real socket of this machine. */
function listen(w: World) {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => undefined };
  const server = Deno.serve(options, (request) => w.daemon.fetch(request, LOOPBACK));
  return { url: `ws://127.0.0.1:${server.addr.port}/ws`, stop: () => server.shutdown() };
}

/** A surface on a real socket; its frames arrive one by one. */
async function connect(url: string) {
  const socket = new WebSocket(url);
  const frames: (SentItem & { type: string })[] = [];
  let wake = () => {};
  socket.onmessage = ({ data }) => {
    frames.push(JSON.parse(data));
    wake();
  };
  await new Promise((resolve) => socket.onopen = resolve);
  const next = async (type: string) => {
    for (;;) {
      const at = frames.findIndex((frame) => frame.type === type);
      const [found] = at < 0 ? [] : frames.splice(at, 1);
      if (found) return found;
      await new Promise<void>((resolve) => wake = resolve);
    }
  };
  const send = (frame: Record<string, unknown>) => socket.send(JSON.stringify(frame));
  const capabilities = ["inbox_surface"];
  send({ type: "connect", display_name: "phone", backend: "sdk", capabilities });
  await next("connected");
  const end = async () => {
    const closed = new Promise((resolve) => socket.onclose = resolve);
    socket.close();
    await closed;
  };
  return { send, next, end };
}

Deno.test("a surface on a real socket gets its items, and again those that it did not show", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  const server = listen(w);
  const first = await connect(server.url);
  const shown = await notify(w, "ada", "sam", "🦊 shown");
  const pushed = await first.next("inbox_item");
  const { delivery_id } = pushed;
  first.send({ type: "delivery_ack", delivery_id, status: "pushed", surface_ref: 7 });
  await notify(w, "ada", "sam", "not shown");
  await first.next("inbox_item");
  await first.end();
  const second = await connect(server.url);
  const missed = await second.next("inbox_item");
  assert.deepEqual([pushed.item.text, missed.item.text], ["🦊 shown", "not shown"]);
  const push = await pushTo(w, shown.inbox_item_id ?? "", "phone");
  assert.deepEqual([push?.status, push?.surface_ref], ["pushed", "7"]);
  await second.end();
  await server.stop();
});

import assert from "node:assert/strict";
import { Socket } from "node:net";
import { adaptSocket } from "../../../../daemon/machines/nats/link.ts";

Deno.test("an error of a socket between two steps of the client ends no process", async () => {
  const socket = adaptSocket(new Socket());
  socket.on("data", () => undefined);
  socket.removeAllListeners();
  assert.equal(socket.listenerCount("data"), 0);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.destroy(new Error("read ECONNRESET"));
  await closed;
  assert.ok(socket.destroyed);
});

Deno.test("an empty write is done at once, whatever its arguments are", async () => {
  const socket = adaptSocket(new Socket());
  await new Promise<void>((resolve) => socket.write(new Uint8Array(), () => resolve()));
  await new Promise<void>((resolve) => socket.write("", "utf8", () => resolve()));
  assert.equal(socket.write(""), true);
  assert.equal(socket.writableLength, 0);
  socket.destroy();
});

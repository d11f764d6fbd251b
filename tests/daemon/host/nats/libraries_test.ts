import assert from "node:assert/strict";
import { Socket } from "node:net";
import { catchSocketErrors } from "../../../../daemon/host/nats/libraries.ts";

Deno.test("an error of a socket between two steps of the client ends no process", async () => {
  const transport = { dial: () => Promise.resolve(new Socket()) };
  catchSocketErrors(transport);
  const socket = await transport.dial();
  socket.on("data", () => undefined);
  socket.removeAllListeners();
  assert.equal(socket.listenerCount("data"), 0);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.destroy(new Error("read ECONNRESET"));
  await closed;
  assert.ok(socket.destroyed);
});

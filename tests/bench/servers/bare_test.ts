/** The yardstick for messages stores a row before it pushes the frame and answers. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { Script, temporary } from "../../support/programs/child.ts";
import { Connections } from "../load/websocket_peers.ts";

Deno.test("durable bare has committed a message when its frame arrives", async () => {
  using state = temporary();
  const path = `${state.path}/durable.db`;
  await using server = await Script.start<{ port: number }>("servers/bare.ts", path);
  const { port } = server.report;
  using peers = await Connections.join({ port, peers: 2, bare: true });
  const arrived = peers.next(1);
  const body = JSON.stringify({ id: 7, to: 1, text: "hello" });
  const answer = fetch(`http://127.0.0.1:${port}/push`, { method: "POST", body });
  await arrived;
  using db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("select recipient, text from messages").all().map((row) => ({ ...row }));
  assert.deepEqual(rows, [{ recipient: 1, text: "hello" }]);
  assert.deepEqual(await (await answer).json(), { id: 7, ok: true });
});

Deno.test("a wait at the yardstick returns after the reply, not after other messages", async () => {
  await using server = await Script.start<{ port: number }>("servers/bare.ts");
  const order: string[] = [];
  const post = async (path: string, body: unknown) => {
    const url = `http://127.0.0.1:${server.report.port}${path}`;
    const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
    await answer.body?.cancel();
    order.push(path);
  };
  const returned = post("/wait", { id: 7 });
  await post("/push", { id: 8, to: 0 });
  await Promise.all([returned, post("/reply", { id: 7, text: "hello" })]);
  assert.deepEqual(order.toSorted(), ["/push", "/reply", "/wait"]);
  assert.equal(order[0], "/push");
});

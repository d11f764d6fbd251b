/** Items whose ask the human answers outside the inbox. */

import assert from "node:assert/strict";
import { world } from "../../../support/world.ts";
import { addPeer, ask, eventData, get, post } from "../../../support/daemon/peer_clients.ts";

Deno.test("an item whose ask the human answers by id is read and replied", async () => {
  // deno-fmt-ignore
  const answerRoutes: [path: string, eventData: Record<string, string>][] = [
    ["/ack",     { message: "Yes"      }],
    ["/ack",     {}                     ],
    ["/decline", { reason: "Not today" }],
  ];
  for (const [path, args] of answerRoutes) {
    await using w = world({ settings: { "human.name": "sam" } });
    await addPeer(w, "ada");
    const correlation_id = await ask(w, "ada", "sam");
    await post(w, path, { correlation_id, from_peer: "dashboard", ...args });
    const { items: [item] } = await get(w, "/inbox");
    assert.deepEqual([item.read, item.read_by, item.replied], [true, null, true], path);
    const { item_id } = item;
    const updated = { item_id, read: true, replied: true, surface: null };
    assert.deepEqual(eventData(w, "inbox_updated"), [updated]);
    assert.deepEqual((await get(w, "/inbox?unread=1")).items, []);
  }
});

Deno.test("an ask that its asker cancels leaves the item unread", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "ada");
  const correlation_id = await ask(w, "ada", "sam");
  await post(w, `/asks/${correlation_id}/cancel`, { peer_id: "ada" });
  const { items: [item] } = await get(w, "/inbox");
  assert.deepEqual([item.read, item.replied, eventData(w, "inbox_updated")], [false, false, []]);
});

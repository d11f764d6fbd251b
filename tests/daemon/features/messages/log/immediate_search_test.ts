/** A search finds messages that were sent a moment ago. */

import assert from "node:assert/strict";
import { world } from "../../../../support/world.ts";
import { addPeer, ask, get, notify, post } from "../../../../support/daemon/peer_clients.ts";

Deno.test("a new message and a reply to it are found before any tick", async () => {
  await using w = world();
  await addPeer(w, "api");
  await addPeer(w, "web");
  const found = async (q: string) =>
    (await get(w, `/messages?q=${q}`)).messages.map(({ text }: { text: string }) => text);
  const id = await ask(w, "api", "web", "Where are the quinces?");
  assert.deepEqual(await found("quinces"), ["Where are the quinces?"]);
  await post(w, "/ack", { correlation_id: id, from_peer: "web", message: "In the cellar" });
  assert.deepEqual((await found("cellar")).toSorted(), ["In the cellar", "Where are the quinces?"]);
  for (let count = 0; count < 300; count++) await notify(w, "api", "web", `medlar ${count}`);
  assert.deepEqual(await found("299"), ["medlar 299"]);
  assert.equal((await found("medlar")).length, 50);
});

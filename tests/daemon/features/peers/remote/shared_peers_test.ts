/** The peers that a machine shares with others, and their maximum number. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import { addPeer } from "../../../../support/daemon/peer_clients.ts";
import { member } from "../../../../support/machines/directories.ts";

Deno.test("at most 1,000 peers are announced, the last seen first, and no peer offline for 7 days", async () => {
  await using a = member({ name: "laptop" });
  const shared = () => a.shared.list().map(({ name }) => name);
  await addPeer(a.w, "long-gone");
  await a.w.post("/peers/long-gone/offline", {});
  await a.w.clock.advance(7 * DAY_MS - 60_000);
  await addPeer(a.w, "gone");
  await a.w.post("/peers/gone/offline", {});
  assert.deepEqual(shared().sort(), ["gone", "long-gone"]);
  await a.w.clock.advance(61_000);
  assert.deepEqual(shared(), ["gone"]);
  for (let number = 0; number < 1000; number++) {
    if (number === 500) await a.w.clock.advance(1000);
    await addPeer(a.w, `peer-of-${number}`);
  }
  assert.equal(shared().length, 1000);
  assert.ok(!shared().includes("gone"), "it was seen before all others");
});

Deno.test("what a peer waits for is shared without the name of the tool", async () => {
  await using a = member({ name: "laptop" });
  await addPeer(a.w, "api");
  const dialog = {
    turn_state: "awaiting_input",
    waits_for: { kind: "permission", detail: "Bash" },
  };
  await a.w.post("/peers/api/turn", dialog);
  const [api] = a.shared.list();
  assert.deepEqual([api?.waits_for?.kind, api?.waits_for?.detail], ["permission", null]);
});

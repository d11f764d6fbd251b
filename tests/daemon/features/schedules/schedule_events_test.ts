/** Events of schedules that someone creates, edits or cancels. */

import assert from "node:assert/strict";
import { eventData } from "../../../support/daemon/peer_clients.ts";
import { cancel, edit, schedule, worldWithPeers } from "../../../support/daemon/schedules.ts";

Deno.test("a schedule that is created, edited or cancelled is published once", async () => {
  await using at = await worldWithPeers();
  const { w } = at;
  const { schedule_id } = await schedule(w, { fire_at: "2030-01-01T02:10:00+02:00" });
  await edit(w, schedule_id, { text: "Sit down" });
  await cancel(w, schedule_id);
  await cancel(w, schedule_id);
  assert.deepEqual(
    eventData(w, "schedule_changed"),
    ["active", "active", "cancelled"].map((state) => ({ schedule_id, state })),
  );
});

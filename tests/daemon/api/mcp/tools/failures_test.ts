/** Tools of several requests, one of which fails. */

import assert from "node:assert/strict";
import * as z from "zod";
import { agents } from "../../../../support/daemon/mcp_agents.ts";
import { SqliteFaults } from "../../../../support/storage/sqlite_faults.ts";
import { world } from "../../../../support/world.ts";

Deno.test("whichever statement fails while the tool ask waits: it names its ask if that is stored", async () => {
  using faults = new SqliteFaults();
  await using w = world();
  await using at = await agents(w, "2025-11-25");
  const lastAsk = () =>
    w.daemon.ctx.db.value(
      z.string().nullable(),
      "select max(correlation_id) from messages where kind = 'ask'",
    );
  let named = 0;
  for (let after = 0, hit = true; hit; after++) {
    await w.tick();
    const before = lastAsk();
    faults.reset();
    faults.arm({ fault: "io_error", at: "any", after, endsTransaction: false });
    const asking = at.api.call("ask", { peer: "web", message: `Why ${after}?`, wait_seconds: 1 });
    let isOver = false;
    void asking.finally(() => isOver = true);
    await w.clock.advanceUntil("the end of the tool", () => isOver);
    const { text } = await asking;
    faults.disarm();
    hit = faults.hit;
    const id = lastAsk() ?? "";
    if (id !== before) assert.ok(text.includes(id), `${after}: ${text}`);
    if (text.includes(`Done before: ${id}.`)) named++;
  }
  assert.ok(named > 0);
});

/** Asks: chains of who waits for whom, and what is closed. */

import assert from "node:assert/strict";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

browserTest(
  "open asks are drawn as a chain, and a peer that holds up several is named",
  async (lab) => {
    const [boss, api, db] = [
      await lab.peer({ name: "boss" }),
      await lab.peer({ name: "api" }),
      await lab.peer({ name: "db" }),
    ];
    await boss.request("ask", { to_peer: api.peer_id, text: "Is the release ready?" });
    const { correlation_id } = await api.request("ask", {
      to_peer: db.peer_id,
      text: "May I migrate?",
    });
    const page = await lab.open("#/asks");
    const chain = page.getByRole("list", { name: "What api waits for" });
    await chain.getByText("May I migrate?").waitFor();
    const blockers = page.getByRole("region", { name: "For whom several peers wait" });
    await blockers.getByText("2 wait for db").waitFor();
    await db.request("ack", { correlation_id, message: "Yes." });
    await page.getByText("May I migrate?").waitFor({ state: "detached" });
    assert.equal(await blockers.count(), 0);
    await page.getByRole("button", { name: "Closed" }).click();
    await page.getByText("May I migrate?").waitFor();
    assert.match(page.url(), /#\/asks\?state=closed$/);
  },
);

browserTest("asks that wait for each other are marked as a circle", async (lab) => {
  const [api, db] = [await lab.peer({ name: "api" }), await lab.peer({ name: "db" })];
  await api.request("ask", { to_peer: db.peer_id, text: "Are you done?" });
  await db.request("ask", { to_peer: api.peer_id, text: "Are you?" });
  const page = await lab.open("#/asks");
  await page.getByText(/waits, in a circle, for/).waitFor();
  assert.equal(await page.locator(".wait-tree .log-row").count(), 2);
});

/** Subagents on the page of the peer that started them, in a real browser with a real daemon. */

import assert from "node:assert/strict";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

browserTest("a peer's subagents are on its page, live, and not in the lists", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const report = (agent_id: string, phase: "started" | "ended") =>
    api.send({ type: "subagent", agent_id, agent_type: "explore", phase });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByText("No messages yet").waitFor();
  assert.equal(await page.getByText("Subagents").count(), 0, "It has none");
  report("a-1", "started");
  const list = page.getByRole("list", { name: "Subagents" });
  await list.getByRole("link", { name: "api.explore-1" }).waitFor();
  report("a-2", "started");
  report("a-1", "ended");
  await page.getByText("1 running").waitFor();
  await list.getByText("ended", { exact: true }).waitFor();
  assert.equal(await page.getByRole("navigation", { name: "Peers" }).getByRole("link").count(), 1);
  await list.getByRole("link", { name: "api.explore-2" }).click();
  await page.getByText("It takes no messages: a subagent of api.").waitFor();
});

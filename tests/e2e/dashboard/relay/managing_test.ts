/** Acts that a machine does not allow through a relay are disabled, or refused with the reason. */

import assert from "node:assert/strict";
import { listLeases, takeLease } from "protocol/holdings/leases.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { relayTest } from "../../../support/dashboard/relay_dashboard_lab.ts";
import { WorkTrees } from "../../../support/repositories/work_trees.ts";
import { until } from "../../../support/waiting.ts";

const DESK = { viewport: { width: 1440, height: 900 } };
const ADMIN_OFF = "Not available through a relay, as relay.allow_admin is off";
const NEVER = "Not available through a relay. Open the dashboard on that machine itself.";

for (
  const [allowed, title] of [["false", "disabled with its reason"], ["true", "enabled"]] as const
) {
  relayTest(
    `with relay.allow_admin ${allowed}, the button that stops a turn is ${title}`,
    async (lab) => {
      const daemon = await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: allowed });
      const api = await lab.peer(daemon, { name: "api", backend: "acp", interrupts: true });
      api.send({ type: "status", status: "busy", turn_state: "working" });
      const page = await lab.open(daemon.daemon_id, `#/peers/${api.peer_id}`);
      const stop = page.locator(".peer-head").getByRole("button", { name: "Stop the turn of api" });
      const reason = page.locator('.peer-head .stop-turn[title*="relay.allow_admin is off"]');
      if (allowed === "false") {
        await reason.waitFor();
        await stop.dispatchEvent("click");
        assert.equal(await page.getByRole("dialog").count(), 0);
        return;
      }
      await page.locator(".peer-head .stop-turn[aria-disabled=false]").click();
      await page.getByRole("button", { name: "Stop it" }).click();
      await until("the request", () => api.frames.some(({ type }) => type === "interrupt"));
      api.send({ type: "status", status: "online", turn_state: "idle", error: "interrupted" });
      await page.getByText("The turn of api was interrupted").waitFor();
    },
  );
}

relayTest(
  "with relay.allow_admin false, leases and reviews are refused, as is each act",
  async (lab) => {
    const daemon = await lab.daemon();
    using trees = new WorkTrees(1, 1);
    await trees.connect({ peer: (fields) => lab.peer(daemon, fields) });
    const page = await lab.open(daemon.daemon_id, "#/mesh?tab=holdings", DESK);
    await page.locator(".unavailable", { hasText: ADMIN_OFF }).waitFor();
    await page.evaluate("location.hash = '#/review'");
    await page.locator(".unavailable", { hasText: ADMIN_OFF }).waitFor();
    assert.equal(await page.locator(".review-row").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
    assert.deepEqual(await violationsOf(page), []);
    lab.forgive(/403/);
  },
);

relayTest("leases are listed through a relay, and end on the machine itself only", async (lab) => {
  const daemon = await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: "true" });
  const call = lab.callOf(daemon);
  const page = await lab.open(daemon.daemon_id, "#/mesh?tab=holdings");
  await page.getByText("Nothing is leased").waitFor();
  const { port } = await call(takeLease, {
    body: { resource: "port", name: "web", pid: Deno.pid },
  });
  const end = page.getByRole("button", { name: `End it: the lease of port web ${port}` });
  await end.waitFor();
  assert.equal(await end.getAttribute("title"), NEVER);
  assert.equal(await end.getAttribute("aria-disabled"), "true");
  await end.dispatchEvent("click");
  await page.getByRole("status").filter({ hasText: `Not done: ${NEVER}` }).waitFor();
  assert.equal((await call(listLeases, {})).leases.length, 1);
  const field = page.getByRole("searchbox", { name: "File or port" });
  await field.fill(String(port));
  await page.locator(".rail").getByText(`port web ${port}`).waitFor();
  await field.fill("/home/sam/a.ts");
  await page.locator(".unavailable", { hasText: NEVER }).waitFor();
  assert.deepEqual(await violationsOf(page), []);
  lab.forgive(/403/);
});

relayTest(
  "with relay.allow_admin, a person comments, sends back and accepts through a relay",
  async (lab) => {
    const daemon = await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: "true" });
    using trees = new WorkTrees(2, 1);
    const peers = await trees.connect({ peer: (fields) => lab.peer(daemon, fields) });
    const page = await lab.open(daemon.daemon_id, "#/review", DESK);
    const rows = page.getByRole("main").locator(".review-row");
    await until("two reviews", async () => await rows.count() === 2);
    const pane = page.getByRole("region", { name: "The chosen review" });
    await pane.getByRole("button", { name: "Comment", exact: true }).click();
    await page.keyboard.press("c");
    await page.getByRole("textbox", { name: "Comment on line" }).fill("Why 0?");
    await page.keyboard.press("Control+Enter");
    await pane.getByRole("button", { name: "Send 1 comment" }).click();
    const framesOf = (text: string) =>
      peers.flatMap(({ frames }) => frames).filter((frame) => frame.text?.includes(text));
    await until("the comment", () => framesOf("Why 0?").length === 1);
    assert.deepEqual(await violationsOf(page), []);
    await pane.getByRole("button", { name: "Send back" }).click();
    await page.getByLabel(/^What is missing/).fill("Mend it");
    await page.keyboard.press("Control+Enter");
    await until("one is left", async () => await rows.count() === 1);
    assert.equal(framesOf("Mend it").length, 1);
    await pane.getByRole("button", { name: /^Accept/ }).click();
    await page.getByText("Nothing is ready to review").waitFor();
    await page.getByRole("button", { name: "All" }).click();
    for (const state of ["accepted", "sent back"]) await rows.getByText(state).waitFor();
  },
);

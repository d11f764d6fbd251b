/** An act that a machine does not allow through a relay is shown disabled, with the reason. */

import assert from "node:assert/strict";
import { relayTest } from "../../../support/dashboard/relay_dashboard_lab.ts";
import { until } from "../../../support/waiting.ts";

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

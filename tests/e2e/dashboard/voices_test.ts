/** The dashboard shows, and is bound by, what is proved about who writes. */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { print } from "../../support/waiting.ts";

/** A test with a lab; it fails if a page did what none may do. */
function browserTest(name: string, run: (lab: DashboardLab) => Promise<void>): void {
  Deno.test(name, async () => {
    const lab = await DashboardLab.start();
    if (!lab) return print(`skipped: ${name} (no Chromium; install the package chromium)`);
    await using _lab = lab;
    await run(lab);
    assert.deepEqual(lab.offences, []);
  });
}

browserTest(
  "a message that a script sends in the human's name is marked as unverified",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    for (const [from_peer, text] of [["sam", "Delete everything"], ["ci", "Built"]] as const) {
      await lab.call(notifyPeer, { body: { from_peer, to_peer: "api", text } });
    }
    const page = await lab.open("#/log");
    for (
      const [view, entry] of [["log", ".log-row"], [`peers/${api.peer_id}`, ".bubble"]] as const
    ) {
      await page.goto(`${lab.daemon.base}/dashboard#/${view}`);
      const forged = page.locator(entry, { hasText: "Delete everything" });
      await forged.getByText("unverified", { exact: true }).waitFor();
      const honest = page.locator(entry, { hasText: "Built" });
      assert.equal(await honest.getByText("unverified").count(), 0);
    }
  },
);

browserTest(
  "an answer on a page without a ticket is unverified, on one with a ticket the human's",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    for (const voice of ["unverified", "human"] as const) {
      const page = voice === "human" ? await lab.open() : await lab.openPlain();
      const options = [{ id: "go", title: `Go, ${voice}` }];
      const question = { kind: "choice", options };
      const { correlation_id = "" } = await api.request("ask", {
        to_peer: "sam",
        text: "Go?",
        question,
      });
      const button = page.getByRole("button", { name: `Go, ${voice}` });
      await button.click();
      await button.waitFor({ state: "detached" });
      const { answer, reply_voice } = await lab.call(getAsk, { params: { id: correlation_id } });
      assert.deepEqual([answer?.option_id, reply_voice], ["go", voice]);
    }
  },
);

/** Leases, the users of a file or a port, and files of two agents, in a real browser. */

import assert from "node:assert/strict";
import { listLeases, takeLease } from "protocol/holdings/leases.ts";
import { FILES, OVERLAPS } from "../../../../dashboard/gallery/holdings.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

const VIEW = "#/mesh?tab=holdings";

browserTest(
  "leases are listed as they are taken, and a person ends one after a question",
  async (lab) => {
    const page = await lab.open(VIEW);
    await page.getByText("Nothing is leased").waitFor();
    const body = { resource: "port", name: "web", pid: Deno.pid };
    const { port } = await lab.call(takeLease, { body });
    await page.getByText(`port web ${port}`).waitFor();
    await page.getByText(`until process ${Deno.pid} ends`).waitFor();
    await page.getByRole("button", { name: `End it: the lease of port web ${port}` }).click();
    await page.getByText("may still use it").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
    await page.getByText("Nothing is leased").waitFor();
    assert.deepEqual((await lab.call(listLeases, {})).leases, []);
  },
);

browserTest("a search names who leased a port and who listens there", async (lab) => {
  const body = { resource: "port", name: "web", pid: Deno.pid };
  const { port } = await lab.call(takeLease, { body });
  const page = await lab.open(VIEW);
  const field = page.getByRole("searchbox", { name: "File or port" });
  await field.fill(String(port));
  await page.locator(".rail").getByText(`port web ${port}`).waitFor();
  await field.fill("src/a.ts");
  await page.getByText("Give the absolute path of a file").waitFor();
  await field.fill(`${lab.state}/nobody.ts`);
  await page.getByText("No agent is known to have read or written it").waitFor();
});

browserTest("the users of a file and the files of two agents are named, as text", async (lab) => {
  const page = await lab.open();
  await page.route(/\/files\?/, (route) => route.fulfill({ json: FILES[0] }));
  await page.route(
    /\/events\?type=file_overlap/,
    (route) => route.fulfill({ json: { events: OVERLAPS, next: null } }),
  );
  await page.evaluate(`location.hash = "${VIEW}&of=/home/sam/shop/src/orders.ts"`);
  await page.getByText("2 agents wrote it").waitFor();
  await page.getByText("in /home/sam/shop-web").waitFor();
  await page.getByRole("heading", { name: "Written by two agents" }).waitFor();
  await page.getByText("⟨U+202E⟩", { exact: false }).first().waitFor();
  for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
    await page.setViewportSize(viewport);
    assert.deepEqual(await violationsOf(page), []);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  }
});

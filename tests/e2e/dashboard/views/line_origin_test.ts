/** Where a line came from, in the changes of a peer and in the review desk. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import { relayTest } from "../../../support/dashboard/relay_dashboard_lab.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { agentsIn, commit, post } from "../../../support/e2e/hooked_agents.ts";
import { TestRepository } from "../../../support/repositories/repository.ts";
import { framed } from "../../../support/sessions/usage_world.ts";

const DESK = { viewport: { width: 1440, height: 900 } };
const PICTURES = Deno.env.get("MESH_BLAME_PICTURES");

/** A file that @web has committed for @api, with a line more that is not committed. */
async function tracedWork(base: string, repo: TestRepository) {
  repo.write("README.md", "Read me\n");
  repo.commit();
  repo.git("checkout", "-q", "-b", "work");
  const { api, web, hook } = await agentsIn(repo.folder, base);
  const certificate = { "x-mesh-certificate": api.birth_certificate };
  const ask = { from_peer: "api", to_peer: "web", text: "Write it" };
  const { correlation_id } = await post(base, "/ask", ask, certificate);
  await hook("claude-code", "UserPromptSubmit", { prompt: framed(correlation_id) });
  repo.write("src/a.ts", "one\ntwo\n");
  await commit(repo, hook);
  await hook("claude-code", "Stop", { last_assistant_message: "Done" });
  repo.write("src/a.ts", "one\ntwo\nthree\n");
  return { peer_id: web.peer_id, correlation_id };
}

/** The answer below a line. */
const answer = (page: Page, line: number) =>
  page.getByRole("region", { name: `Where line ${line} came from` });

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}.png` });
}

browserTest("keys in the changes of a peer lead from a line to the ask behind it", async (lab) => {
  using repo = new TestRepository();
  const { peer_id, correlation_id } = await tracedWork(lab.daemon.base, repo);
  const page = await lab.open(`#/peers/${peer_id}?tab=changes`, DESK);
  await page.getByRole("button", { name: "Where does line 2 come from?" }).waitFor();
  for (const key of ["b", "j", "b"]) await page.keyboard.press(key);
  const steps = answer(page, 2);
  await steps.getByText("Add a, by sam").waitFor();
  assert.equal(await page.evaluate("document.activeElement.ariaLabel"), "Where line 2 came from");
  await steps.getByText("the agent reported it").first().waitFor();
  const link = steps.getByRole("link", { name: "ask from api to web" });
  assert.equal(await link.getAttribute("href"), `#/asks/${correlation_id}`);
  await picture(page, "changes");
  assert.deepEqual(await violationsOf(page), []);
  await page.keyboard.press("Escape");
  await steps.waitFor({ state: "detached" });
  assert.equal(
    await page.evaluate("document.activeElement.ariaLabel"),
    "Where does line 2 come from?",
  );
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await answer(page, 3).getByText("not committed yet").waitFor();
  await answer(page, 3).getByText("no agent is known to have written it").waitFor();
  await picture(page, "changes_gap");
});

browserTest(
  "in the review desk, the key b and the form of a comment ask about a line",
  async (lab) => {
    using repo = new TestRepository();
    await tracedWork(lab.daemon.base, repo);
    const page = await lab.open("#/review?all=1", DESK);
    const pane = page.getByRole("region", { name: "The chosen review" });
    await pane.getByRole("button", { name: "Comment on line 2" }).waitFor();
    for (const key of ["c", "j", "b"]) await page.keyboard.press(key);
    await answer(page, 2).getByText("Add a, by sam").waitFor();
    await picture(page, "review");
    assert.deepEqual(await violationsOf(page), []);
    await answer(page, 2).getByRole("button", { name: "Close" }).click();
    await pane.getByRole("button", { name: "Comment on line 1" }).click();
    await page.getByLabel("Comment on line 1").last().fill("Why?");
    await pane.getByRole("button", { name: "Where does it come from?" }).click();
    await answer(page, 1).getByText("Add a, by sam").waitFor();
  },
);

browserTest(
  "a tap on a line of a phone shows where it came from, in the width of the phone",
  async (lab) => {
    using repo = new TestRepository();
    const { peer_id } = await tracedWork(lab.daemon.base, repo);
    const page = await lab.open(`#/peers/${peer_id}?tab=changes`, PHONE);
    await page.getByRole("button", { name: "Where does line 1 come from?" }).tap();
    await answer(page, 1).getByText("Add a, by sam").waitFor();
    await picture(page, "phone");
    assert.deepEqual(await violationsOf(page), []);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
  },
);

for (const [allowed, title] of [["false", "says why not"], ["true", "answers"]] as const) {
  relayTest(`through a relay with relay.allow_admin ${allowed}, a line ${title}`, async (lab) => {
    const daemon = await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: allowed });
    using repo = new TestRepository();
    const { peer_id } = await tracedWork(daemon.url, repo);
    const page = await lab.open(daemon.daemon_id, `#/peers/${peer_id}?tab=changes`);
    const line = page.getByRole("button", { name: "Where does line 2 come from?" });
    if (allowed === "false") {
      lab.forgive(/403/);
      await page.getByText("relay.allow_admin is off").first().waitFor();
      assert.equal(await line.count(), 0);
      return;
    }
    await line.click();
    await answer(page, 2).getByText("Add a, by sam").waitFor();
  });
}

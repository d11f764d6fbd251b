/** Settings: signing out. */

import assert from "node:assert/strict";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

browserTest("a person signs out, and no page of the browser works any longer", async (lab) => {
  await lab.peer({ name: "api" });
  const page = await lab.open("#/settings");
  const other = await page.context().newPage();
  await other.goto(`${lab.daemon.base}/dashboard#/mesh`);
  await other.getByRole("link", { name: "api" }).waitFor();
  const [cookie] = await page.context().cookies();
  await page.getByRole("button", { name: "Sign out" }).click();
  const signedOut = page.waitForResponse((response) => response.request().method() === "DELETE");
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  assert.equal((await signedOut).status(), 200);
  await page.getByText("does not count as").waitFor();
  await other.getByText("does not count as").waitFor();
  // The daemon has forgotten the cookie, not only the browser.
  const headers = { cookie: `${cookie?.name}=${cookie?.value}` };
  const session = await (await fetch(`${lab.daemon.base}/dashboard/session`, { headers })).json();
  assert.equal(session.human, false);
});

/** Writing to a peer: nothing that is written is lost, and nothing is sent twice. */

import assert from "node:assert/strict";
import { listMessages } from "protocol/messages/log.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";

browserTest("text that is written while a message is sent stays", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  const held = Promise.withResolvers<void>();
  await page.route("**/ask", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.getByLabel("Ask api").fill("first");
  await page.keyboard.press("Enter");
  await page.getByLabel("Ask api").fill("second");
  held.resolve();
  await api.waitForAsk("first");
  await page.locator(".bubble", { hasText: "first" }).waitFor();
  assert.equal(await page.getByLabel("Ask api").inputValue(), "second");
});

browserTest("a message whose response is lost is sent again as the same message", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.route("**/ask", async (route) => {
    await route.fetch();
    await route.abort();
  }, { times: 1 });
  await page.getByLabel("Ask api").fill("Ready?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("It may have arrived.").waitFor();
  await page.getByRole("button", { name: "Notify" }).click();
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("It may have arrived.").waitFor({ state: "detached" });
  const { messages } = await lab.call(listMessages, { query: {} });
  assert.equal(messages.length, 1);
  lab.offences.length = 0; // The browser's own report of the lost response.
});

browserTest("a peer's view works when the storage of the browser is full", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open();
  await page.addInitScript(
    'Storage.prototype.setItem = () => { throw new DOMException("", "QuotaExceededError"); }',
  );
  await page.goto(`${lab.daemon.base}/dashboard?full#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("Still here?");
  await page.keyboard.press("Enter");
  await api.waitForAsk("Still here?");
});

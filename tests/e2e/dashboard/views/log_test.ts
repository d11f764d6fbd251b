/** The log: threads, filters in the address, and what arrives while somebody reads. */

import assert from "node:assert/strict";
import type { Request } from "playwright-core";
import { createJob } from "protocol/jobs/contract.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";

browserTest(
  "an ask and its reply are one row, which opens with the reply and the trace, and stays open",
  async (lab) => {
    const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
    const page = await lab.open("#/log");
    const asked = await web.request("ask", { to_peer: api.peer_id, text: "Which **port**?" });
    await page.locator(".log-row", { hasText: "Which port?" }).waitFor();
    await api.request("ack", { correlation_id: asked.correlation_id, message: "Port 8080." });
    const row = page.locator(".log-row", { hasText: "Which port?" });
    await row.getByText("↳ Port 8080.").waitFor();
    await row.getByText("acknowledged").or(row.getByText("answered")).waitFor();
    assert.equal(await page.locator(".log-row").count(), 1);
    await row.getByRole("button").first().click();
    await row.locator(".reply").getByText("Port 8080.").waitFor();
    await row.getByRole("region", { name: "Trace" }).getByText("seen", { exact: true }).waitFor();
    await row.getByRole("link", { name: "the ask" }).click();
    await page.getByRole("heading", { name: "Asks" }).waitFor();
    await page.goBack();
    await row.getByRole("region", { name: "Trace" }).getByText("seen", { exact: true }).waitFor();
  },
);

browserTest("filters have an address, which opens the same rows elsewhere", async (lab) => {
  const api = await lab.peer({ name: "api", circle: "shop" });
  const web = await lab.peer({ name: "web", circle: "shop" });
  const infra = await lab.peer({ name: "infra", circle: "ops" });
  const monitor = await lab.peer({ name: "monitor", circle: "ops" });
  await web.request("notify", { to_peer: api.peer_id, text: "a note of the shop" });
  await web.request("ask", { to_peer: api.peer_id, text: "an ask of the shop" });
  await infra.request("notify", { to_peer: monitor.peer_id, text: "a note of ops" });
  const page = await lab.open("#/log");
  await page.getByText("a note of ops").waitFor();
  await page.getByText("More filters").click();
  await page.getByLabel("Circle", { exact: true }).selectOption("shop");
  await page.getByText("a note of ops").waitFor({ state: "detached" });
  await page.getByLabel("Kind", { exact: true }).selectOption("ask");
  await page.getByText("a note of the shop").waitFor({ state: "detached" });
  await page.getByLabel("State", { exact: true }).selectOption("open");
  const address = page.url();
  assert.match(address, /#\/log\?circle=shop&kind=ask&state=open$/);
  const other = await lab.open();
  await other.goto(address);
  await other.getByText("an ask of the shop").waitFor();
  assert.equal(await other.locator(".log-row").count(), 1);
  await other.getByRole("button", { name: "Clear" }).click();
  await other.getByText("a note of ops").waitFor();
  assert.match(other.url(), /#\/log$/);
});

browserTest("a search by sender and day is kept, and names of peers are offered", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  await web.request("notify", { to_peer: api.peer_id, text: "from web" });
  await api.request("notify", { to_peer: web.peer_id, text: "from the other" });
  const page = await lab.open("#/log");
  await page.getByRole("heading", { name: "Today" }).waitFor();
  const other = page.getByText("from the other");
  await other.waitFor();
  await page.getByText("More filters").click();
  await page.getByLabel("From", { exact: true }).fill("web");
  await other.waitFor({ state: "detached" });
  const day = new Date().toLocaleDateString("sv");
  await page.getByLabel("Until").fill(day);
  await page.getByText("from web").waitFor();
  await page.getByRole("button", { name: "Save this search" }).click();
  await page.getByRole("button", { name: "Clear" }).click();
  await other.waitFor();
  await page.reload();
  await page.getByRole("link", { name: `from web · until ${day}` }).click();
  await other.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /Forget the search/ }).click();
  await page.getByRole("list", { name: "Saved searches" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Search all messages").fill("api nothing");
  await page.getByRole("button", { name: "api", exact: true }).click();
  assert.match(page.url(), /#\/log\?peer=api$/);
  await other.waitFor();
});

browserTest("a trace begins with why its message was not read", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  api.close();
  await web.request("ask", { to_peer: api.peer_id, text: "Ready?" });
  const page = await lab.open("#/log");
  await page.locator(".log-row", { hasText: "Ready?" }).getByRole("button").first().click();
  const trace = page.getByRole("region", { name: "Trace" });
  await trace.getByText(/^Not read: it is queued for api: .+ api has not answered\.$/).waitFor();
});

browserTest("rows stay where they are while somebody reads further down", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  for (let index = 0; index < 50; index++) {
    await web.request("notify", { to_peer: api.peer_id, text: `message ${index}.` });
  }
  const page = await lab.open("#/log");
  const row = page.getByText("message 20.");
  await row.scrollIntoViewIfNeeded();
  await page.locator(".log-row .seen, .log-row .state").first().waitFor();
  const before = await row.boundingBox();
  await web.request("notify", { to_peer: api.peer_id, text: "the newest" });
  await page.getByRole("button", { name: "↑ 1 new" }).waitFor();
  assert.equal((await row.boundingBox())?.y, before?.y);
  assert.equal(await page.getByText("the newest").count(), 0);
  await page.getByRole("button", { name: "↑ 1 new" }).click();
  await page.getByText("the newest").waitFor();
});

browserTest("a view begins at its top, also after another was scrolled", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  for (let index = 0; index < 8; index++) await lab.peer({ name: `agent-${index}` });
  for (let index = 0; index < 20; index++) {
    await web.request("notify", { to_peer: api.peer_id, text: `message ${index}.` });
  }
  const page = await lab.open("#/log", { viewport: { width: 1000, height: 400 } });
  await page.getByText("message 2.", { exact: true }).scrollIntoViewIfNeeded();
  await page.getByRole("link", { name: "Mesh" }).click();
  await page.getByRole("link", { name: "agent-7" }).waitFor();
  assert.equal(await page.evaluate("document.getElementById('main').scrollTop"), 0);
});

browserTest("a row of the log, of the asks and of the schedules hides nothing", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  const text = "Run rm \u202egpj.exe\u202c no\u200bw";
  const shown = "Run rm ⟨U+202E⟩gpj.exe⟨U+202C⟩ no⟨U+200B⟩w";
  const { correlation_id } = await web.request("ask", { to_peer: api.peer_id, text });
  await lab.call(createSchedule, {
    body: { from_peer: web.peer_id, to_peer: api.peer_id, text, fire_at: "1h" },
  });
  await lab.call(createJob, {
    body: { title: text, prompt: text, assigned_peer: api.peer_id },
  });
  const page = await lab.open();
  for (const view of ["asks", "schedules", "jobs", "log"]) {
    await page.evaluate((to) => location.hash = to, `#/${view}`);
    await page.locator("main [data-row]", { hasText: shown }).first().waitFor();
  }
  await api.request("ack", { correlation_id, message: `Done \u2066here\u2069` });
  await page.locator(".replied", { hasText: "Done ⟨U+2066⟩here⟨U+2069⟩" }).waitFor();
});

browserTest(
  "a search waits for a pause, and what it found stays until there is more",
  async (lab) => {
    const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
    for (const text of ["the port is open", "the door is open"]) {
      await web.request("notify", { to_peer: api.peer_id, text });
    }
    const page = await lab.open("#/log");
    await page.getByText("the door is open").waitFor();
    const searches: string[] = [];
    const aborted: string[] = [];
    const wordOf = (request: Request) => new URL(request.url()).searchParams.get("q") ?? "";
    page.on("request", (request) => {
      if (request.url().includes("/messages?")) searches.push(wordOf(request));
    });
    page.on("requestfailed", (request) => aborted.push(wordOf(request)));
    const entries = await page.evaluate<number>("history.length");
    const answer = Promise.withResolvers<void>();
    await page.route(/\/messages\?.*q=open/, async (route) => {
      await answer.promise;
      await route.continue().catch(() => {});
    });
    const field = page.getByLabel("Search all messages");
    await field.pressSequentially("open", { delay: 20 });
    await page.waitForRequest(/q=open/);
    assert.deepEqual(searches, ["open"]);
    assert.equal(await page.locator(".log-row").count(), 2);
    await field.fill("port");
    await page.getByText("the door is open").waitFor({ state: "detached" });
    answer.resolve();
    assert.deepEqual([searches, aborted], [["open", "port"], ["open"]]);
    assert.match(page.url(), /#\/log\?q=port$/);
    assert.equal(await page.evaluate("history.length"), entries);
  },
);

browserTest(
  "the digest of the last day opens above the log, with hostile texts as text",
  async (lab) => {
    const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
    const text = "<b>Which</b> port?\u202e";
    const asked = await web.request("ask", { to_peer: api.peer_id, text });
    await api.request("ack", { correlation_id: asked.correlation_id, message: "Port 8080." });
    const page = await lab.open("#/log");
    await page.getByText("The last 24 hours").click();
    await page.getByRole("heading", { name: "Answers (1)" }).waitFor();
    const answer = page.getByRole("listitem").filter({ hasText: "→" }).first();
    await answer.getByText("Port 8080.").waitFor();
    await answer.getByRole("link", { name: "<b>Which</b> port?" }).click();
    await page.getByRole("heading", { name: "Asks" }).waitFor();
  },
);

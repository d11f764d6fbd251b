/** The dashboard in a real browser: a real daemon, a person's ticket, peers on sockets. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { getAsk } from "protocol/asks/contract.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { PHONE } from "../../support/dashboard/shared_browser.ts";
import type { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import type { SocketPeer } from "../../support/dashboard/socket_peer.ts";
import { until } from "../../support/waiting.ts";

const TO_SAM = { to_peer: "sam" };

/** A choice that an agent waits for. */
function question(text: string) {
  const options = [{ id: "yes", title: "Run it" }, { id: "no", title: "Leave it" }];
  return { ...TO_SAM, text, question: { kind: "choice", blocking: true, options } };
}

async function outcomeOf(lab: DashboardLab, id: string) {
  const { outcome, answer, reply } = await lab.call(getAsk, { params: { id } });
  return { outcome, option_id: answer?.option_id ?? null, reply };
}

async function askSam(peer: SocketPeer, fields: Record<string, unknown>): Promise<string> {
  const result = await peer.request("ask", fields);
  assert.ok(result.correlation_id, JSON.stringify(result));
  return result.correlation_id;
}

const isGone = (page: Page, text: string) => page.getByText(text).waitFor({ state: "detached" });

browserTest("a question is answered in place, and is gone in another page", async (lab) => {
  const db = await lab.peer({ name: "db", circle: "ops" });
  const id = await askSam(db, question("May I run migration 42?"));
  const [page, other] = [await lab.open(), await lab.open()];
  await other.getByText("May I run migration 42?").waitFor();
  assert.equal(await page.title(), "(1) Attention · Agent Mesh");
  await page.getByRole("button", { name: "Run it" }).click();
  await isGone(page, "May I run migration 42?");
  await isGone(other, "May I run migration 42?");
  assert.deepEqual(await outcomeOf(lab, id), {
    outcome: "answered",
    option_id: "yes",
    reply: "Run it",
  });
});

browserTest(
  "when two pages answer at once, one wins and the other shows the conflict",
  async (lab) => {
    const db = await lab.peer({ name: "db" });
    const [page, other] = [await lab.open(), await lab.open()];
    const id = await askSam(db, question("May I?"));
    await page.getByText("May I?").waitFor();
    await other.getByText("May I?").waitFor();
    // The other page has not heard of the answer when its own is given.
    await other.route(/\/(?:inbox|asks)\?/, () => {});
    await page.getByRole("button", { name: "Run it" }).click();
    await isGone(page, "May I?");
    await other.getByRole("button", { name: "Leave it" }).click();
    await other.getByText("sam answered: Run it").waitFor();
    await other.getByText("Your answer was not used.").waitFor();
    assert.equal((await outcomeOf(lab, id)).option_id, "yes");
  },
);

browserTest("a plain ask is answered with a text of the human", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open();
  await page.getByText("Nothing waits for you").waitFor();
  const id = await askSam(api, { ...TO_SAM, text: "Ship it today?" });
  await page.getByLabel("Answer api").fill("Yes, ship it.");
  await page.keyboard.press("Enter");
  await isGone(page, "Ship it today?");
  assert.equal((await outcomeOf(lab, id)).reply, "Yes, ship it.");
});

browserTest("an ask is declined with a reason", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open();
  const id = await askSam(api, { ...TO_SAM, text: "Drop the table?" });
  await page.getByLabel("Answer api").fill("Not before the backup.");
  await page.getByRole("button", { name: "Decline" }).click();
  await isGone(page, "Drop the table?");
  assert.equal((await outcomeOf(lab, id)).outcome, "declined");
  assert.deepEqual((await api.waitForEnd(id)).text, "Not before the backup.");
});

browserTest("an ask is cancelled after a confirmation", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open();
  const web = await lab.peer({ name: "web" });
  const { correlation_id } = await web.request("ask", { to_peer: api.peer_id, text: "Ready?" });
  await page.goto(`${lab.daemon.base}/dashboard#/asks/${correlation_id}`);
  await page.getByRole("button", { name: "Cancel the ask" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the ask" }).click();
  await until("the end", async () => (await outcomeOf(lab, correlation_id ?? "")).outcome);
  assert.equal((await outcomeOf(lab, correlation_id ?? "")).outcome, "cancelled");
});

browserTest("an ask is sent, and its trace shows each step until it was seen", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("Which **port** do you use?");
  await page.getByRole("button", { name: "Send" }).click();
  const correlation_id = await api.waitForAsk("Which **port** do you use?");
  await page.getByRole("button", { name: "Trace" }).click();
  const trace = page.getByRole("region", { name: "Trace" });
  for (const stage of ["created", "sent", "seen"]) {
    await trace.getByText(stage, { exact: true }).waitFor();
  }
  await page.locator(".bubble strong", { hasText: "port" }).waitFor();
  await api.request("ack", { correlation_id, message: "Port `8080`." });
  await page.locator(".reply code", { hasText: "8080" }).waitFor();
});

browserTest(
  "a page without a ticket says so, and how to change it",
  async (lab) => {
    const page = await lab.openPlain();
    await page.getByText("does not count as").waitFor();
    await page.getByText("mesh open").first().waitFor();
    const human = await lab.open();
    assert.equal(await human.getByText("does not count as").count(), 0);
  },
);

browserTest("with a token configured the page works, and scripts cannot read it", async (lab) => {
  const page = await lab.openPlain();
  await page.getByText("No agents yet").waitFor();
  await page.locator(".connection", { hasText: "Live" }).waitFor();
  assert.equal(await page.evaluate("document.cookie"), "");
  assert.equal((await fetch(`${lab.daemon.base}/peers`)).status, 401);
}, { MESH_DAEMON__AUTH_TOKEN: "t".repeat(43) });

browserTest(
  "after a restart of the daemon the page is current again without a reload",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    const page = await lab.open("#/log");
    await page.getByText("They appear here live").waitFor();
    const marked = await page.evaluate("globalThis.mark = 'same page'");
    await lab.restart(async () => {
      await page.getByText("Disconnected").first().waitFor();
    });
    const again = await lab.peer({ name: "web" });
    await again.request("notify", { to_peer: api.peer_id, text: "after the restart" });
    await page.getByText("after the restart").waitFor();
    await page.locator(".connection", { hasText: "Live" }).waitFor({ state: "attached" });
    assert.equal(await page.evaluate("globalThis.mark"), marked);
    // The lost connection is the browser's own report, and the only error.
    lab.forgive(/ERR_(CONNECTION|INCOMPLETE)/);
  },
);

browserTest("a draft outlives a reload", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("half a thought");
  await page.reload();
  await page.getByLabel("Ask api").waitFor();
  assert.equal(await page.getByLabel("Ask api").inputValue(), "half a thought");
});

browserTest("everything works with the keyboard only", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const id = await askSam(db, question("May I?"));
  const page = await lab.open();
  await page.getByText("May I?").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await isGone(page, "May I?");
  assert.equal((await outcomeOf(lab, id)).option_id, "no");
  for (const [keys, title] of [["gl", "Log"], ["gh", "Health"], ["gp", "Mesh"]] as const) {
    for (const key of keys) await page.keyboard.press(key);
    await page.getByRole("heading", { name: title, level: 1 }).waitFor();
  }
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "db" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("jobs");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Jobs", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("rename db");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Rename db" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Rename db" }).waitFor({ state: "detached" });
  assert.match(page.url(), /#\/peers\/[\w-]+$/);
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Keys" }).waitFor({ state: "detached" });
});

browserTest(
  "on a phone no view scrolls sideways, and a question is answered by touch",
  async (lab) => {
    const db = await lab.peer({ name: "db", path: `/${"long".repeat(40)}` });
    const id = await askSam(db, question(`May I? ${"x".repeat(300)}`));
    const page = await lab.open("", PHONE);
    const views = [
      "mesh",
      `peers/${db.peer_id}`,
      "log",
      "asks",
      `asks/${id}`,
      "jobs",
      "schedules",
      "health",
    ];
    for (const view of [...views, "attention"]) {
      await page.evaluate((to) => location.hash = to, `#/${view}`);
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      assert.equal(wide, 0, view);
    }
    await page.getByRole("button", { name: "Leave it" }).tap();
    await isGone(page, "May I?");
  },
);

browserTest("a search has an address, and finds words and phrases", async (lab) => {
  const [api, web] = [await lab.peer({ name: "api" }), await lab.peer({ name: "web" })];
  for (const text of ["the port is open", "nothing here"]) {
    await web.request("notify", { to_peer: api.peer_id, text });
  }
  const page = await lab.open("#/log?q=port");
  await until("the index", async () => {
    await page.reload();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    return await page.getByText("the port is open").count() > 0;
  });
  assert.equal(await page.getByText("nothing here").count(), 0);
  await page.getByLabel("Search all messages").fill("nothing");
  await page.getByText("nothing here").waitFor();
  assert.match(page.url(), /#\/log\?q=nothing$/);
});

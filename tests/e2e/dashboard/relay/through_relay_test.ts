/** The dashboard through a relay: a real relay, real daemons, and a browser that signs in. */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { relayTest } from "../../../support/dashboard/relay_dashboard_lab.ts";
import { PHONE } from "../../../support/dashboard/shared_browser.ts";
import { hostileDaemon } from "../../../support/dashboard/hostile_daemon.ts";

const CHOICE = {
  kind: "choice",
  blocking: true,
  options: [{ id: "yes", title: "Run it" }, { id: "no", title: "Leave it" }],
};
const QUESTION = { to_peer: "sam", text: "May I run migration 42?", question: CHOICE };

relayTest(
  "a person signs in, sees peers live, and answers a question as the human",
  async (lab) => {
    const daemon = await lab.daemon();
    const db = await lab.peer(daemon, { name: "db", circle: "ops" });
    const page = await lab.page();
    await page.goto(lab.addressOf(daemon.daemon_id));
    await page.getByRole("heading", { name: "Reach your agents from anywhere" }).waitFor();
    await lab.signIn(page);
    await page.getByRole("listitem").getByRole("link").click();
    await page.getByText("You are sam").waitFor();
    const { correlation_id = "" } = await db.request("ask", QUESTION);
    await page.getByRole("button", { name: "Run it" }).click();
    await page.getByText("May I run migration 42?").waitFor({ state: "detached" });
    const { outcome, answer } = await lab.callOf(daemon)(getAsk, {
      params: { id: correlation_id },
    });
    assert.deepEqual([outcome, answer?.option_id], ["answered", "yes"]);
    await page.evaluate("location.hash = '#/mesh'");
    await page.getByRole("link", { name: "db" }).first().waitFor();
    await lab.peer(daemon, { name: "late" });
    await page.getByRole("link", { name: "late" }).first().waitFor();
  },
);

relayTest("a person's message through the relay is framed as the human's", async (lab) => {
  const daemon = await lab.daemon();
  const api = await lab.peer(daemon, { name: "api" });
  const page = await lab.open(daemon.daemon_id, `#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("Which port?");
  await page.getByRole("button", { name: "Send" }).click();
  const id = await api.waitForAsk("Which port?");
  await api.request("ack", { correlation_id: id, message: "8080" });
  await page.locator(".reply", { hasText: "8080" }).waitFor();
});

relayTest("the machine switcher leads to the same view of another machine", async (lab) => {
  const [first, second] = [await lab.daemon(), await lab.daemon()];
  await lab.peer(first, { name: "alpha" });
  await lab.peer(second, { name: "beta" });
  const page = await lab.open(first.daemon_id, "#/mesh");
  await page.getByRole("link", { name: "alpha" }).first().waitFor();
  await page.getByRole("button", { name: "Machine" }).click();
  const dialog = page.getByRole("dialog", { name: "Machines" });
  await dialog.locator("li", { hasText: first.daemon_id }).getByText("shown here").waitFor();
  await dialog.locator("li", { hasText: second.daemon_id }).getByRole("link").click();
  await page.getByRole("link", { name: "beta" }).first().waitFor();
  assert.equal(page.url(), lab.addressOf(second.daemon_id, "#/mesh"));
  assert.equal(await page.getByRole("link", { name: "alpha" }).count(), 0);
});

relayTest(
  "features that an older daemon lacks are named, and the rest works",
  async (lab) => {
    const daemon = await lab.daemon();
    const page = await lab.open(daemon.daemon_id, "#/health");
    await lab.pretendOlder(page, /\/config$/);
    await page.evaluate("location.hash = '#/settings'");
    await page.getByText("This daemon is older: no such route: GET /config.").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
    await page.evaluate("location.hash = '#/health'");
    await page.getByText("Running for").waitFor();
    lab.forgive(/404/);
  },
);

relayTest(
  "a machine that knows hardly any route and has a hostile name breaks nothing",
  async (lab) => {
    const daemon = await lab.daemon();
    await using hostile = await hostileDaemon(lab.relay.issuer);
    await lab.waitForTunnel(hostile.daemon_id);
    const page = await lab.open(daemon.daemon_id, "#/mesh", PHONE);
    await page.getByRole("button", { name: "Machine" }).click();
    const row = page.getByRole("dialog").locator("li", { hasText: hostile.daemon_id });
    await row.waitFor();
    assert.equal(await lab.overflowOf(page), 0);
    await row.getByRole("link").click();
    await page.waitForURL(lab.addressOf(hostile.daemon_id, "#/mesh"));
    for (const view of ["attention", "log", "health", "relay", "settings"]) {
      await page.evaluate((to) => location.hash = to, `#/${view}`);
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      assert.equal(await lab.overflowOf(page), 0, view);
      assert.equal(await page.evaluate("typeof globalThis.ran"), "undefined", view);
    }
    lab.forgive(/404/);
  },
);

relayTest("a page whose sign-in has ended says so, and leads to the sign-in", async (lab) => {
  const daemon = await lab.daemon();
  const page = await lab.open(daemon.daemon_id);
  await page.getByText("You are sam").waitFor();
  await page.context().clearCookies();
  await page.getByRole("button", { name: "Machine" }).click();
  await page.getByText("You are signed out").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByLabel("Relay secret").waitFor();
  lab.forgive(/401/);
});

relayTest("a page of an earlier sign-in sends nothing under a later one", async (lab) => {
  const daemon = await lab.daemon();
  const api = await lab.peer(daemon, { name: "api" });
  const page = await lab.open(daemon.daemon_id, `#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("Under the first sign-in");
  const second = await page.context().newPage();
  await lab.signInAgain(second);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("The form does not belong to this session").waitFor();
  assert.equal(api.frames.filter(({ type }) => type === "ask").length, 0);
  lab.forgive(/403/);
});

relayTest(
  "a machine that is not connected is named as such, and is live again by itself",
  async (lab) => {
    const dir = lab.folder();
    const daemon = await lab.daemon({}, dir);
    const page = await lab.open(daemon.daemon_id, "#/mesh");
    await page.locator(".connection", { hasText: "Live" }).waitFor();
    await daemon.end("SIGKILL");
    await page.getByText("is not connected to the relay.").waitFor();
    const again = await lab.daemon({}, dir);
    assert.equal(again.daemon_id, daemon.daemon_id);
    await page.locator(".connection", { hasText: "Live" }).waitFor();
    await page.getByText("is not connected to the relay.").waitFor({ state: "detached" });
    lab.forgive(/50[0-9]|404|ERR_/);
  },
);

relayTest("on a phone no view through the relay scrolls sideways", async (lab) => {
  const daemon = await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: "true" });
  const db = await lab.peer(daemon, { name: "db", path: `/${"long".repeat(40)}` });
  const page = await lab.open(daemon.daemon_id, "", PHONE);
  await db.request("ask", QUESTION);
  for (
    const view of ["mesh", "health", "relay", "settings", "settings?source=given", "attention"]
  ) {
    await page.evaluate((to) => location.hash = to, `#/${view}`);
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    assert.equal(await lab.overflowOf(page), 0, view);
  }
  await page.getByRole("button", { name: "Leave it" }).tap();
  await page.getByText("May I run migration 42?").waitFor({ state: "detached" });
});

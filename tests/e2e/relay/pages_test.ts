/** The relay's pages in a real browser: signing in without a script, and a live share. */

import assert from "node:assert/strict";
import { chromium, type Page } from "playwright-core";
import { chromiumPath, WITHOUT_WINDOW } from "../../support/e2e/oauth_lab.ts";
import { WholeRelay } from "../../support/e2e/relay_apps_lab.ts";
import { NAMESPACE, RealDaemon, SECRET } from "../../support/e2e/relay_lab.ts";
import { until } from "../../support/waiting.ts";

/** A browser for one test; without a browser, the test is skipped and says so. */
async function withBrowser(
  what: string,
  visit: (browser: Browser) => Promise<void>,
): Promise<void> {
  const executablePath = await chromiumPath(WITHOUT_WINDOW);
  if (!executablePath) {
    const line = `skipped: ${what} (no Chromium; install the package chromium)\n`;
    return void Deno.stdout.writeSync(new TextEncoder().encode(line));
  }
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
  ];
  const browser = await chromium.launch({ executablePath, args });
  try {
    await visit(browser);
  } finally {
    await browser.close();
  }
}

type Browser = Awaited<ReturnType<typeof chromium.launch>>;

/** Violations of the page's policy, and the page's errors. */
function complaints(page: Page): string[] {
  const violations: string[] = [];
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) violations.push(message.text());
  });
  page.on("pageerror", (error) => violations.push(error.message));
  return violations;
}

Deno.test("a person signs in, sees the machines and signs out, without a script", () =>
  withBrowser("signing in", async (browser) => {
    await using relay = new WholeRelay();
    await using daemon = await RealDaemon.start(relay.issuer);
    await until("the tunnel", () => relay.relay.machines.list(NAMESPACE).length > 0 || undefined);
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    const refused = complaints(page);
    await page.goto(relay.issuer);
    await page.getByLabel("Relay secret").fill("mesh_sk_short");
    await page.getByRole("button", { name: "Sign in" }).click();
    const alert = page.getByRole("alert");
    assert.match(await alert.innerText(), /Found mesh_sk_ and 5 other letters/);
    await page.getByLabel("Relay secret").fill(SECRET);
    await page.getByLabel("Relay secret").press("Enter");
    await page.getByRole("heading", { name: "Your machines" }).waitFor();
    const link = page.locator(`a[href="/m/${daemon.daemon_id}/dashboard"]`);
    assert.equal(await link.count(), 1);
    const [cookie] = await context.cookies();
    assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.sameSite], ["mesh", true, "Lax"]);
    assert.ok(!cookie?.value.includes(SECRET.slice(8)));
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Reach your agents from anywhere" }).waitFor();
    assert.deepEqual(await context.cookies(), []);
    await page.goto(`${relay.issuer}/dashboard`);
    assert.equal(new URL(page.url()).pathname, "/");
    assert.deepEqual(refused, []);
  }));

Deno.test("a guest sees events as they happen, asks, and reads the answer", () =>
  withBrowser("a share", async (browser) => {
    await using relay = new WholeRelay();
    await using daemon = await RealDaemon.start(relay.issuer);
    await until("the tunnel", () => relay.relay.machines.list(NAMESPACE).length > 0 || undefined);
    const post = async (path: string, body: unknown) => {
      const init = { method: "POST", body: JSON.stringify(body) };
      return await (await fetch(`${daemon.url}${path}`, init)).json();
    };
    await post("/peers", { name: "api", path: "/srv/shop", backend: "codex" });
    const { url } = await post("/shares", { peer: "api", permissions: "rw" });
    const page = await browser.newPage();
    const refused = complaints(page);
    await page.goto(url);
    await page.getByRole("heading", { name: "api" }).waitFor();
    await page.getByText("New events appear automatically").waitFor();
    await until("a viewer", async () => {
      const { shares } = await (await fetch(`${daemon.url}/shares`)).json();
      return shares[0].viewers === 1 || undefined;
    });
    await post("/notify", { from_peer: "web", to_peer: "api", text: "Not for guests" });
    await page.getByText("notification · web → api").waitFor();
    assert.ok(!(await page.content()).includes("Not for guests"));
    await page.getByLabel("Ask it something").fill("How far are you?");
    await page.getByRole("button", { name: "Ask" }).click();
    await page.getByText("No answer yet").waitFor();
    const correlation_id = new URL(page.url()).searchParams.get("request");
    await post("/ack", { correlation_id, message: "Half <done>" });
    await page.reload();
    await page.getByText("Half <done>").waitFor();
    assert.deepEqual(refused, []);
  }));

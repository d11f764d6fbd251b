/** A malicious machine against the relay's origin, in a real browser that uses two secrets. */

import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { toConnection } from "kit/net/tunnel/connection.ts";
import type { OpenSocket } from "../../../daemon/api/relay/relay_client.ts";
import { ScriptedDaemon } from "../../support/relay/scripted_daemon.ts";
import { chromiumPath } from "../../support/e2e/oauth_lab.ts";
import { RealRelay, SECRET } from "../../support/e2e/relay_lab.ts";
import { until } from "../../support/waiting.ts";

const ATTACKER_ID = "dm-aaaaaaaaaaaa", VICTIM = "dm-bbbbbbbbbbbb";
const VICTIM_SECRET = `mesh_sk_${"v".repeat(43)}`;
const CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic"];

const openSocket: OpenSocket = (address, headers, listener) =>
  toConnection(new WebSocket(address, { headers: { ...headers } }), listener);

/** Reads and commands the victim's machine for as long as the tab is open. */
const SCRIPT = `
document.title = "evil";
navigator.serviceWorker.register("sw.js").catch(() => undefined);
setInterval(() => {
  fetch("/m/${VICTIM}/messages").catch(() => undefined);
  fetch("/m/${VICTIM}/notify", { method: "POST", body: "{}" }).catch(() => undefined);
}, 20);
`;
const PAGE = `<!doctype html><title>start</title><script>${SCRIPT}</script>`;
const ALLOWING: [string, string][] = [
  ["content-security-policy", "default-src * 'unsafe-inline'"],
  ["service-worker-allowed", "/"],
  ["cache-control", "max-age=3600"],
];

/** A machine that answers every request with a page of its own. */
function machine(
  relay: RealRelay,
  { daemon_id, secret }: { daemon_id: string; secret: string },
): ScriptedDaemon {
  const address = relay.url.replace("http", "ws");
  const daemon = ScriptedDaemon.openSocket(openSocket, { address, secret, daemon_id });
  daemon.on = (frame) => {
    if (frame.type === "ping") daemon.sendFrame({ type: "pong", ping_id: frame.ping_id });
    if (frame.type !== "request") return;
    const { id, path } = frame;
    const is_script = path.endsWith(".js"), is_picture = path.endsWith(".svg");
    const type = is_script ? "text/javascript" : is_picture ? "image/svg+xml" : "text/html";
    const headers = [["content-type", type], ...ALLOWING];
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>${SCRIPT}</script></svg>`;
    const body = is_script ? "self.onfetch = () => undefined" : is_picture ? svg : PAGE;
    daemon.sendFrame({ type: "response", id, status: 200, headers, body: true });
    daemon.sendChunk(id, new TextEncoder().encode(body));
    daemon.sendFrame({ type: "end", id });
  };
  return daemon;
}

Deno.test("a machine of one secret runs no script in a browser that signs in with another [c9.tunnel.no-pages]", async () => {
  const executablePath = await chromiumPath();
  if (!executablePath) {
    const line = "skipped: the relay's origin (no Chromium; install the package chromium)\n";
    return void Deno.stdout.writeSync(new TextEncoder().encode(line));
  }
  await using relay = new RealRelay();
  const attackerMachine = machine(relay, { daemon_id: ATTACKER_ID, secret: SECRET });
  const victim = machine(relay, { daemon_id: VICTIM, secret: VICTIM_SECRET });
  await until("both machines", () => relay.relay.machines.size === 2 || undefined);
  const browser = await chromium.launch({ executablePath, args: CHROMIUM });
  try {
    const context = await browser.newContext({ acceptDownloads: true });
    const signIn = async (secret: string) => {
      const page = await context.newPage();
      await page.goto(relay.url);
      if (await page.getByRole("button", { name: "Sign out" }).count() > 0) {
        await page.getByRole("button", { name: "Sign out" }).click();
      }
      await page.getByLabel("Relay secret").fill(secret);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Your machines" }).waitFor();
      return page;
    };
    const titles: string[] = [];
    for (const path of ["dashboard", "peers", "picture.svg"]) {
      const tab = await signIn(SECRET);
      const link = tab.locator(`a[href="/m/${ATTACKER_ID}/dashboard"]`);
      await link.evaluate((to, href) => to.setAttribute("href", href), `/m/${ATTACKER_ID}/${path}`);
      // The browser either shows or saves the page.
      const seen = [tab.waitForURL(/\/m\//), tab.waitForEvent("download")];
      for (const event of seen) event.catch(() => undefined); // Only one of them happens.
      await tab.getByRole("link", { name: ATTACKER_ID }).click();
      await Promise.any(seen);
      titles.push(await tab.title());
    }
    const last = await signIn(VICTIM_SECRET);
    const scopes = () =>
      last.evaluate<string[]>(
        "navigator.serviceWorker.getRegistrations().then((all) => all.map(({ scope }) => scope))",
      );
    await until("the page's worker", async () => (await scopes()).length > 0);
    const workers = await scopes();
    assert.ok(attackerMachine.of("request").length > 0, "the machine was never asked");
    assert.ok(!titles.includes("evil"), titles.join());
    // Only the relay's own worker, for the page that the browser opened, and none of the machine.
    assert.deepEqual(workers, [`${relay.url}/m/${ATTACKER_ID}/dashboard`]);
    assert.deepEqual(victim.of("request").map(({ method, path }) => `${method} ${path}`), []);
  } finally {
    await browser.close();
    for (const daemon of [attackerMachine, victim]) daemon.close();
  }
});

/** Pictures of the page at a relay, and of the views Relay and Settings. */

import type { BrowserContextOptions, Page } from "playwright-core";
import { createShare } from "protocol/shares.ts";
import { connectApp } from "../e2e/relay_apps_lab.ts";
import { RelayDashboardLab } from "./relay_dashboard_lab.ts";

const QUESTION = {
  to_peer: "sam",
  text: "May I run migration **0042** on staging? It locks `orders` for about 40 s.",
  question: {
    kind: "choice",
    blocking: true,
    options: [{ id: "now", title: "Run it now" }, { id: "night", title: "Tonight at 02:00" }],
  },
};

/** Takes a picture of each view in each of the screens; returns what no page may do. */
export async function takeRelayPictures(
  folder: string,
  screens: Readonly<Record<string, BrowserContextOptions>>,
): Promise<readonly string[]> {
  const lab = await RelayDashboardLab.start();
  if (!lab) return [];
  await using _lab = lab;
  const daemon = await lab.daemon({ MESH_RELAY__ALLOW_ADMIN: "true" });
  await lab.daemon();
  const db = await lab.peer(daemon, { name: "db", circle: "shop", backend: "gemini" });
  await lab.peer(daemon, { name: "api", circle: "shop", backend: "claude-code" });
  await db.request("ask", QUESTION);
  for (const [peer, permissions] of [["api", "rw"], ["db", "ro"]] as const) {
    await lab.callOf(daemon)(createShare, { body: { peer, permissions } });
  }
  await using _app = await connectApp(lab.relay.issuer);
  for (const [screen, options] of Object.entries(screens)) {
    for (const colorScheme of ["dark", "light"] as const) {
      const page = await lab.open(daemon.daemon_id, "", { ...options, colorScheme });
      const prefix = `${folder}/${screen}-${colorScheme}`;
      await takeViews(page, prefix);
      const stranger = await page.context().browser()?.newContext({ ...options, colorScheme });
      if (stranger) await takeSmallPages(await stranger.newPage(), lab.relay.issuer, prefix);
      await stranger?.close();
      await page.context().close();
    }
  }
  return lab.offences;
}

/** The pages of the relay for a browser that is not signed in. */
async function takeSmallPages(page: Page, issuer: string, prefix: string): Promise<void> {
  for (const [name, path] of [["sign-in", "/"], ["pairing", "/pair"]] as const) {
    await page.goto(`${issuer}${path}`);
    await page.screenshot({ path: `${prefix}-${name}.png` });
  }
}

async function takeViews(page: Page, prefix: string): Promise<void> {
  const take = async (name: string) => {
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${prefix}-${name}.png` });
  };
  await page.getByRole("button", { name: "Run it now" }).waitFor();
  await take("relayed-attention");
  await page.getByRole("button", { name: "Machine" }).click();
  await take("machines");
  await page.keyboard.press("Escape");
  await page.evaluate("location.hash = '#/relay'");
  await page.getByRole("button", { name: "QR code" }).first().waitFor();
  await take("relay");
  await page.getByRole("button", { name: "QR code" }).first().click();
  await take("qr-code");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "New share" }).click();
  await take("new-share");
  await page.evaluate("location.hash = '#/settings'");
  await page.locator(".settings li").first().waitFor();
  await take("settings");
}

/** The gallery of components: every one is shown, accessible, and no part of the program. */

import assert from "node:assert/strict";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { serveGallery } from "../../../support/dashboard/gallery/gallery_server.ts";
import { Browsers } from "../../../support/dashboard/shared_browser.ts";
import { print } from "../../../support/waiting.ts";

Deno.test("axe finds nothing in the gallery of components, dark or light, on desktop or phone", async () => {
  await using browsers = await Browsers.open();
  if (!browsers) {
    return print("skipped: the gallery (no Chromium; install the package chromium)");
  }
  const ended = new AbortController();
  const gallery = await serveGallery({ port: 0, signal: ended.signal });
  const found: string[] = [];
  for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
    const context = await browsers.newContext({ viewport });
    const page = await context.newPage();
    page.on("console", (line) => line.type() === "error" && found.push(line.text()));
    await page.goto(gallery.url);
    await page.locator(".chart-plot").waitFor();
    const violations = await violationsOf(page);
    found.push(...violations.map((line) => `${viewport.width}: ${line}`));
    const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.equal(wide, 0, `${viewport.width}`);
    await context.close();
  }
  ended.abort();
  await gallery.ended;
  assert.deepEqual(found, []);
});

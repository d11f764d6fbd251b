/** Records that lack a field, or hide what they say, do not break or deceive. */

import assert from "node:assert/strict";
import { choice, open } from "../../support/dashboard/attention.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";

/** Lists of the daemon with all fields of their records but the ids taken away. */
const LISTS = [
  ["#/mesh", /\/peers\?*$/, "peers"],
  ["#/attention", /\/inbox\?/, "items"],
  ["#/asks", /\/asks\?/, "asks"],
  ["#/log", /\/messages\?/, "messages"],
] as const;

browserTest("a record without its fields breaks neither its view nor another one", async (lab) => {
  const [db, api] = [await lab.peer({ name: "db" }), await lab.peer({ name: "api" })];
  await db.request("notify", { to_peer: "sam", text: "hello" });
  await db.request("ask", { to_peer: api.peer_id, text: "Ready?" });
  for (const [view, pattern, key] of LISTS) {
    const page = await lab.open();
    await page.route(pattern, async (route) => {
      const body = await (await route.fetch()).json();
      const bare = (record: Record<string, unknown>) =>
        Object.fromEntries(
          Object.entries(record).filter(([name]) => /_id$|^kind$|^read$|^role$/.test(name)),
        );
      await route.fulfill({ json: { ...body, [key]: body[key].map(bare) } });
    });
    await page.goto(`${lab.daemon.base}/dashboard${view}`);
    await page.reload();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByText("Nothing is scheduled").waitFor();
    assert.equal(await page.locator("main h1").count(), 1, view);
    await page.context().close();
  }
});

browserTest("a note that cannot be shown leaves the others, and can be copied", async (lab) => {
  const db = await lab.peer({ name: "db" });
  for (const text of ["first", "second"]) await db.request("notify", { to_peer: "sam", text });
  const page = await lab.open();
  await page.route(/\/inbox\?/, async (route) => {
    const body = await (await route.fetch()).json();
    await route.fulfill({
      json: { ...body, items: [{ ...body.items[0], text: null }, body.items[1]] },
    });
  });
  await page.reload();
  await page.getByText("This record cannot be shown").waitFor();
  await page.getByRole("button", { name: "Copy its data" }).waitFor();
  await page.getByText("first").waitFor();
});

browserTest("hidden characters and other hosts are shown where a person decides", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const prompt = "Run rm -rf /home \u202e#cod/ ,tset\u202c";
  const options = [{ id: "yes", title: "No\u200bthing" }];
  await open(db, choice(prompt, { scope: "tool_permission", options }));
  await open(db, { text: "Sign in at [https://github.com/login](https://evil.example/login)" });
  await open(db, { text: "Run `ls \u202egnp`" });
  const page = await lab.open();
  await page.locator(".exact", { hasText: "/home ⟨U+202E⟩#cod/" }).waitFor();
  await page.getByRole("button", { name: "No⟨U+200B⟩thing" }).waitFor();
  await page.getByRole("link", { name: "https://github.com/login (evil.example)" }).waitFor();
  await page.locator("code", { hasText: "ls ⟨U+202E⟩gnp" }).waitFor();
});

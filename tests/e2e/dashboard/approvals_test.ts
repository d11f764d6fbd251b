/** Permissions in a real browser: the act, its diff, the keys, and what must be seen before. */

import assert from "node:assert/strict";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { violationsOf } from "../../support/dashboard/axe.ts";
import { askPermission, GATED } from "../../support/dashboard/permissions.ts";
import { PHONE } from "../../support/dashboard/shared_browser.ts";

browserTest(
  "a card shows the act, and the keys 1, 2 and 3 answer the focused card",
  async (lab) => {
    const cwd = `${lab.state}/api`;
    Deno.mkdirSync(cwd);
    Deno.writeTextFileSync(`${cwd}/b.js`, "one\ntwo\n");
    const page = await lab.open();
    const push = await askPermission(lab, "Bash", { command: "git push", timeout: 5 }, cwd);
    const card = page.locator(`#card-${push.id}`);
    await card.getByRole("heading", { name: "Run: git push" }).waitFor();
    assert.equal(await card.locator(".exact").first().innerText(), "$ git push");
    await card.getByText(`in ${cwd}`).waitFor();
    await card.getByText("timeout", { exact: true }).waitFor();
    await card.getByText(/denied in [45]:\d\d without an answer/).waitFor();
    // Ids and repeated JSON are folded.
    assert.equal(await card.getByText("session").count(), 0);
    assert.equal(await card.getByText('"command"').isVisible(), false);
    const write = await askPermission(lab, "Write", {
      file_path: `${cwd}/b.js`,
      content: "one\n2\n",
    }, cwd);
    const other = page.locator(`#card-${write.id}`);
    await other.getByRole("heading", { name: "Write b.js, +1 −1" }).waitFor();
    assert.deepEqual(await other.locator(".diff tbody tr").allInnerTexts(), [
      "1\t1\t\tone",
      "2\t\t−\ttwo",
      "\t2\t+\t2",
    ]);
    // Without a focused card, a digit does nothing.
    await page.keyboard.press("1");
    await card.focus();
    await page.keyboard.press("1");
    assert.deepEqual(await push.answer, { behavior: "allow" });
    const last = await askPermission(lab, "mcp__github__create_issue", { title: "t" }, cwd);
    await page.locator(`#card-${last.id}`).getByText("Use github: create_issue").waitFor();
    await page.locator(`#card-${last.id}`).focus();
    await page.keyboard.press("2");
    assert.deepEqual(await last.answer, { behavior: "deny", message: "The human denied it" });
    // After a field was removed, single keys do nothing for a second, so this comes last.
    await other.focus();
    await page.keyboard.press("3");
    const field = page.getByLabel("Why api-claude-code may not do it");
    await field.pressSequentially("Use 1, 2 or 3");
    assert.deepEqual(await violationsOf(page), []);
    await page.keyboard.press("Enter");
    assert.deepEqual(await write.answer, { behavior: "deny", message: "Use 1, 2 or 3" });
    await other.waitFor({ state: "detached" });
  },
  GATED,
);

browserTest("what is long or cut must be opened before it can be allowed", async (lab) => {
  const page = await lab.open();
  const long = await askPermission(lab, "Write", {
    file_path: "new.txt",
    content: "line\n".repeat(90),
  });
  const card = page.locator(`#card-${long.id}`);
  await card.getByText("Show all of it first.").waitFor();
  await card.focus();
  await page.keyboard.press("1");
  await page.getByText("Show all of it first. Then you can allow it.").first().waitFor();
  await card.getByRole("button", { name: "Show 50 more lines" }).click();
  await card.getByText("Show all of it first.").waitFor({ state: "detached" });
  assert.equal(await card.locator(".diff tbody tr").count(), 90);
  await card.focus();
  await page.keyboard.press("1");
  assert.deepEqual(await long.answer, { behavior: "allow" });
  const cut = await askPermission(lab, "Bash", { command: `echo ${"x".repeat(200_000)}; sh` });
  const other = page.locator(`#card-${cut.id}`);
  await other.getByRole("button", { name: /^Show [\d,]+ more characters$/ }).click();
  assert.match(await other.locator(".exact").first().innerText(), /…\(\d+ more\)… x+; sh$/);
  await other.getByText("Show all of it first.").waitFor();
  const saved = page.waitForEvent("download");
  await other.getByRole("link", { name: "tool-input.json" }).click();
  await (await saved).cancel();
  await other.getByText("Show all of it first.").waitFor({ state: "detached" });
  await other.focus();
  await page.keyboard.press("1");
  assert.deepEqual(await cut.answer, { behavior: "allow" });
}, GATED);

browserTest(
  "no text of an act is disguised, on a phone and in the peer's chat as well",
  async (lab) => {
    const command = `ls \u202e; <b>x</b> \u001b[2J\r\n${" ".repeat(3000)}rm -rf ~ `;
    const asked = await askPermission(lab, "Bash", { command });
    const page = await lab.open(`#/peers/${asked.peer_id}`, PHONE);
    const card = page.locator(`#card-${asked.id}`);
    const title = card.getByRole("heading");
    assert.equal(await title.innerText(), "Run: ls ⟨U+202E⟩; <b>x</b> ⟨U+001B⟩[2J rm -rf ~");
    const shown = await card.locator(".exact").first().innerText();
    assert.match(shown, /^\$ ls ⟨U\+202E⟩; <b>x<\/b> ⟨U\+001B⟩\[2J⟨U\+000D⟩\n +rm -rf ~ $/);
    const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.equal(wide, 0);
    assert.deepEqual(await violationsOf(page), []);
    await card.getByRole("button", { name: "Deny", exact: true }).click();
    assert.equal((await asked.answer).behavior, "deny");
    const raw = await askPermission(lab, "AnotherTool", { what: "ever" });
    const other = page.locator(`#card-${raw.id}`);
    await other.getByRole("heading", { name: "Use AnotherTool" }).waitFor();
    assert.equal(await other.getByText('"what": "ever"').isVisible(), true);
  },
  GATED,
);

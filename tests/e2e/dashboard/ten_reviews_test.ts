/** Ten reviews by keys alone, beside the same ten with git in a shell. docs/review.md has the figures. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { systemClock } from "kit/core/clock.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";
import { Person } from "../../support/dashboard/person.ts";
import { type WorkTree, WorkTrees } from "../../support/repositories/work_trees.ts";
import { print, until } from "../../support/waiting.ts";

const COUNT = 10;
const COMMENT = "Why this number?";
const TEXT = "Add a test.";
/** Keys for ten reviews at most. */
const KEYS_MAX = 160;

/** Three get a comment, two are sent back, and all others are accepted. */
const decisionOf = (at: number) => at % 3 === 1 ? "comment" : at % 5 === 0 ? "back" : "accept";

browserTest("ten reviews take few keys", async (lab) => {
  using trees = new WorkTrees(COUNT, 2);
  const peers = await trees.connect(lab);
  const page = await lab.open("", { viewport: { width: 1440, height: 900 } });
  await page.getByRole("link", { name: "10 ready to review" }).waitFor();
  const person = new Person(page);
  await person.press("g", "v");
  for (let at = 0; at < COUNT; at++) await review(person, at);
  const { keys, seconds } = person.effort;
  print(`ten reviews at the desk: ${keys} keys, ${seconds} s`);
  const sent = peers.flatMap(({ frames }) => frames.filter(({ type }) => type === "ask"));
  assert.deepEqual(sent.filter(({ text }) => text?.includes(COMMENT)).length, 3);
  assert.deepEqual(sent.filter(({ text }) => text?.includes(TEXT)).length, 2);
  const rest = await page.evaluate<{ ready: number }>(
    `fetch("/reviews?limit=0").then((answer) => answer.json())`,
  );
  assert.equal(rest.ready, 0);
  assert.ok(keys <= KEYS_MAX, `${keys} keys`);
  const git = await inShell(trees.trees);
  print(`the same with git in a shell: ${git.keys} keys, ${git.seconds} s`);
});

async function review(person: Person, at: number): Promise<void> {
  const { page } = person;
  const name = await shownName(page);
  await page.locator(".changed-lines").last().waitFor();
  const decision = decisionOf(at);
  if (decision === "comment") {
    await person.press("c", "c");
    await person.waitForFocus(page.getByLabel(/^Comment on line/));
    await person.type(COMMENT);
    await person.press("Control+Enter");
    await page.getByText(`Not sent: ${COMMENT}`).waitFor();
    await person.press("e");
    await page.getByText("not seen yet").or(page.getByText("seen", { exact: true })).first()
      .waitFor();
  }
  if (decision === "back") {
    await person.press("s");
    await person.waitForFocus(page.getByLabel(/^What is missing/));
    await person.type(TEXT);
    await person.press("Control+Enter");
  } else await person.press("a");
  await until("the next one", async () => await shownName(page) !== name);
}

/** The name of the shown author; empty once nothing is ready. */
async function shownName(page: Page): Promise<string> {
  const names = page.getByRole("region", { name: "The chosen review" }).locator("header a").first();
  if (await page.getByText("Nothing is ready to review").count() > 0) return "";
  return await names.textContent() ?? "";
}

/** The commands that show the same and send the same, with the keys that they take. */
async function inShell(trees: readonly WorkTree[]) {
  let keys = 0;
  const began = systemClock.monotonic();
  for (const [at, { folder }] of trees.entries()) {
    const name = folder.slice(folder.lastIndexOf("/") + 1);
    const shown = [`cd ../${name}`, "git diff main", "git status -s", `cat notes${at}.md`];
    for (const line of shown) {
      keys += line.length + 1;
      // The pager ends with a key.
      if (line.startsWith("git diff")) keys++;
      await new Deno.Command("sh", { args: ["-c", line], cwd: folder }).output();
    }
    const decision = decisionOf(at);
    if (decision === "comment") {
      keys += `mesh ask ${name} "src/login.ts line 4: ${COMMENT}"`.length + 1;
    } else if (decision === "back") keys += `mesh ask ${name} "${TEXT}"`.length + 1;
  }
  const seconds = (systemClock.monotonic() - began) / 1000;
  return { keys, seconds: Math.round(seconds * 10) / 10 };
}

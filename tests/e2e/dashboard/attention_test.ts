/** Items that wait for the human are shown unchanged, do not move, and are not lost. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { cancelAsk, getAsk, listAsks } from "protocol/asks/contract.ts";
import { answerAsk } from "protocol/asks/questions.ts";
import { choice, open } from "../../support/dashboard/attention.ts";
import { browserTest } from "../../support/dashboard/browser_tests.ts";

const COMMANDS = [
  'command: "rm -rf ~/*/tmp ~/*"',
  "rm __init__.py __main__.py",
  "echo `id` \\* ~~kept~~ \\\\server\\share",
  "curl [a](https://evil.example) <b>x</b> &amp; ![p](https://evil.example/p.png)",
  "first\n[a]: https://evil.example/gone\n# last\n> quoted\n- item\n    indented  code",
  "| a | b |\n| --- | --- |\n| c | d |",
];

browserTest("an approval shows each character of what is approved", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const page = await lab.open();
  for (const prompt of COMMANDS) {
    const id = await open(db, choice(prompt, { scope: "tool_permission" }));
    const card = page.locator(`#card-${id}`);
    assert.equal(await card.locator(".exact").innerText(), prompt);
  }
  const id = await open(db, choice("Which files?", { prompt: "*.bak or *.tmp?" }));
  const card = page.locator(`#card-${id}`);
  assert.equal(await card.locator(".exact").innerText(), "*.bak or *.tmp?");
  const plain = await open(db, { text: "before\n\n[a]: https://evil.example 'gone'\n\nafter" });
  await page.locator(`#card-${plain}`).getByText("[a]: https://evil.example").waitFor();
});

/** The place of the first button that says "Run it". */
async function runIt(page: Page) {
  const box = await page.getByRole("button", { name: "Run it" }).first().boundingBox();
  assert.ok(box);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** The card at a point. */
function cardAt(page: Page, { x, y }: { x: number; y: number }) {
  return page.evaluate(`document.elementFromPoint(${x}, ${y})?.closest("li.card")?.id`);
}

browserTest("a question does not move away from under the pointer", async (lab) => {
  const [db, api] = [await lab.peer({ name: "db" }), await lab.peer({ name: "api" })];
  const page = await lab.open();
  const id = await open(db, choice("Run the tests?"));
  await page.getByText("Run the tests?").waitFor();
  const place = await runIt(page);
  await page.mouse.move(place.x, place.y);
  await open(api, choice("Delete everything?", { blocking: true }));
  await page.getByText("Delete everything?").waitFor();
  assert.equal(await cardAt(page, place), `card-${id}`);
  await page.getByRole("button", { name: "1 below is more urgent" }).click();
  await page.locator("li.card:first-child", { hasText: "Delete everything?" }).waitFor();
});

browserTest("a click on a question that has just appeared is not taken", async (lab) => {
  const [db, api] = [await lab.peer({ name: "db" }), await lab.peer({ name: "api" })];
  const page = await lab.open();
  await open(db, choice("Run the tests?"));
  await page.getByText("Run the tests?").waitFor();
  // A person clicks at the moment when another question takes the place.
  await page.evaluate(`globalThis.clicked = 0; new MutationObserver((_, observer) => {
    const card = [...document.querySelectorAll("main li.card")]
      .find((one) => one.innerText.includes("Delete everything?"));
    const button = card?.querySelector(".options button");
    if (!button) return;
    observer.disconnect();
    globalThis.clicked++;
    button.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
  }).observe(document.querySelector("main"), { childList: true, subtree: true })`);
  const id = await open(api, choice("Delete everything?", { blocking: true }));
  await page.getByText("The questions have just moved. Press again.").waitFor({
    state: "attached",
  });
  assert.equal(await page.evaluate("globalThis.clicked"), 1);
  assert.equal((await lab.call(getAsk, { params: { id } })).state, "open");
  await page.locator(`#card-${id}`).getByRole("button", { name: "Leave it" }).click();
  await page.getByText("Delete everything?").waitFor({ state: "detached" });
  assert.equal((await lab.call(getAsk, { params: { id } })).answer?.option_id, "no");
});

browserTest(
  "a text outlives the end of its question, and its keys are no commands",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    const page = await lab.open();
    const id = await open(api, { text: "Which log?" });
    await page.getByLabel("Answer api").pressSequentially("Look at the ");
    await lab.call(cancelAsk, { params: { id }, body: { peer_id: api.peer_id } });
    await page.getByText("It was cancelled by api").waitFor();
    await page.keyboard.type("glorious log");
    await page.keyboard.press("Enter");
    const field = page.getByLabel("Your text to api");
    assert.equal(await field.inputValue(), "Look at the glorious log");
    await page.getByRole("heading", { name: "Attention", level: 1 }).waitFor();
    await page.getByText("Your text was not sent.", { exact: false }).first().waitFor();
    await page.getByRole("button", { name: "Send it as a new ask" }).click();
    await field.waitFor({ state: "detached" });
    const again = await api.waitForAsk("Look at the glorious log");
    assert.equal((await lab.call(getAsk, { params: { id: again } })).reply_to, id);
  },
);

browserTest(
  "an answer that is not sent outlives a look at another view, and a reload",
  async (lab) => {
    const api = await lab.peer({ name: "api" });
    const page = await lab.open();
    await open(api, { text: "Which port?" });
    await page.getByLabel("Answer api").fill("Port 80");
    await page.getByRole("link", { name: "Log" }).click();
    await page.getByRole("heading", { name: "Log", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Attention" }).click();
    assert.equal(await page.getByLabel("Answer api").inputValue(), "Port 80");
    await page.reload();
    assert.equal(await page.getByLabel("Answer api").inputValue(), "Port 80");
  },
);

browserTest("the late one of two texts to an ask is kept, and changes nothing", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const [page, other] = [await lab.open(), await lab.open()];
  const id = await open(api, { text: "Drop the table?" });
  await page.getByLabel("Answer api").fill("yes");
  await other.getByLabel("Answer api").fill("no, stop");
  // The other page has not heard of the answer when its own is given.
  await other.route(/\/(?:inbox|asks)\?/, () => {});
  await page.keyboard.press("Enter");
  await page.getByText("Drop the table?").waitFor({ state: "detached" });
  await other.getByLabel("Answer api").press("Enter");
  await other.getByText("sam answered: yes").waitFor();
  await other.getByText("Your answer was not used.").waitFor();
  assert.equal(await other.getByLabel("Your text to api").inputValue(), "no, stop");
  const { asks } = await lab.call(listAsks, { query: {} });
  assert.deepEqual(asks.map(({ correlation_id, reply }) => [correlation_id, reply]), [[id, "yes"]]);
});

for (const lists of ["are current", "are late"] as const) {
  browserTest(`an answer whose response is lost counts once; the lists ${lists}`, async (lab) => {
    const api = await lab.peer({ name: "api" });
    const page = await lab.open();
    const id = await open(api, { text: "Ship it?" });
    await page.getByLabel("Answer api").fill("Yes.");
    if (lists === "are late") await page.route(/\/(?:inbox|asks)\?/, () => {});
    await page.route("**/ack", async (route) => {
      await route.fetch();
      await route.abort();
    }, { times: 1 });
    await page.getByRole("button", { name: "Answer" }).click();
    if (lists === "are late") {
      await page.getByText("The daemon does not answer. Try again.").waitFor();
      await page.getByRole("button", { name: "Answer" }).click();
    }
    await page.getByText("Ship it?").waitFor({ state: "detached" });
    assert.equal((await lab.call(getAsk, { params: { id } })).reply, "Yes.");
    assert.equal((await lab.call(listAsks, { query: {} })).asks.length, 1);
    // The browser's own report of the lost response.
    assert.deepEqual(lab.offences.splice(0), ["console: Failed to load resource: net::ERR_FAILED"]);
  });
}

const ENDINGS = [
  ["cancelled by its asker", "It was cancelled by db"],
  ["answered by a surface", "sam answered: Leave it"],
] as const;

for (const [what, text] of ENDINGS) {
  browserTest(`after a late choice the page says that the question was ${what}`, async (lab) => {
    const db = await lab.peer({ name: "db" });
    const page = await lab.open();
    const id = await open(db, choice("May I?"));
    await page.getByText("May I?").waitFor();
    await page.route(/\/(?:inbox|asks)\?/, () => {});
    if (text.includes("cancelled")) {
      await lab.call(cancelAsk, { params: { id }, body: { peer_id: db.peer_id } });
    } else {
      await lab.call(answerAsk, {
        body: { correlation_id: id, option_id: "no", from_peer: "sam" },
      });
    }
    await page.getByRole("button", { name: "Run it" }).click();
    await page.getByText(text).waitFor();
    await page.getByText("Your answer was not used.").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("May I?").waitFor({ state: "detached" });
  });
}

browserTest("a note that is costly to parse does not stop the page", async (lab) => {
  const db = await lab.peer({ name: "db" });
  const table = `${"|a".repeat(300)}|\n${"|-".repeat(300)}|\n${"a\n".repeat(3000)}`;
  for (const text of ["*a_".repeat(6000), table, "__a_ ".repeat(3000)]) {
    await db.request("notify", { to_peer: "sam", text });
  }
  await db.request("notify", { to_peer: "sam", text: `${"long ".repeat(5000)}end` });
  const page = await lab.open();
  await page.getByRole("button", { name: "Mark as read" }).nth(3).waitFor();
  const nodes = await page.evaluate("document.querySelectorAll('main *').length");
  assert.ok(Number(nodes) < 15_000, `${nodes} elements`);
  assert.equal(await page.getByText("long end").count(), 0);
  await page.getByRole("button", { name: "Show all 25,003 characters" }).click();
  await page.getByText("long end").waitFor();
});

browserTest(
  "two quick clicks send one answer, and a copy without a clipboard says so",
  async (lab) => {
    const db = await lab.peer({ name: "db" });
    const page = await lab.open();
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.reload();
    await open(db, { text: "Well done", question: { kind: "acknowledge" } });
    await db.request("notify", { to_peer: "sam", text: "```\ncode\n```" });
    const sent: string[] = [];
    page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByText("Select the text to copy it").waitFor();
    await page.getByRole("button", { name: "Acknowledge" }).dblclick();
    await page.getByText("Well done").waitFor({ state: "detached" });
    assert.deepEqual(sent, [`${lab.daemon.base}/answer`]);
  },
);

browserTest("notifications are read together or put off, and each can be undone", async (lab) => {
  const db = await lab.peer({ name: "db" });
  for (const text of ["first", "second"]) await db.request("notify", { to_peer: "sam", text });
  const page = await lab.open();
  const cards = page.locator(".card", { hasText: /first|second/ });
  await page.getByRole("button", { name: "Mark all as read" }).click();
  await page.getByText("Nothing waits for you").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await cards.nth(1).waitFor();
  await cards.first().getByLabel("Put off").selectOption("1h");
  await page.getByText("1 put off").click();
  await page.getByText(/comes back in (59|60) min|comes back in 1 h/).waitFor();
  await page.getByRole("button", { name: "Bring it back now" }).click();
  await page.getByText("1 put off").waitFor({ state: "detached" });
  await cards.nth(1).waitFor();
});

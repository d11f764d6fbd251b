/** The live screen of a peer's pane: real tmux, read only while somebody looks, and harmless. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { openAsk } from "protocol/asks/contract.ts";
import { paneTest } from "../../../support/dashboard/pane_lab.ts";
import { until } from "../../../support/waiting.ts";

const rowsOf = (page: Page) => page.locator(".pane-terminal .xterm-rows");

paneTest("a peer's screen is shown in its colours, and follows its program", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  await page.getByRole("button", { name: "Screen" }).click();
  await rowsOf(page).getByText("ready").waitFor();
  const colours = `[...document.querySelectorAll(".xterm-rows span")]
    .find((one) => one.textContent.includes("to work")).style.color`;
  assert.equal(await page.evaluate(colours), "rgb(255, 120, 0)");
  lab.tmux("send-keys", "-t", ada.pane_id, "what now", "Enter");
  await rowsOf(page).getByText("what now").first().waitFor();
  await page.getByText("Pane %0, 80 × 24, read only").waitFor();
  // Keys typed in the browser are not sent.
  await page.getByRole("region", { name: "Screen of ada" }).click();
  await page.keyboard.type("typed here");
  lab.tmux("send-keys", "-t", ada.pane_id, "the end", "Enter");
  await rowsOf(page).getByText("the end").first().waitFor();
  assert.equal(await rowsOf(page).getByText("typed here").count(), 0);
});

paneTest("the terminal is loaded when a screen is shown, and by no other view", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(request.url()));
  await page.reload();
  await page.getByLabel("Ask ada").waitFor();
  assert.deepEqual(loaded.filter((url) => /terminal|\/pane$/.test(url)), []);
  await page.getByRole("button", { name: "Screen" }).click();
  await rowsOf(page).waitFor();
  assert.equal(loaded.filter((url) => url.includes("/assets/terminal.")).length, 1);
});

paneTest("the next screen shows nothing of the previous one", async (lab) => {
  const [ada, bob] = [await lab.peer("ada"), await lab.peer("bob", "echo second; exec cat")];
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`);
  await rowsOf(page).getByText("ready").waitFor();
  for (const [peer, text] of [[bob, "second"], [ada, "ready"]] as const) {
    await page.evaluate((to) => location.hash = to, `#/peers/${peer.peer_id}?tab=screen`);
    await rowsOf(page).getByText(text).waitFor();
    assert.equal(await page.locator(".xterm").count(), 1);
  }
  await page.getByRole("button", { name: "Evidence" }).click();
  await page.getByText("Registered").waitFor();
  const left = "[document.adoptedStyleSheets.length, Object.hasOwn(document, 'createElement')]";
  assert.deepEqual(await page.evaluate(left), [0, false]);
});

paneTest("nothing is read while the page is hidden or another part is shown", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open();
  await page.clock.install();
  let reads = 0;
  page.on("request", (request) => reads += Number(request.url().endsWith("/pane")));
  await page.goto(`${lab.dashboard.daemon.base}/dashboard#/peers/${ada.peer_id}?tab=screen`);
  await rowsOf(page).getByText("ready").waitFor();
  const hide = (hidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
       document.dispatchEvent(new Event("visibilitychange"))`,
    );
  /** Lets time pass; a request in between lets the page answer what has arrived. */
  const pass = async () => {
    for (let round = 0; round < 5; round++) {
      await page.clock.fastForward(10_000);
      await page.evaluate("fetch('/health').then((response) => response.text())");
    }
  };
  await pass();
  assert.ok(reads > 2, String(reads));
  await hide(true);
  await pass();
  const before = reads;
  await pass();
  assert.equal(reads, before);
  await hide(false);
  await until("a read", () => reads > before);
  await page.getByRole("button", { name: "Evidence" }).click();
  await page.getByText("Registered").waitFor();
  const after = reads;
  await pass();
  assert.equal(reads, after);
});

const HOSTILE = [
  "\x1b]8;;https://evil.example\x1b\\a link\x1b]8;;\x1b\\",
  "\x1b]0;stolen title\x07\x1b]52;c;ZXZpbA==\x07\x1b[6n\x1b[c",
  "\x1b[2J\x1b[9;9Hmoved\x1b[?1049h\x1b[?1000h\x1b]1337;File=inline=1:AAAA\x07",
  "<img src=x onerror='globalThis.ran = 1'><script>globalThis.ran = 1</script>",
  `${"x".repeat(5000)}\x1bPq#0;2;0;0;0~\x1b\\`,
];

paneTest("escapes and markup in a pane change nothing but its own rows", async (lab) => {
  const file = `${lab.folder}/hostile`;
  Deno.writeTextFileSync(file, `${HOSTILE.join("\n")}\nlast row\n`);
  const ada = await lab.peer("ada", `echo ready; read line; cat ${file}; exec cat`);
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`);
  lab.tmux("send-keys", "-t", ada.pane_id, "Enter");
  await rowsOf(page).getByText("last row").waitFor();
  await harmless(page);
  // The same as the page would see it if the daemon let every sequence through.
  await page.route(/\/pane$/, (route) =>
    route.fulfill({
      json: {
        peer_id: ada.peer_id,
        pane_id: "%0",
        width: 80,
        height: 24,
        cursor: { x: 5000, y: -3 },
        in_mode: false,
        rows: [...HOSTILE, "still the last row"],
      },
    }));
  await rowsOf(page).getByText("still the last row").waitFor();
  assert.equal(await rowsOf(page).locator("> div").nth(2).textContent(), "moved");
  await harmless(page);
});

async function harmless(page: Page): Promise<void> {
  assert.equal(await page.title(), "Mesh · Agent Mesh");
  const found = await page.evaluate(`({
    ran: typeof globalThis.ran,
    wide: document.documentElement.scrollWidth - innerWidth,
    links: document.querySelectorAll(".screen :is(a, img, script, iframe, canvas)").length,
  })`);
  assert.deepEqual(found, { ran: "undefined", wide: 0, links: 0 });
}

paneTest("a pane that is gone is said to be gone", async (lab) => {
  const ada = await lab.peer("ada");
  lab.pane("exec cat", "other"); // Keeps tmux running.
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`);
  await rowsOf(page).getByText("ready").waitFor();
  lab.tmux("kill-pane", "-t", ada.pane_id);
  await page.locator(".screen").getByRole("alert").waitFor();
  await page.getByRole("button", { name: "Try again" }).waitFor();
  // The browser reports the refusal by itself.
  lab.dashboard.forgive(/409/);
});

paneTest(
  "a question of an agent that has ended no turn shows the end of its screen",
  async (lab) => {
    const ada = await lab.peer(
      "ada",
      "printf '\\033[31mred\\033[0m line\\nand the last\\n'; exec cat",
    );
    const body = { from_peer: ada.peer_id, to_peer: "sam", text: "Which one?" };
    const { correlation_id } = await lab.dashboard.call(openAsk, { body });
    const page = await lab.dashboard.open();
    const context = page.locator(`#card-${correlation_id} details.context`);
    await context.getByText("Its screen when this question was shown").click();
    const lines = context.getByRole("region", { name: "Last lines of ada" });
    assert.equal(await lines.innerText(), "red line\nand the last");
  },
);

/** Typing into a peer's pane from its page: real tmux, only if allowed, only while switched on. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import { type PaneLab, paneTest } from "../../../support/dashboard/pane_lab.ts";
import { until } from "../../../support/waiting.ts";

const ALLOWED = { MESH_PANES__ALLOW_TYPING: "true" };
/** Writes what it reads, each byte at once, to a file. */
const recorder = (lab: PaneLab) =>
  `stty raw -echo; printf '\\033[?2004hready\\r\\n> '; exec cat > ${lab.folder}/got`;

const rowsOf = (page: Page) => page.locator(".pane-terminal .xterm-rows");
const switchOf = (page: Page) => page.getByRole("button", { name: "Type into this pane" });
const gotIn = (lab: PaneLab) => Deno.readTextFileSync(`${lab.folder}/got`);

/** The browser reports refusals by itself. */
function forgetRefusals({ dashboard }: PaneLab, status: string): void {
  dashboard.forgive(new RegExp(status));
}

paneTest("keys and a paste go to the pane in their order, once it is switched on", async (lab) => {
  const ada = await lab.peer("ada", recorder(lab));
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`);
  await rowsOf(page).getByText("ready").waitFor();
  await page.getByRole("region", { name: "Screen of ada" }).click();
  await page.keyboard.type("lost");
  await switchOf(page).click();
  await page.getByText("Your keys go to").waitFor();
  assert.equal(await switchOf(page).getAttribute("aria-pressed"), "true");
  assert.deepEqual(await violationsOf(page), []);
  await page.keyboard.type("héllo");
  for (const key of ["Enter", "ArrowUp", "Tab", "Escape", "Backspace", "Control+c", "Control+k"]) {
    await page.keyboard.press(key);
  }
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "two\\nlines");
    document.activeElement.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }`);
  await page.getByRole("button", { name: "Down", exact: true }).click();
  const expected = "héllo\r\x1b[A\t\x1b\x7f\x03\x0b\x1b[200~two\rlines\x1b[201~\x1b[B";
  await until("the keys", () => gotIn(lab) === expected);
}, ALLOWED);

paneTest(
  "typing ends with F2 and with the view, and is off when the view opens again",
  async (lab) => {
    const ada = await lab.peer("ada", recorder(lab));
    const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`);
    await switchOf(page).click();
    await page.getByText("Your keys go to").waitFor();
    await page.keyboard.press("F2");
    await page.getByText("Your keys go to").waitFor({ state: "detached" });
    await switchOf(page).click();
    await page.getByText("Your keys go to").waitFor();
    await page.getByRole("button", { name: "Evidence" }).click();
    await page.getByText("Registered").waitFor();
    await page.getByRole("button", { name: "Screen" }).click();
    await rowsOf(page).getByText("ready").waitFor();
    assert.equal(await switchOf(page).getAttribute("aria-pressed"), "false");
    await page.getByRole("region", { name: "Screen of ada" }).click();
    await page.keyboard.type("lost");
    assert.equal(gotIn(lab), "");
  },
  ALLOWED,
);

paneTest("a dialog in the pane holds the keys back until the person accepts it", async (lab) => {
  const ada = await lab.peer(
    "ada",
    `echo ready; read line; stty raw -echo; printf 'Do you want to create perm.txt?\\r\\n> '; ` +
      `exec cat > ${lab.folder}/got`,
  );
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`);
  lab.tmux("send-keys", "-t", ada.pane_id, "Enter");
  await rowsOf(page).getByText("Do you want").waitFor();
  await switchOf(page).click();
  await page.getByText("A dialog is open there").waitFor();
  assert.equal(await switchOf(page).getAttribute("aria-pressed"), "false");
  await page.getByRole("button", { name: "Type there" }).click();
  await page.getByText("Your keys go to").waitFor();
  await page.keyboard.type("1");
  await until("the key", () => gotIn(lab) === "1");
  forgetRefusals(lab, "409");
}, ALLOWED);

paneTest("a daemon that does not allow it says which line allows it", async (lab) => {
  const ada = await lab.peer("ada", recorder(lab));
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}?tab=screen`);
  await switchOf(page).click();
  await page.getByText("mesh config set panes.allow_typing true").waitFor();
  assert.equal(await switchOf(page).getAttribute("aria-pressed"), "false");
  forgetRefusals(lab, "403");
});

paneTest("a page without a ticket cannot type", async (lab) => {
  const ada = await lab.peer("ada", recorder(lab));
  const page = await lab.dashboard.openPlain(`#/peers/${ada.peer_id}?tab=screen`);
  await switchOf(page).click();
  await page.getByText("It is not proven that a person sends this").waitFor();
  assert.equal(gotIn(lab), "");
  forgetRefusals(lab, "403");
}, ALLOWED);

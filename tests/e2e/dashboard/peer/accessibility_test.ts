/** axe finds nothing in the peer's view, its windows, and the window that starts an agent. */

import assert from "node:assert/strict";
import { uploadAttachment } from "protocol/messages/attachments.ts";
import { violationsOf } from "../../../support/dashboard/axe.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { paneTest } from "../../../support/dashboard/pane_lab.ts";

const ACTIONS = [
  "Restart…",
  "Copy…",
  "Fork…",
  "Hand over…",
  "Reconnect…",
  "Rename…",
  "Close…",
  "Kill…",
];

const FILE = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("a note") };

async function sendFiles(lab: DashboardLab, to_peer: string): Promise<void> {
  const web = await lab.peer({ name: "web" });
  const attachments: string[] = [];
  for (const [name, type] of [["notes.txt", "text/plain"], ["broken.png", "image/png"]] as const) {
    const form = new FormData();
    form.set("file", new File(["a note"], name, { type }));
    const init = { method: "POST", body: form };
    const response = await fetch(`${lab.daemon.base}${uploadAttachment.path}`, init);
    attachments.push((await response.json()).id);
  }
  await web.request("notify", { to_peer, text: "two files", attachments });
}

paneTest(
  "axe finds no violation in a screen, files, an action, a spawn or an orphan",
  async (lab) => {
    const ada = await lab.peer("ada");
    lab.pane("exec cat", "other");
    await sendFiles(lab.dashboard, ada.peer_id);
    const found: string[] = [];
    for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
      const page = await lab.dashboard.open("", { viewport });
      const check = async (what: string) => {
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        const violations = await violationsOf(page);
        const wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        if (wide !== 0) found.push(`${viewport.width} ${what}: scrolls sideways by ${wide}`);
        for (const line of violations) found.push(`${viewport.width} ${what}: ${line}`);
      };
      await page.evaluate((to) => location.hash = to, `#/peers/${ada.peer_id}?tab=screen`);
      await page.locator(".xterm-rows").getByText("ready").waitFor();
      await check("screen");
      for (const action of ACTIONS) {
        await page.getByRole("button", { name: "Actions" }).click();
        if (action === ACTIONS[0]) await check("menu");
        await page.getByRole("button", { name: action }).click();
        await page.getByRole("dialog").waitFor();
        await check(action);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
      await page.evaluate((to) => location.hash = to, `#/peers/${ada.peer_id}`);
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByRole("region", { name: "Beginning of" }).waitFor();
      await page.getByLabel("Files to attach").setInputFiles(FILE);
      await page.getByText("uploading…").waitFor({ state: "detached" });
      await check("files");
      await page.getByRole("button", { name: "Templates" }).click();
      await check("templates");
      await page.keyboard.press("Escape");
      await page.evaluate((to) => location.hash = to, "#/mesh?new=agent");
      const dialog = page.getByRole("dialog", { name: "Start an agent" });
      await dialog.getByRole("combobox", { name: "Folder" }).fill(`${lab.folder}/`);
      await dialog.getByRole("option", { name: "/api" }).waitFor();
      await check("spawn");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await page.getByText("Tmux panes without a peer").click();
      await page.getByRole("button", { name: "Adopt…" }).first().click();
      await page.getByRole("dialog").waitFor();
      await check("adopt");
      await page.context().close();
    }
    assert.deepEqual(found, []);
  },
);

/** Files of messages: attached by choice, paste and drop; shown, saved, and kept in a draft. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { ackAsk } from "protocol/asks/contract.ts";
import { uploadAttachment } from "protocol/messages/attachments.ts";
import { browserTest } from "../../../support/dashboard/browser_tests.ts";
import type { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { until } from "../../../support/waiting.ts";

/** A red picture of 2 × 2. */
const PICTURE = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==",
);

const file = (name: string, mimeType: string, content: string | Uint8Array) => {
  return { name, mimeType, buffer: Buffer.from(content) };
};

async function upload(lab: DashboardLab, name: string, type: string, content: string) {
  const form = new FormData();
  form.set("file", new File([content], name, { type }));
  const url = `${lab.daemon.base}${uploadAttachment.path}`;
  return String((await (await fetch(url, { method: "POST", body: form })).json()).id);
}

/** Drops or pastes a file as a browser does. */
const give = (page: Page, event: "drop" | "paste", name: string, content: string) =>
  page.evaluate(`{
    const data = new DataTransfer();
    data.items.add(new File([${JSON.stringify(content)}], "${name}", { type: "text/plain" }));
    const init = { bubbles: true, cancelable: true };
    if ("${event}" === "paste") {
      const paste = new ClipboardEvent("paste", { ...init, clipboardData: data });
      document.querySelector("[data-compose]").dispatchEvent(paste);
    } else {
      for (const type of ["dragover", "drop"]) {
        const drag = new DragEvent(type, { ...init, dataTransfer: data });
        document.querySelector(".conversation").dispatchEvent(drag);
        if (!drag.defaultPrevented) throw new Error("The browser would leave the page");
      }
    }
  }`);

browserTest("files that are chosen, pasted and dropped arrive with the message", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByLabel("Files to attach").setInputFiles([
    file("red.png", "image/png", PICTURE),
    file("notes.md", "text/markdown", "# The notes\n\nfirst line"),
  ]);
  const waiting = page.getByRole("list", { name: "Files to send" });
  await waiting.getByRole("button", { name: "Remove red.png" }).waitFor();
  await waiting.getByRole("button", { name: "Remove notes.md" }).waitFor();
  await give(page, "paste", "pasted.txt", "from the clipboard");
  await give(page, "drop", "dropped.txt", "from the desktop");
  await waiting.getByRole("button", { name: "Remove dropped.txt" }).waitFor();
  await waiting.getByRole("button", { name: "Remove pasted.txt" }).click();
  await page.getByLabel("Ask api").fill("Look at these");
  await page.getByRole("button", { name: "Send" }).click();
  await api.waitForAsk("Look at these");
  await waiting.waitFor({ state: "detached" });
  const bubble = page.locator(".bubble", { hasText: "Look at these" });
  const picture = bubble.getByRole("img", { name: "Attached picture red.png" });
  await picture.waitFor();
  const width = `document.querySelector(".bubble .picture").naturalWidth`;
  await until("the picture", async () => await page.evaluate(width) === 2);
  await bubble.locator("li", { hasText: "notes.md" }).getByRole("button", { name: "Preview" })
    .click();
  await bubble.getByRole("region", { name: "Beginning of notes.md" }).getByText("first line")
    .waitFor();
  const download = page.waitForEvent("download");
  await bubble.getByRole("link", { name: "dropped.txt" }).click();
  const saved = await (await download).createReadStream();
  assert.equal(await new Response(ReadableStream.from(saved)).text(), "from the desktop");
  assert.equal(await bubble.getByText("pasted.txt").count(), 0);
});

browserTest("a draft keeps its kind and its files over a reload", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByRole("button", { name: "Notify" }).click();
  await page.getByLabel("Notify api").fill("half a thought");
  await page.getByLabel("Files to attach").setInputFiles(file("a.txt", "text/plain", "a"));
  await page.getByRole("button", { name: "Remove a.txt" }).waitFor();
  await page.getByText("uploading…").waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("button", { name: "Remove a.txt" }).waitFor();
  assert.equal(await page.getByLabel("Notify api").inputValue(), "half a thought");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".bubble", { hasText: "a.txt" }).waitFor();
  await page.reload();
  assert.equal(await page.getByLabel("Ask api").inputValue(), "");
});

browserTest("on a phone, everything of the message box is within the screen", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`, {
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
  });
  const name = `${"long-".repeat(40)}.txt`;
  await page.getByLabel("Files to attach").setInputFiles(file(name, "text/plain", "a"));
  await page.getByText("uploading…").waitFor({ state: "detached" });
  const right = await page.evaluate(`Math.max(
    ...[...document.querySelectorAll(".compose *")].map((one) => one.getBoundingClientRect().right),
  )`);
  assert.ok(Number(right) <= 390, String(right));
});

browserTest("a file that is refused says why, and holds nothing up", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  const many = Array.from({ length: 21 }, (_, at) => file(`${at}.txt`, "text/plain", "x"));
  await page.getByLabel("Files to attach").setInputFiles(many);
  await page.getByText("A message carries at most 20 files.").waitFor();
  await page.getByText("uploading…").first().waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Remove 20.txt" }).click();
  await page.getByText("A message carries at most 20 files.").waitFor({ state: "detached" });
  await page.getByLabel("Ask api").fill("All of them");
  await page.getByRole("button", { name: "Send" }).click();
  await api.waitForAsk("All of them");
});

browserTest("a template is kept, survives a reload, and is inserted and forgotten", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("Please review the last commit.");
  await page.getByRole("button", { name: "Templates" }).click();
  await page.getByLabel("Keep the present text as").fill("review");
  await page.getByRole("button", { name: "Keep it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "review Please" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("button:focus", { hasText: "Templates" }).waitFor();
  await page.reload();
  await page.getByLabel("Ask api").fill("");
  await page.getByRole("button", { name: "Templates" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "review Please" }).click();
  assert.equal(await page.getByLabel("Ask api").inputValue(), "Please review the last commit.");
  await page.getByRole("button", { name: "Templates" }).click();
  await page.getByRole("button", { name: "Forget review" }).click();
  await page.getByText("Texts that you send often").waitFor();
  assert.deepEqual(api.frames.filter(({ type }) => type === "ask"), []);
});

browserTest("the files of a reply are shown with it", async (lab) => {
  const api = await lab.peer({ name: "api" });
  const page = await lab.open(`#/peers/${api.peer_id}`);
  await page.getByLabel("Ask api").fill("Where is the report?");
  await page.keyboard.press("Enter");
  const correlation_id = await api.waitForAsk("Where is the report?");
  const id = await upload(lab, "report.csv", "text/csv", "a,b");
  const body = { correlation_id, message: "Here.", attachments: [id], from_peer: api.peer_id };
  await lab.call(ackAsk, { body });
  await page.locator(".reply").getByRole("link", { name: "report.csv" }).waitFor();
});

browserTest("an agent's attachment runs nothing, whatever its name and type", async (lab) => {
  const [evil, web] = [await lab.peer({ name: "evil" }), await lab.peer({ name: "web" })];
  const script = "<script>globalThis.ran = 1</script>";
  const files = [
    ["<img src=x onerror=globalThis.ran=1>.png", "image/png", "not a picture"],
    ["page.html", "text/html", script],
    ["drawing.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    [`${"long".repeat(60)}.txt`, "text/plain", `${script}\u001b[2J\u202E`.repeat(5000)],
  ] as const;
  const ids: string[] = [];
  for (const [name, type, content] of files) ids.push(await upload(lab, name, type, content));
  await evil.request("notify", { to_peer: web.peer_id, text: "for you", attachments: ids });
  const page = await lab.open(`#/peers/${web.peer_id}`);
  await page.getByText("It cannot be shown.").waitFor();
  for (const button of await page.getByRole("button", { name: "Preview" }).all()) {
    await button.click();
  }
  await page.getByText("Only the beginning is shown.").waitFor();
  const found = await page.evaluate(`({
    ran: typeof globalThis.ran,
    wide: document.documentElement.scrollWidth - innerWidth,
    foreign: document.querySelectorAll("main :is(script, iframe, svg:not(.icon), object)").length,
  })`);
  assert.deepEqual(found, { ran: "undefined", wide: 0, foreign: 0 });
});

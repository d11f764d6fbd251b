/** Actions of a person on a peer, with real programs in real panes. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { isAlive } from "../../../../daemon/host/processes.ts";
import { createJob } from "protocol/jobs/contract.ts";
import { getPeer, offlinePeer, reportTurn } from "protocol/peers/contract.ts";
import { type PaneLab, paneTest } from "../../../support/dashboard/pane_lab.ts";
import { until } from "../../../support/waiting.ts";

async function choose(page: Page, action: string) {
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("button", { name: action }).click();
  return page.getByRole("dialog");
}

async function statusOf({ dashboard }: PaneLab, id: string): Promise<string> {
  return (await dashboard.call(getPeer, { params: { id }, query: {} })).status;
}

paneTest("a restart is shown as a dry run first, then stage by stage", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const dialog = await choose(page, "Restart…");
  await dialog.getByText("It cannot be restarted with its session").waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Restart it" }).count(), 0);
  await dialog.getByLabel("Fresh").check();
  await dialog.getByText("It begins a new session").waitFor();
  await dialog.getByRole("region", { name: "Command" }).getByText("sh").waitFor();
  assert.ok(isAlive(ada.pid));
  await dialog.getByRole("button", { name: "Restart it" }).click();
  await dialog.getByText("restarted afresh").waitFor();
  await dialog.locator(".timeline", { hasText: "launch" }).waitFor();
  assert.ok(!isAlive(ada.pid));
  await page.keyboard.press("Escape");
  assert.equal(await statusOf(lab, ada.peer_id), "online");
  const focused = "document.activeElement.textContent.trim()";
  assert.match(String(await page.evaluate(focused)), /^Actions/);
});

paneTest("a restart that waits for a turn is shown again, and is cancelled", async (lab) => {
  const ada = await lab.peer("ada");
  const params = { id: ada.peer_id };
  const body = { turn_state: "working", status: "busy" } as const;
  await lab.dashboard.call(reportTurn, { params, query: {}, body });
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const first = await choose(page, "Restart…");
  await first.getByLabel("Fresh").check();
  await first.getByRole("button", { name: "Restart it" }).click();
  await first.getByText("waits for the end of its turn").waitFor();
  await page.keyboard.press("Escape");
  const again = await choose(page, "Restart…");
  await again.getByText("in progress").waitFor();
  await again.getByRole("button", { name: "Cancel the restart" }).click();
  await until("the end", async () => {
    const { restart } = await lab.dashboard.call(getPeer, { params, query: {} });
    return restart.last?.outcome === "cancelled";
  });
  await again.getByText("in progress").waitFor({ state: "detached" });
  assert.ok(isAlive(ada.pid));
});

paneTest("a fork starts another agent in the folder of the first", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const dialog = await choose(page, "Fork…");
  await dialog.getByText("sh -c 'exec cat' --model small").waitFor();
  await dialog.getByRole("button", { name: "Start it" }).click();
  await dialog.getByText("waits for its registration").waitFor();
  const panes = lab.tmux("list-panes", "-a", "-F", "#{pane_current_path}").split("\n");
  assert.deepEqual(panes, [`${lab.folder}/api`, `${lab.folder}/api`]);
});

paneTest(
  "work is handed over to a chosen peer, and the window says what was left out",
  async (lab) => {
    const ada = await lab.peer("ada");
    const web = await lab.dashboard.peer({ name: "web" });
    const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
    const dialog = await choose(page, "Hand over…");
    await dialog.getByLabel("To").selectOption(web.peer_id);
    await dialog.getByLabel(/^Note/).fill("Mind the tests");
    await dialog.getByRole("button", { name: "Hand it over" }).click();
    await dialog.getByText(/^Sent to web/).waitFor();
    await dialog.getByText("Left out: all turns").waitFor();
    const told = await until(
      "the message",
      () => web.frames.find(({ text }) => text !== undefined),
    );
    assert.match(told.text ?? "", /work of @ada over to you[^]*Note: Mind the tests/);
  },
);

paneTest("a copy that the agent cannot make is refused with the reason", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const dialog = await choose(page, "Copy…");
  await dialog.getByRole("button", { name: "Start the copy" }).click();
  await dialog.getByText(/cannot be copied with its conversation/).waitFor();
  lab.dashboard.forgive(/status of 409/);
});

paneTest("a peer is renamed by keyboard only", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  await page.getByRole("button", { name: "Actions" }).focus();
  await page.keyboard.press("Enter");
  for (const _ of ["Restart", "Copy", "Fork", "Hand over", "Reconnect", "Rename"]) {
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  await page.getByLabel("New name").waitFor();
  await page.keyboard.press("Control+a"); // The field has the focus.
  await page.keyboard.type("grace");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "grace" }).waitFor();
  await page.locator(".notice").getByText("ada is now called grace.").waitFor();
});

paneTest("closing lists the losses, and does nothing until it is confirmed", async (lab) => {
  const { dashboard } = lab;
  const [db, web] = [await dashboard.peer({ name: "db" }), await dashboard.peer({ name: "web" })];
  const body = { title: "Count the rows", prompt: "Count.", assigned_peer: db.peer_id };
  await dashboard.call(createJob, { body });
  await until("the job", () => db.frames.find(({ text }) => text?.includes("Count.")));
  await db.request("ask", { to_peer: web.peer_id, text: "Is the page ready?" });
  db.close();
  await until("offline", async () => await statusOf(lab, db.peer_id) === "offline");
  await web.request("notify", { to_peer: db.peer_id, text: "The page is ready" });
  await web.request("ask", { to_peer: db.peer_id, text: "May I drop it?" });
  const page = await dashboard.open(`#/peers/${db.peer_id}`);
  const dialog = await choose(page, "Close…");
  await dialog.getByText("1 queued message is dropped").waitFor();
  await dialog.getByText("The page is ready").waitFor();
  await dialog.getByText("1 open ask to it is closed without an answer").waitFor();
  await dialog.getByText("1 ask of its own stays open").waitFor();
  await dialog.getByText("1 job loses the peer that runs it").waitFor();
  await dialog.getByText("Count the rows").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await statusOf(lab, db.peer_id), "offline");
  await (await choose(page, "Close…")).getByRole("button", { name: "Close it" }).click();
  await page.locator(".notice").getByText("db is closed.").waitFor();
  await page.getByRole("heading", { name: "Mesh", level: 1 }).waitFor();
  await assert.rejects(statusOf(lab, db.peer_id), /unknown_peer/);
  dashboard.forgive(/404 \(Not Found\)/); // The page may read the peer's session as it is removed.
});

paneTest("a kill ends the peer's process and retires the peer", async (lab) => {
  const ada = await lab.peer("ada");
  lab.pane("exec cat", "other"); // Keeps tmux running.
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const dialog = await choose(page, "Kill…");
  await dialog.getByText(`Process ${ada.pid} of ada is ended`).waitFor();
  await dialog.getByText("It runs no job.").waitFor();
  await dialog.getByRole("button", { name: "Kill it" }).click();
  await page.locator(".notice").getByText(`ada is retired: process ${ada.pid} ended by`).waitFor();
  assert.ok(!isAlive(ada.pid));
  assert.equal(await statusOf(lab, ada.peer_id), "retired");
});

paneTest("an offline peer whose program still runs is brought back", async (lab) => {
  const ada = await lab.peer("ada");
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const healthy = await choose(page, "Reconnect…");
  await healthy.getByText("There is nothing to mend.").waitFor();
  await page.keyboard.press("Escape");
  const params = { id: ada.peer_id };
  await lab.dashboard.call(offlinePeer, { params, query: {}, body: { reason: "tested" } });
  const dialog = await choose(page, "Reconnect…");
  await dialog.getByText("bring it back online").waitFor();
  assert.equal(await statusOf(lab, ada.peer_id), "offline");
  await dialog.getByRole("button", { name: "Bring it back" }).click();
  await dialog.getByText("by pane").waitFor();
  assert.equal(await statusOf(lab, ada.peer_id), "online");
});

paneTest("an action that the daemon refuses says why, and can be tried again", async (lab) => {
  const [ada, web] = [await lab.peer("ada"), await lab.dashboard.peer({ name: "web" })];
  const page = await lab.dashboard.open(`#/peers/${ada.peer_id}`);
  const dialog = await choose(page, "Rename…");
  await dialog.getByLabel("New name").fill("telegram");
  await dialog.getByRole("button", { name: "Rename it" }).click();
  await dialog.getByRole("alert").getByText("telegram").waitFor();
  await dialog.getByLabel("New name").fill(`${web.name}2`);
  await dialog.getByRole("button", { name: "Rename it" }).click();
  await page.getByRole("heading", { name: "web2" }).waitFor();
  lab.dashboard.forgive(/status of 4/);
});

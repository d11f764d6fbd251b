/** Starting an agent, and adopting a pane, from the page: real tmux, real folders. */

import assert from "node:assert/strict";
import { DashboardLab } from "../../../support/dashboard/dashboard_lab.ts";
import { paneTest } from "../../../support/dashboard/pane_lab.ts";
import { print, until } from "../../../support/waiting.ts";

paneTest("an agent is started by keyboard in a folder that the page completes", async (lab) => {
  await lab.dashboard.peer({ name: "web" });
  const page = await lab.dashboard.open("#/mesh");
  await page.getByRole("link", { name: "web" }).waitFor();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog", { name: "Start an agent" });
  const folder = dialog.getByRole("combobox", { name: "Folder" });
  await folder.fill(`${lab.folder}/ap`);
  await dialog.getByRole("option", { name: "/api" }).waitFor();
  await folder.press("ArrowDown");
  await folder.press("ArrowDown");
  await folder.press("Enter");
  await dialog.getByRole("option", { name: "/app/src" }).waitFor();
  await folder.press("ArrowDown");
  await folder.press("Enter");
  assert.equal(await folder.inputValue(), `${lab.folder}/app/src/`);
  await dialog.getByLabel("Profile").selectOption("careful");
  const preview = dialog.getByRole("region", { name: "Command" });
  assert.match(await preview.textContent() ?? "", /^sh -c .* --slow$/s);
  await dialog.getByText("sets SECRET; the values are not shown").waitFor();
  assert.equal(await page.getByText("hidden value").count(), 0);
  await dialog.getByLabel("Circle").fill("shop");
  await dialog.getByRole("button", { name: "Start it" }).click();
  await dialog.getByText("waits for its registration").waitFor();
  const format = "#{session_name} #{pane_current_path}";
  assert.equal(lab.tmux("list-panes", "-a", "-F", format), `shop ${lab.folder}/app/src`);
});

paneTest(
  "folders outside of the allowed ones are not listed, and the page says so",
  async (lab) => {
    await lab.dashboard.peer({ name: "web" });
    const page = await lab.dashboard.open("#/mesh?new=agent");
    const dialog = page.getByRole("dialog", { name: "Start an agent" });
    await dialog.getByRole("combobox", { name: "Folder" }).fill("/etc/");
    await dialog.getByText('Agents may not be started in "/etc/"').waitFor();
    assert.equal(await dialog.getByRole("listbox", { name: "Folders" }).count(), 0);
    lab.dashboard.forgive(/403/);
  },
);

paneTest("a pane without a peer is adopted", async (lab) => {
  const pane_id = lab.pane();
  await lab.dashboard.peer({ name: "web" });
  const page = await lab.dashboard.open("#/mesh");
  await page.getByText("Tmux panes without a peer").click();
  await page.locator(".orphan", { hasText: pane_id }).getByRole("button").click();
  const dialog = page.getByRole("dialog", { name: `Adopt pane ${pane_id}` });
  await dialog.getByLabel("Name").fill("grace");
  await dialog.getByRole("button", { name: "Adopt it" }).click();
  await dialog.getByText("It is now a peer").waitFor();
  await dialog.getByRole("link", { name: "grace" }).click();
  await page.getByRole("heading", { name: "grace" }).waitFor();
  await page.goto(`${lab.dashboard.daemon.base}/dashboard#/mesh`);
  await until("no orphan", async () => await page.locator(".orphan").count() === 0);
});

paneTest("folders, sessions and commands of any name stay text", async (lab) => {
  const markup = "<img src=x onerror='globalThis.ran=1'>";
  const folder = `${lab.folder}/${markup}\u202Egnp.exe`;
  Deno.mkdirSync(folder);
  lab.pane();
  lab.tmux("new-session", "-d", "-s", `"${markup}`, "-c", folder, "exec cat");
  await lab.dashboard.peer({ name: "web" });
  const page = await lab.dashboard.open("#/mesh");
  await page.getByText("Tmux panes without a peer").click();
  await page.locator(".orphan", { hasText: "gnp.exe" }).getByRole("button").click();
  await page.getByRole("dialog").getByText("becomes a peer").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  const field = page.getByRole("dialog").getByRole("combobox", { name: "Folder" });
  await field.fill(`${lab.folder}/<`);
  await page.getByRole("option", { name: "<img" }).click();
  await page.getByText("Runs in").getByText("gnp.exe").waitFor();
  const found = await page.evaluate(`({
    ran: typeof globalThis.ran,
    wide: document.documentElement.scrollWidth - innerWidth,
    pictures: document.querySelectorAll("main img").length,
  })`);
  assert.deepEqual(found, { ran: "undefined", wide: 0, pictures: 0 });
});

Deno.test("where nothing may be started, the page says which lines change that", async () => {
  const none = { MESH_SPAWN__COMMANDS: "{}", MESH_SPAWN__ALLOWED_PATHS: "[]" };
  const lab = await DashboardLab.start(none);
  if (!lab) return print("skipped: spawn settings (no Chromium; install the package chromium)");
  await using _lab = lab;
  await lab.peer({ name: "web" });
  const page = await lab.open("#/mesh?new=agent");
  const dialog = page.getByRole("dialog", { name: "Start an agent" });
  await dialog.getByText("it finds no agent that is installed, and no folder is configured")
    .waitFor();
  await dialog.getByText("mesh config set spawn.allowed_paths").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.waitForURL(/#\/mesh$/);
  assert.deepEqual(lab.offences, []);
});

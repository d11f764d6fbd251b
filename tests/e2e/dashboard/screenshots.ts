/**
 * Screenshots of every view of a seeded mesh: `deno task screenshots [FOLDER]`. With `--docs`, the
 * ten pictures of the documents.
 */

import type { Page } from "playwright-core";
import { listAsks } from "protocol/asks/contract.ts";
import { listJobs } from "protocol/jobs/contract.ts";
import type { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { AGENT_SCREEN, PaneLab } from "../../support/dashboard/pane_lab.ts";
import { askPermission, GATED } from "../../support/dashboard/permissions.ts";
import { takeRelayPictures } from "../../support/dashboard/relay_screens.ts";
import { seed } from "../../support/dashboard/seeded_mesh.ts";
import { PRICES, useTokens } from "../../support/dashboard/used_tokens.ts";

const for_docs = Deno.args[0] === "--docs";
const folder = for_docs ? "docs/pictures" : Deno.args[0] ?? "dist/screenshots";
/** Small enough for a page of text. */
const DOCS = { viewport: { width: 1100, height: 640 }, colorScheme: "dark" } as const;
const SCREENS = {
  desktop: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const;

const panes = await PaneLab.start({ ...PRICES, ...GATED });
if (!panes) throw new Error("No Chromium: install the package chromium");
await using _panes = panes;
const lab = panes.dashboard;
const { peer_id: paned } = await panes.peer("ada", AGENT_SCREEN);
panes.pane();
const peers = await seed(lab);
await useTokens(lab);
const api = peers.get("api")?.peer_id ?? "";
const { asks } = await lab.call(listAsks, { query: { state: "closed" } });
const { work, recurring } = await lab.call(listJobs, { query: {} });
const failed = work.find(({ state }) => state === "failed")?.job_id ?? "";
const VIEWS = {
  attention: "#/attention",
  mesh: "#/mesh",
  compact: "#/mesh?dense=1",
  peer: `#/peers/${api}`,
  evidence: `#/peers/${api}?tab=evidence`,
  screen: `#/peers/${paned}?tab=screen`,
  restart: `#/peers/${paned}`,
  close: `#/peers/${peers.get("docs")?.peer_id}`,
  spawn: "#/mesh?new=agent",
  log: "#/log",
  search: "#/log?q=port",
  asks: "#/asks",
  closed_asks: "#/asks?state=closed",
  ask: `#/asks/${asks[0]?.correlation_id}`,
  map: "#/mesh?tab=map",
  jobs: "#/jobs",
  job: `#/jobs/${failed}`,
  recurring_job: `#/jobs/${recurring[0]?.calendar_id}`,
  new_job: "#/jobs/new",
  schedules: "#/schedules",
  usage: "#/usage",
  usage_by_agent: "#/usage?by=agent&days=30",
  health: "#/health",
  more: "#/more",
};
Deno.mkdirSync(folder, { recursive: true });
if (for_docs) await takeDocs(lab);
else await takeAll(lab);
const relayOffences = for_docs ? [] : await takeRelayPictures(folder, SCREENS);
for (const offence of new Set([...lab.offences, ...relayOffences])) {
  Deno.stderr.writeSync(new TextEncoder().encode(`${offence}\n`));
}

/** Each view in each theme on each screen. */
async function takeAll(lab: DashboardLab): Promise<void> {
  for (const [screen, options] of Object.entries(SCREENS)) {
    for (const colorScheme of ["dark", "light"] as const) {
      const page = await lab.open("", { ...options, colorScheme });
      for (const [name, view] of Object.entries(VIEWS)) {
        await show(page, view);
        if (name === "peer") {
          await page.getByRole("button", { name: "Trace" }).last().click();
          await page.waitForTimeout(300);
          await page.locator(".conversation").evaluate("(box) => box.scrollTop = box.scrollHeight");
        }
        if (name === "restart" || name === "close") await openAction(page, name);
        await page.screenshot({ path: `${folder}/${screen}-${colorScheme}-${name}.png` });
        if (await page.getByRole("dialog").count() > 0) await page.keyboard.press("Escape");
      }
      await takeMachines(lab, page, `${folder}/${screen}-${colorScheme}`);
      await page.context().close();
    }
  }
}

/** The same mesh with other machines, while the bus is there and while it is down. */
async function takeMachines(lab: DashboardLab, page: Page, prefix: string): Promise<void> {
  const { network } = lab, { answer } = network;
  network.fill();
  await network.addPeers(page.context());
  await page.reload();
  await show(page, "#/mesh?q=a");
  await page.getByRole("button", { name: "Details of laptop" }).click();
  await page.screenshot({ path: `${prefix}-other_machines.png` });
  const { bus, machines } = network.answer;
  const reason = "The server refused the user of this machine.";
  network.answer = { bus: { ...bus, status: "down", reason }, machines };
  await page.reload();
  await show(page, "#/mesh?dense=1");
  await page.getByRole("region", { name: "buildbox", exact: true }).scrollIntoViewIfNeeded();
  await page.screenshot({ path: `${prefix}-bus_down.png` });
  await show(page, "#/peers/peer-api-buildbox");
  await page.screenshot({ path: `${prefix}-remote_peer.png` });
  network.answer = answer;
}

async function openAction(page: Page, name: "restart" | "close"): Promise<void> {
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("button", { name: new RegExp(`^${name}`, "i") }).click();
  if (name === "restart") await page.getByLabel("Fresh").check();
  await page.waitForTimeout(500);
}

async function takeDocs(lab: DashboardLab): Promise<void> {
  const page = await lab.open("", DOCS);
  for (const name of ["attention", "map", "log", "jobs"] as const) {
    await show(page, VIEWS[name]);
    if (name === "log") {
      await page.locator(".log-row", { hasText: "legacy_id" }).first().getByRole("button").click();
      await page.waitForTimeout(400);
    }
    await page.screenshot({ path: `${folder}/${name}.png` });
  }
  await takePhone(lab);
}

/** The pictures of docs/dashboard-phone.md. */
async function takePhone(lab: DashboardLab): Promise<void> {
  const page = await lab.open("", { ...SCREENS.phone, colorScheme: "dark" });
  const take = async (name: string, view: string) => {
    await show(page, view);
    await page.screenshot({ path: `${folder}/phone-${name}.png` });
  };
  await take("attention", VIEWS.attention);
  await take("agents", VIEWS.mesh);
  await take("jobs", VIEWS.jobs);
  await take("more", VIEWS.more);
  await take("chat", VIEWS.peer);
  const { id } = await askPermission(lab, "Edit", {
    file_path: "/home/sam/work/shop/src/age.ts",
    old_string: "const MAX = 10;\nexport const isOld = age > MAX;",
    new_string: "const MAX = 12;\nexport const isOld = age >= MAX;",
  }, "/home/sam/work/shop");
  await take("approval", `#/attention?at=${id}`);
  await page.context().close();
}

/** Waits until the view has drawn what it loads. */
async function show(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await page.waitForTimeout(700);
}

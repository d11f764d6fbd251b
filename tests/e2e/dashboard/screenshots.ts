/**
 * Screenshots of every view of a seeded mesh: `deno task screenshots [FOLDER]`. With `--docs`, the
 * ten pictures of the documents.
 */

import type { Page } from "playwright-core";
import { listAsks } from "protocol/asks/contract.ts";
import { listJobs } from "protocol/jobs/contract.ts";
import { takeLease } from "protocol/holdings/leases.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { LIMITS } from "../../../dashboard/gallery/limits.ts";
import { DashboardLab } from "../../support/dashboard/dashboard_lab.ts";
import { Day, PUSHED_FROM } from "../../support/dashboard/day.ts";
import { AGENT_SCREEN } from "../../support/dashboard/pane_lab.ts";
import { askPermission } from "../../support/dashboard/permissions.ts";
import { takeRelayPictures } from "../../support/dashboard/relay_screens.ts";

const for_docs = Deno.args[0] === "--docs";
const folder = for_docs ? "docs/pictures" : Deno.args[0] ?? "dist/screenshots";
/** Small enough for a page of text. */
const DOCS = { viewport: { width: 1100, height: 780 }, colorScheme: "dark" } as const;
const SCREENS = {
  desktop: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const;

const day = await Day.start();
if (!day) throw new Error("No Chromium: install the package chromium");
await using _day = day;
const { lab, panes, peers } = day;
const { peer_id: paned } = await panes.peer("ada", AGENT_SCREEN);
panes.pane();
const api = peers.get("api")?.peer_id ?? "";
const { peers: all } = await lab.call(listPeers, { query: {} });
const painter = all.find(({ name }) => name === "painter")?.peer_id ?? "";
const { asks } = await lab.call(listAsks, { query: { state: "closed" } });
const { work, recurring } = await lab.call(listJobs, { query: {} });
const failed = work.find(({ state }) => state === "failed")?.job_id ?? "";
await lab.call(takeLease, { body: { resource: "port", name: "web", pid: Deno.pid } });
const VIEWS = {
  attention: "#/attention",
  approval: `#/attention?at=${day.permission.id}`,
  mesh: "#/mesh",
  compact: "#/mesh?dense=1",
  peer: `#/peers/${api}`,
  evidence: `#/peers/${api}?tab=evidence`,
  timeline: `#/peers/${painter}?tab=timeline`,
  changes: `#/peers/${painter}?tab=changes`,
  session: `#/peers/${painter}`,
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
  leases: "#/mesh?tab=holdings",
  jobs: "#/jobs",
  job: `#/jobs/${failed}`,
  recurring_job: `#/jobs/${recurring[0]?.calendar_id}`,
  new_job: "#/jobs/new",
  review: "#/review",
  schedules: "#/schedules",
  usage: "#/usage",
  usage_by_agent: "#/usage?by=agent&days=30",
  health: "#/health",
  more: "#/more",
  relay_off: "#/relay",
  own_settings: "#/settings",
  palette: "#/mesh",
};
Deno.mkdirSync(folder, { recursive: true });
if (for_docs) await takeDocs(lab);
else {
  await takeAll(lab);
  await takeEmpty();
}
const relayOffences = for_docs ? [] : await takeRelayPictures(folder, SCREENS);
for (const offence of new Set([...lab.offences, ...relayOffences])) {
  Deno.stderr.writeSync(new TextEncoder().encode(`${offence}\n`));
}

/** A first day: views without anything to show. */
async function takeEmpty(): Promise<void> {
  const empty = await DashboardLab.start();
  if (!empty) return;
  await using _empty = empty;
  for (const [screen, options] of Object.entries(SCREENS)) {
    for (const colorScheme of ["dark", "light"] as const) {
      const page = await empty.open("", { ...options, colorScheme });
      for (const name of ["attention", "mesh", "log", "asks", "jobs", "schedules", "usage"]) {
        await show(page, `#/${name}`);
        await page.screenshot({ path: `${folder}/${screen}-${colorScheme}-empty_${name}.png` });
      }
      await page.context().close();
    }
  }
}

/** Each view in each theme on each screen. */
async function takeAll(lab: DashboardLab): Promise<void> {
  for (const [screen, options] of Object.entries(SCREENS)) {
    for (const colorScheme of ["dark", "light"] as const) {
      const page = await lab.open("", { ...options, colorScheme });
      await page.context().route(
        /\/limits$/,
        (route) => route.fulfill({ json: { limits: LIMITS } }),
      );
      for (const [name, view] of Object.entries(VIEWS)) {
        await show(page, view);
        if (name === "peer") {
          await page.getByRole("button", { name: "Trace" }).last().click();
          await page.waitForTimeout(300);
          await page.locator(".conversation").evaluate("(box) => box.scrollTop = box.scrollHeight");
        }
        if (name === "palette") {
          await page.keyboard.press("Control+k");
          await page.keyboard.type("ap");
          await page.waitForTimeout(300);
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
    file_path: `${PUSHED_FROM}/src/age.ts`,
    old_string: "const MAX = 10;\nexport const isOld = age > MAX;",
    new_string: "const MAX = 12;\nexport const isOld = age >= MAX;",
  }, PUSHED_FROM);
  await take("approval", `#/attention?at=${id}`);
  await page.context().close();
}

/** Waits until the view has drawn what it loads. */
async function show(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await page.waitForTimeout(200);
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
  // New buttons cannot be pressed for some time.
  await page.waitForTimeout(1000);
}

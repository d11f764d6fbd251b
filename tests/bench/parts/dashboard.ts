/** The dashboard's figures: time until it is usable, memory, and a flood of events. */

import { type Browser, chromium, type Page } from "playwright-core";
import { chromiumPath } from "../../support/e2e/oauth_lab.ts";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { pause, residentMb } from "../../support/programs/process_facts.ts";
import { until } from "../../support/waiting.ts";
import { LoadGenerator, measure } from "../load/generator.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { fill } from "./queue_fill.ts";
import { seedPeers } from "./starts.ts";

const STORED = 10_000;
const PEERS = 100;
const FEW_PEERS = 20;
/** Shown in the log before it is scrolled. */
const ROWS = 50;
/** After which a start and the first load of a page are over. */
const SETTLE_MS = 30_000;
/** Each notification is several events. */
const NOTIFIES_A_SECOND = 350;
/** The views in which a flood is watched. */
const FLOODED = { log: "#/log", map: "#/mesh?tab=map" };
export const CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];

/** Runs in the page before its own script: counts events, and the time of long tasks. */
const WATCH = `globalThis.seen = { events: 0, long: [] };
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) seen.long.push(duration);
}).observe({ type: "longtask" });
globalThis.EventSource = class extends EventSource {
  addEventListener(type, listener) {
    super.addEventListener(type, (event) => (seen.events++, listener(event)));
  }
};`;

/** When so many rows are shown on a live page, in milliseconds since the navigation. */
export const usableWith = (rows: number) =>
  `new Promise((resolve) => {
    const isUsable = () => document.querySelectorAll("main [data-row]").length >= ${rows} &&
      document.querySelector(".dot.live") !== null;
    const look = () => isUsable() && resolve(performance.now());
    const changes = { childList: true, subtree: true, attributes: true };
    new MutationObserver(look).observe(document, changes);
    look();
  })`;

interface PageEvents {
  readonly events: number;
  readonly long: readonly number[];
}

/** Empty without Chromium. */
export async function dashboard(
  { rounds, seconds }: Effort,
  remark: (text: string) => void,
): Promise<Figure[]> {
  const executablePath = await chromiumPath();
  if (!executablePath) {
    remark("The dashboard was left out: no Chromium is installed.");
    return [];
  }
  using state = temporary();
  await deliverStored(state.path);
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS });
  try {
    const resident = await memory(browser, state.path);
    await using daemon = await RealDaemon.start(state.path);
    await using _peers = await crowd(daemon, PEERS);
    const { peers, log } = await interleave(rounds, {
      peers: () => usable(browser, `${daemon.base}/dashboard#/mesh`, PEERS),
      log: () => usable(browser, `${daemon.base}/dashboard#/log`, ROWS),
    });
    const flooded: Figure[] = [];
    for (const [name, view] of Object.entries(FLOODED)) {
      flooded.push(...await flood(browser, daemon, { name, view, seconds }));
    }
    const note = `${STORED.toLocaleString("en")} messages, ${PEERS} peers`;
    const ms = { unit: "ms", budget: { of: "value", max: 300 }, note } as const;
    return [
      { what: "dashboard: peers usable", ours: peers, ...ms },
      { what: "dashboard: log usable", ours: log, ...ms },
      {
        what: "dashboard: daemon's memory",
        unit: "MB",
        ours: [resident],
        budget: { of: "value", max: 80 },
        note: `${FEW_PEERS} peers, a page open`,
      },
      ...flooded,
    ];
  } finally {
    await browser.close();
  }
}

/** Fills the database with messages that peers then receive. */
async function deliverStored(state: string): Promise<void> {
  await seedPeers(state);
  fill(`${state}/mesh.db`, STORED);
  await using daemon = await RealDaemon.start(state);
  await using _peers = await crowd(daemon, PEERS);
  await until("all messages are sent", async () => await countQueued(daemon.base) === 0);
}

function crowd({ port }: RealDaemon, peers: number): Promise<LoadGenerator> {
  return LoadGenerator.crowd({ port, peers });
}

/** Resident memory of the daemon with an open page, some time after its start. */
async function memory(browser: Browser, state: string): Promise<number> {
  await using daemon = await RealDaemon.start(state);
  await using _peers = await crowd(daemon, FEW_PEERS);
  const page = await open(browser, `${daemon.base}/dashboard#/mesh`);
  await pause(SETTLE_MS);
  const resident = residentMb(daemon.pid);
  await page.context().close();
  return resident;
}

async function countQueued(base: string): Promise<number> {
  const { queued } = await (await fetch(`${base}/figures`)).json();
  return Number(queued);
}

/** In a new browser context, whose cache is empty. */
async function usable(browser: Browser, url: string, rows: number): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url, { waitUntil: "commit" });
  const ms = await page.evaluate<number>(usableWith(rows));
  await context.close();
  return ms;
}

async function open(browser: Browser, url: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.addInitScript(WATCH);
  await page.goto(url);
  await page.locator(".dot.live").waitFor({ state: "attached" });
  return page;
}

/** A flood of messages while a view is open: its longest task, and what its heap grows by. */
async function flood(
  browser: Browser,
  daemon: RealDaemon,
  { name, view, seconds }: { name: string; view: string; seconds: number },
): Promise<Figure[]> {
  const page = await open(browser, `${daemon.base}/dashboard${view}`);
  const steady = (seconds: number) =>
    measure<{ sent: number }>({
      kind: "steady",
      port: daemon.port,
      peers: PEERS,
      per_second: NOTIFIES_A_SECOND,
      seconds,
    });
  await steady(3);
  const heap_before = await heapMb(page);
  await page.evaluate("seen.events = 0, seen.long = []");
  const { sent } = await steady(seconds);
  const { events, long } = await page.evaluate<PageEvents>("seen");
  const grown = await heapMb(page) - heap_before;
  await page.context().close();
  const per_second = (events / seconds).toFixed(0);
  const note = `${per_second} events a second for ${seconds} s, ${sent} messages`;
  return [
    {
      what: `dashboard: longest task, ${name}`,
      unit: "ms",
      ours: [Math.max(0, ...long)],
      budget: { of: "value", max: 50 },
      note: `${long.length} above 50 ms; ${note}`,
    },
    {
      what: `dashboard: heap grows by, ${name}`,
      unit: "MB",
      ours: [grown],
      budget: { of: "value", max: 10 },
      note,
    },
  ];
}

async function heapMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1_048_576;
}

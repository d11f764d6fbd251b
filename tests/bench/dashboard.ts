/** The dashboard's figures: first load, time until it is usable, and a flood of events. */

import { type Browser, chromium, type Page } from "playwright-core";
import { chromiumPath } from "../support/e2e/oauth_lab.ts";
import { measure, RealDaemon, Script, temporary } from "../support/programs/child.ts";
import { pause, residentMb } from "../support/programs/process_facts.ts";
import { until } from "../support/waiting.ts";
import { type Effort, type Figure, seeded } from "./figures.ts";
import { fill } from "./queue_fill.ts";

const STORED = 10_000;
const PEERS = 100;
const FEW_PEERS = 20;
const LOADS = 5;
/** Each notification is several events. */
const NOTIFIES_A_SECOND = 350;
/** The views in which a flood is watched. */
const FLOODED = { log: "#/log", map: "#/mesh?tab=map" };
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];

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
const usableWith = (rows: number) =>
  `new Promise((resolve) => {
    const isUsable = () => document.querySelectorAll("main [data-row]").length >= ${rows} &&
      document.querySelector(".dot.live") !== null;
    const look = () => isUsable() && resolve(performance.now());
    const changes = { childList: true, subtree: true, attributes: true };
    new MutationObserver(look).observe(document, changes);
    look();
  })`;

interface Seen {
  readonly events: number;
  readonly long: readonly number[];
}

/** Empty without Chromium. */
export async function dashboard({ seconds, idle_seconds }: Effort): Promise<Figure[]> {
  const executablePath = await chromiumPath();
  if (!executablePath) return [];
  using state = temporary();
  await deliverStored(state.path);
  const browser = await chromium.launch({ executablePath, args: ARGS });
  try {
    const resident = await memory(browser, state.path, idle_seconds);
    await using daemon = await RealDaemon.start(state.path);
    await using _peers = await crowd(daemon, PEERS);
    const peers_ms = await usable(browser, `${daemon.base}/dashboard#/mesh`, PEERS);
    const log_ms = await usable(browser, `${daemon.base}/dashboard#/log`, 50);
    const flooded: Figure[] = [];
    for (const [name, view] of Object.entries(FLOODED)) {
      flooded.push(...await flood(browser, daemon, { name, view, seconds }));
    }
    const note = `${STORED.toLocaleString("en")} messages, ${PEERS} peers, median of ${LOADS}`;
    return [
      { what: "dashboard: first load", ...await firstLoad(daemon.base) },
      { what: "dashboard: peers usable", value: peers_ms, unit: "ms", budget: 300, note },
      { what: "dashboard: log usable", value: log_ms, unit: "ms", budget: 300, note },
      {
        what: "dashboard: daemon's memory",
        value: resident,
        unit: "MB",
        budget: 80,
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
  await seeded(state);
  fill(`${state}/mesh.db`, STORED);
  await using daemon = await RealDaemon.start(state);
  await using _peers = await crowd(daemon, PEERS);
  await until("all messages are sent", async () => await waiting(daemon.base) === 0);
}

function crowd({ port }: RealDaemon, peers: number): Promise<Script<unknown>> {
  return Script.start("load.ts", JSON.stringify({ kind: "crowd", port, peers, bare: false }));
}

/** What the daemon uses while a page is open, once its start is over. */
async function memory(browser: Browser, state: string, idle_seconds: number): Promise<number> {
  await using daemon = await RealDaemon.start(state);
  await using _peers = await crowd(daemon, FEW_PEERS);
  const page = await open(browser, `${daemon.base}/dashboard#/mesh`);
  await pause(idle_seconds * 1000);
  const resident = residentMb(daemon.pid);
  await page.context().close();
  return resident;
}

async function waiting(base: string): Promise<number> {
  const { queued } = await (await fetch(`${base}/figures`)).json();
  return Number(queued);
}

/** The page, the files that it names, and those of its first view, compressed. */
async function firstLoad(base: string) {
  const page = await (await fetch(`${base}/dashboard`)).text();
  const named = page.matchAll(/(?:href|src)="([^"]+)"/g).map(([, path = ""]) => path);
  const [, modules = ""] = /name="mesh-modules-reading" content="([^"]+)"/.exec(page) ?? [];
  const paths = [...named, ...modules.split(" ")];
  const files = await Promise.all(
    paths.map(async (path) => await (await fetch(new URL(path, `${base}/dashboard`))).text()),
  );
  const sizes = await Promise.all([page, ...files].map(compressedBytes));
  const value = sizes.reduce((sum, bytes) => sum + bytes, 0) / 1000;
  return { value, unit: "kB", budget: 120, note: `gzip, ${sizes.length} files` };
}

async function compressedBytes(text: string): Promise<number> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

/** The median over new browser contexts, whose caches are empty. */
async function usable(browser: Browser, url: string, rows: number): Promise<number> {
  const times: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(url, { waitUntil: "commit" });
    times.push(await page.evaluate<number>(usableWith(rows)));
    await context.close();
  }
  return times.toSorted((a, b) => a - b)[Math.floor(LOADS / 2)] ?? 0;
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
  const { events, long } = await page.evaluate<Seen>("seen");
  const grown = await heapMb(page) - heap_before;
  await page.context().close();
  const note = `${
    (events / seconds).toFixed(0)
  } events a second for ${seconds} s, ${sent} messages`;
  return [
    {
      what: `dashboard: longest task, ${name}`,
      value: Math.max(0, ...long),
      unit: "ms",
      budget: 50,
      note: `${long.length} above 50 ms; ${note}`,
    },
    { what: `dashboard: heap grows by, ${name}`, value: grown, unit: "MB", budget: 10, note },
  ];
}

async function heapMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1_048_576;
}

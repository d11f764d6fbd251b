/** The first load of the page: bytes on the wire, and time here, on a slow line and at a relay. */

import { type Browser, chromium } from "playwright-core";
import { Wire } from "../../support/dashboard/wire.ts";
import { chromiumPath, WITHOUT_WINDOW } from "../../support/e2e/oauth_lab.ts";
import { RealDaemon, Script, temporary } from "../../support/programs/child.ts";
import { LoadGenerator } from "../load/generator.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { CHROMIUM_ARGS, usableWith } from "./dashboard.ts";
import { RELAY_SECRET, waitForTunnel } from "./relay.ts";

const PEERS = 95;
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

interface Place {
  readonly url: string;
  readonly cookie?: { readonly name: string; readonly value: string; readonly url: string };
}

interface FirstLoad {
  readonly kilobytes: number;
  readonly requests: number;
  readonly ms: number;
}

/** Empty without Chromium. */
export async function firstLoad(
  { rounds }: Effort,
  remark: (text: string) => void,
): Promise<Figure[]> {
  const executablePath = await chromiumPath();
  if (!executablePath) {
    remark("The first load was left out: no Chromium is installed.");
    return [];
  }
  using state = temporary();
  await using host = await Script.start<{ port: number; cookie: string }>(
    "servers/relay.ts",
    RELAY_SECRET,
  );
  const relay = `http://127.0.0.1:${host.report.port}`;
  const settings = {
    MESH_RELAY__ENABLED: "true",
    MESH_RELAY__URL: relay,
    MESH_RELAY__SECRET: RELAY_SECRET,
  };
  await using daemon = await RealDaemon.start(state.path, { settings });
  await using _peers = await LoadGenerator.crowd({ port: daemon.port, peers: PEERS });
  const daemon_id = await waitForTunnel(daemon.base);
  const [name = "", value = ""] = host.report.cookie.split("=");
  const own = { url: `${daemon.base}/dashboard#/mesh` };
  const far = {
    url: `${relay}/m/${daemon_id}/dashboard#/mesh`,
    cookie: { name, value, url: relay },
  };
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS });
  try {
    const { here, there } = await interleave(rounds, {
      here: () => load(browser, own),
      there: () => load(browser, far),
    });
    return [
      ...figures("first load", here),
      ...figures("first load at a relay", there),
      ...await firstRow(rounds, own.url),
    ];
  } finally {
    await browser.close();
  }
}

/** The time until the first row of a live page, with an empty cache and with the page's files. */
async function firstRow(rounds: number, url: string): Promise<Figure[]> {
  const executablePath = await chromiumPath(WITHOUT_WINDOW);
  const browser = await chromium.launch({
    ...(executablePath && { executablePath }),
    args: CHROMIUM_ARGS,
  });
  const fresh: number[] = [], warm: number[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      const context = await browser.newContext();
      for (const times of [fresh, warm]) {
        const page = await context.newPage();
        await page.goto(url, { waitUntil: "commit" });
        times.push(await page.evaluate<number>(usableWith(1)));
        await page.close();
      }
      await context.close();
    }
  } finally {
    await browser.close();
  }
  const rest = { unit: "ms", budget: { of: "value", max: 300 }, note: `${PEERS} peers` } as const;
  return [
    { what: "dashboard: first row usable, empty cache", ours: fresh, ...rest },
    { what: "dashboard: first row usable, warm cache", ours: warm, ...rest },
  ];
}

function figures(what: string, loads: readonly FirstLoad[]): Figure[] {
  const note = `${PEERS} peers, ${loads[0]?.requests} requests`;
  return [
    {
      what: `dashboard: ${what}`,
      unit: "kB",
      ours: loads.map(({ kilobytes }) => kilobytes),
      budget: { of: "value", max: 110 },
      note,
    },
    {
      what: `dashboard: ${what}, slow line`,
      unit: "ms",
      ours: loads.map(({ ms }) => ms),
      budget: { of: "value", max: 4000 },
      note: "400 ms, 50 kB/s",
    },
  ];
}

/** Loads the page on a phone with a slow line, until it shows all peers and is live. */
async function load(browser: Browser, { url, cookie }: Place): Promise<FirstLoad> {
  const context = await browser.newContext(PHONE);
  if (cookie) await context.addCookies([cookie]);
  const page = await context.newPage();
  const wire = await Wire.of(page, { isSlow: true });
  await page.goto(url, { waitUntil: "commit" });
  const ms = await page.evaluate<number>(usableWith(PEERS));
  const found = { kilobytes: wire.bytes / 1000, requests: wire.requests.length, ms };
  await context.close();
  return found;
}

/** A real relay, real daemons behind it, and Chromium, which signs in to the relay. */

import assert from "node:assert/strict";
import type { BrowserContextOptions, Page } from "playwright-core";
import { client } from "kit/http/client.ts";
import { temporary } from "../programs/child.ts";
import { WholeRelay } from "../e2e/relay_apps_lab.ts";
import { NAMESPACE, RealDaemon, SECRET } from "../e2e/relay_lab.ts";
import { print, until } from "../waiting.ts";
import { FakeNetwork } from "./network.ts";
import { Browsers, Offences } from "./shared_browser.ts";
import { SocketPeer, type SocketPeerFields } from "./socket_peer.ts";

/**
 * A test with a lab; it fails if a page did what none may do. `options`: of all its pages. They
 * have no service worker unless it is allowed: a page gets one at a time that no test knows, and
 * `route` sees no request that goes through it.
 */
export function relayTest(
  name: string,
  run: (lab: RelayDashboardLab) => Promise<void>,
  options: BrowserContextOptions = {},
): void {
  Deno.test(name, async () => {
    const lab = await RelayDashboardLab.start({ serviceWorkers: "block", ...options });
    if (!lab) return print(`skipped: ${name} (no Chromium; install the package chromium)`);
    await using _lab = lab;
    await run(lab);
    assert.deepEqual(lab.offences, []);
  });
}

export type Daemon = Awaited<ReturnType<typeof RealDaemon.start>>;

export class RelayDashboardLab implements AsyncDisposable {
  readonly relay = new WholeRelay();
  readonly #browsers: Browsers;
  readonly #stack = new AsyncDisposableStack();
  readonly #offences = new Offences();
  readonly offences = this.#offences.found;
  /** Allowed origins of requests: the relay, and daemons whose own page is open. */
  readonly #origins = new Set<string>();
  readonly #options: BrowserContextOptions;
  #stopped = false;

  private constructor(browsers: Browsers, options: BrowserContextOptions) {
    this.#browsers = browsers;
    this.#options = options;
    this.#origins.add(this.relay.issuer);
    this.#stack.defer(() => this.stopRelay());
    this.#stack.use(browsers);
  }

  /** Undefined without Chromium. */
  static async start(options: BrowserContextOptions = {}): Promise<RelayDashboardLab | undefined> {
    const browsers = await Browsers.open();
    return browsers && new RelayDashboardLab(browsers, options);
  }

  /** A daemon that is connected to the relay; a human called sam is registered there. */
  async daemon(settings: Record<string, string> = {}, dir?: string): Promise<Daemon> {
    const env = { MESH_HUMAN__NAME: "sam", ...settings };
    const daemon = await RealDaemon.start(this.relay.issuer, env, dir);
    if (dir === undefined) this.#stack.use(daemon);
    else this.#stack.defer(() => daemon.end("SIGKILL").then(() => undefined));
    await this.waitForTunnel(daemon.daemon_id);
    return daemon;
  }

  async waitForTunnel(daemon_id: string): Promise<void> {
    const { machines } = this.relay.relay;
    await until(
      "the tunnel",
      () =>
        machines.list(NAMESPACE).some((machine) => machine.daemon_id === daemon_id) || undefined,
    );
  }

  async peer(daemon: Daemon, fields: SocketPeerFields): Promise<SocketPeer> {
    const peer = await SocketPeer.connect(daemon.url, fields);
    this.#stack.defer(() => peer.close());
    return peer;
  }

  callOf(daemon: Daemon) {
    return client(daemon.url, fetch);
  }

  addressOf(daemon_id: string, view = ""): string {
    return `${this.relay.issuer}/m/${daemon_id}/dashboard${view}`;
  }

  /** A browser that nobody has signed in with. */
  async page(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browsers.newContext({ ...this.#options, ...options });
    await new FakeNetwork().install(context);
    const page = await context.newPage();
    page.on("console", (line) => {
      // Most machines refuse to show an asker's last lines, and their settings, by which the page
      // knows that it may manage them; the browser logs the refusals.
      const is_expected = /\/(peers\/[^/]+\/turns|config)$/.test(line.location().url);
      if (line.type() === "error" && !is_expected) this.#offences.add(`console: ${line.text()}`);
    });
    page.on("pageerror", (error) => this.#offences.add(`error: ${error.message}`));
    page.on("request", (request) => {
      const { origin } = new URL(request.url());
      if (!this.#origins.has(origin)) this.#offences.add(request.url());
    });
    return page;
  }

  /** A browser in which a person has signed in, on the dashboard of a machine. */
  async open(daemon_id: string, view = "", options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.page(options);
    await this.signIn(page);
    await page.goto(this.addressOf(daemon_id, view));
    return page;
  }

  async signIn(page: Page): Promise<void> {
    await page.goto(this.relay.issuer);
    await page.getByLabel("Relay secret").fill(SECRET);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Your machines" }).waitFor();
  }

  /** The page that a daemon serves itself, without a ticket. */
  async ownPage(daemon: Daemon, view = ""): Promise<Page> {
    this.#origins.add(daemon.url);
    const page = await this.page();
    await page.goto(`${daemon.url}/dashboard${view}`);
    return page;
  }

  /** Signs out and in again with the same secret, which is another session. */
  async signInAgain(page: Page): Promise<void> {
    await page.goto(`${this.relay.issuer}/dashboard`);
    await page.getByRole("button", { name: "Sign out" }).click();
    await this.signIn(page);
  }

  /** Answers these requests as a daemon that does not know their routes. */
  async pretendOlder(page: Page, path: RegExp): Promise<void> {
    await page.route(path, async (route) => {
      const detail = `No such route: ${route.request().method()} /config`;
      await route.fulfill({ status: 404, json: { error: "not_found", detail } });
    });
  }

  /** Pixels by which a page can be scrolled sideways. */
  async overflowOf(page: Page): Promise<number> {
    return Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  }

  /** Ends the relay before the test's end. */
  async stopRelay(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.relay[Symbol.asyncDispose]();
  }

  /** A state directory that outlives its daemon. */
  folder(): string {
    const { path, [Symbol.dispose]: remove } = temporary();
    this.#stack.defer(() => remove());
    return path;
  }

  /** See `Offences`. */
  forgive(pattern: RegExp): void {
    this.#offences.forgive(pattern);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Chromium for the dashboard's labs: one for all tests of a file, or one of a lab's own. */

import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { chromiumPath, WITHOUT_WINDOW } from "../e2e/oauth_lab.ts";
import { print } from "../waiting.ts";

export const PHONE = {
  viewport: { width: 390, height: 844 },
  isMobile: true,
  hasTouch: true,
} as const;

/** Console errors, foreign requests and violations of the policy, of the pages of one test. */
export class Offences {
  readonly found: string[] = [];
  readonly #forgiven: RegExp[] = [];

  add(line: string): void {
    if (!this.#forgiven.some((pattern) => pattern.test(line))) this.found.push(line);
  }

  /**
   * Leaves out offences that a test causes itself, such as the browser's own report of a refusal,
   * which may come after the page has shown it.
   */
  forgive(pattern: RegExp): void {
    this.#forgiven.push(pattern);
    this.found.splice(0, Infinity, ...this.found.filter((line) => !pattern.test(line)));
  }
}

type Options = Parameters<Browser["newContext"]>[0];

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];

/** Maximum time for Chromium to close a context. On rare occasions it never answers. */
const CLOSE_MS_MAX = 20_000;

let shared: Browser | undefined;

Deno.test.beforeAll(async () => {
  shared = await launchShared();
});

Deno.test.afterAll(async () => {
  await shared?.close();
});

/** Undefined without Chromium. */
async function launch(...preferred: readonly string[]): Promise<Browser | undefined> {
  const executablePath = await chromiumPath(...preferred);
  return executablePath && await chromium.launch({ executablePath, args: ARGS }) || undefined;
}

const launchShared = () => launch(WITHOUT_WINDOW);

/** Browsers that share nothing with each other, and are closed together. */
export class Browsers implements AsyncDisposable {
  readonly #browser: Browser;
  /** The whole Chromium, for this lab alone. */
  #whole: Promise<Browser | undefined> | undefined;
  readonly #contexts: BrowserContext[] = [];

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** Undefined without Chromium. */
  static async open(): Promise<Browsers | undefined> {
    const browser = shared ?? await launchShared();
    return browser && new Browsers(browser);
  }

  /** A page with a service worker may be installed and notify, which is the window's work. */
  async newContext(options: Options): Promise<BrowserContext> {
    const needsWindow = options?.serviceWorkers === "allow";
    const browser = needsWindow ? await (this.#whole ??= launch()) : undefined;
    const context = await (browser ?? this.#browser).newContext(options);
    this.#contexts.push(context);
    return context;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closing = Promise.all(this.#contexts.map((context) => context.close()));
    const isClosed = await timeout(systemClock, CLOSE_MS_MAX, closing) !== undefined;
    await (await this.#whole)?.close();
    if (isClosed && this.#browser === shared) return;
    await this.#browser.close();
    if (this.#browser !== shared) return;
    print("Chromium did not close a context; the next test gets a new Chromium");
    shared = await launchShared();
  }
}

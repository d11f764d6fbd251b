/** A real daemon with a human called sam, peers on sockets, and Chromium on its dashboard. */

import type { Browser, Page } from "playwright-core";
import { client } from "kit/http/client.ts";
import { RealDaemon, temporary } from "../programs/child.ts";
import { meshArguments } from "../programs/program.ts";
import { writeMigratedDatabase } from "../migrated.ts";
import { until } from "../waiting.ts";
import { nextTick } from "../e2e/callers_fixture.ts";
import { FakeNetwork } from "./network.ts";
import { Browsers, Offences } from "./shared_browser.ts";
import { SocketPeer, type SocketPeerFields } from "./socket_peer.ts";

const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME") ?? ""}/.cache/deno`;

export class DashboardLab implements AsyncDisposable {
  readonly #folder: ReturnType<typeof temporary>;
  readonly #browsers: Browsers;
  readonly #peers: SocketPeer[] = [];
  readonly #offences = new Offences();
  readonly offences = this.#offences.found;
  /** The other machines; none at first. */
  readonly network = new FakeNetwork();
  daemon: RealDaemon;

  private constructor(
    browsers: Browsers,
    daemon: RealDaemon,
    folder: { path: string } & Disposable,
  ) {
    this.#browsers = browsers;
    this.daemon = daemon;
    this.#folder = folder;
  }

  /** Undefined without Chromium. `more`: settings of the daemon. */
  static async start(more: Record<string, string> = {}): Promise<DashboardLab | undefined> {
    const browsers = await Browsers.open();
    if (!browsers) return undefined;
    const folder = temporary();
    writeMigratedDatabase(folder.path);
    const settings = { MESH_HUMAN__NAME: "sam", ...more };
    const daemon = await RealDaemon.start(folder.path, { settings });
    return new DashboardLab(browsers, daemon, folder);
  }

  /** See `Offences`. */
  forgive(pattern: RegExp): void {
    this.#offences.forgive(pattern);
  }

  /** The daemon's state directory. */
  get state(): string {
    return this.#folder.path;
  }

  get call() {
    return client(this.daemon.base, fetch);
  }

  async peer(fields: SocketPeerFields): Promise<SocketPeer> {
    const peer = await SocketPeer.connect(this.daemon.base, fields);
    this.#peers.push(peer);
    return peer;
  }

  /** A page that `mesh open` opened at a person's terminal; it speaks as the human. */
  async open(
    view = "",
    options: Parameters<Browser["newContext"]>[0] = {},
  ): Promise<Page> {
    const page = await this.#page(options);
    await page.goto(await this.#requestTicket());
    await page.getByText("You are sam").waitFor({ state: "attached" });
    if (view) await page.goto(`${this.daemon.base}/dashboard${view}`);
    return page;
  }

  /** A page without a ticket. */
  async openPlain(view = ""): Promise<Page> {
    const page = await this.#page({});
    await page.goto(`${this.daemon.base}/dashboard${view}`);
    return page;
  }

  async #page(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    // A page gets a service worker at a time that no test knows, and `route` does not see requests
    // that go through it.
    const settings = { serviceWorkers: "block", ...options } as const;
    const context = await this.#browsers.newContext(settings);
    await this.network.install(context);
    const page = await context.newPage();
    page.on("console", (line) => {
      // The page shows that an ask is already closed; the browser logs the refusal too.
      if (line.type() === "error" && !line.text().includes("status of 410")) {
        this.#offences.add(`console: ${line.text()}`);
      }
    });
    page.on("pageerror", (error) => this.#offences.add(`error: ${error.message}`));
    // The context's requests include those of workers, which a page does not report.
    const refuseForeign = (address: string) => {
      if (!address.replace(/^ws/, "http").startsWith(this.daemon.base)) {
        this.#offences.add(address);
      }
    };
    context.on("request", (request) => refuseForeign(request.url()));
    page.on("websocket", (socket) => refuseForeign(socket.url()));
    await page.exposeFunction("reportViolation", (text: string) => {
      this.#offences.add(`policy: ${text}`);
    });
    await page.addInitScript(`addEventListener("securitypolicyviolation", (event) =>
      reportViolation(event.violatedDirective + " " + event.blockedURI))`);
    return page;
  }

  /** Kills the daemon, runs `meanwhile`, and starts it again at the same address. */
  async restart(meanwhile: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const { port } = this.daemon;
    await this.daemon.kill();
    await meanwhile();
    const settings = { MESH_HUMAN__NAME: "sam", MESH_DAEMON__PORT: String(port) };
    this.daemon = await RealDaemon.start(this.#folder.path, { settings });
  }

  /** The address that `mesh open` opens at a person's terminal; good once. */
  async ticketLink(): Promise<string> {
    const mesh = meshArguments(["open", "--json"]).map((part) => `'${part}'`).join(" ");
    const text = await this.#atTerminal(`'${Deno.execPath()}' ${mesh}`);
    return String(JSON.parse(text).url);
  }

  /** The same by the request that `mesh open` sends: its program takes a tenth of a second. */
  async #requestTicket(): Promise<string> {
    const { base, port } = this.daemon;
    const head = "POST /dashboard/tickets HTTP/1.1\\r\\n" +
      `Host: 127.0.0.1:${port}\\r\\nX-Mesh-Terminal: $$\\r\\n`;
    const request = `${head}Content-Length: 0\\r\\nConnection: close\\r\\n\\r\\n`;
    const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf "${request}" >&3; cat <&3`;
    const text = await this.#atTerminal(`bash -c '${script}'`);
    return `${base}/dashboard#ticket=${JSON.parse(text.slice(text.indexOf("{"))).ticket}`;
  }

  /** Runs a command at a person's terminal; returns its output, whose last part is JSON. */
  async #atTerminal(command: string): Promise<string> {
    const file = `${this.#folder.path}/printed-${crypto.randomUUID()}`;
    // The server must not end with this session: while it exits, it accepts a client and drops it.
    await this.#tmux("new-session", "-d", `${command} > '${file}'; exec sleep 600`);
    return await until("the output at the terminal", () => {
      try {
        const found = Deno.readTextFileSync(file).trim();
        return found.endsWith("}") && found;
      } catch {
        return undefined;
      }
    });
  }

  /**
   * Starts the person's tmux server, and lets it run. One that starts after an agent's program may
   * be the agent's, and opens no page as the human.
   */
  async startTerminal(): Promise<void> {
    await this.#tmux("new-session", "-d", "sh");
    await nextTick();
  }

  async #tmux(...args: string[]): Promise<void> {
    const { path } = this.#folder;
    await new Deno.Command("tmux", {
      args: ["-S", `${path}/person.sock`, "-f", "/dev/null", ...args],
      clearEnv: true,
      env: {
        PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
        HOME: path,
        DENO_DIR,
        MESH_STATE: path,
        MESH_CONFIG: "/none",
        NO_COLOR: "1",
      },
    }).output();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.#peers) peer.close();
    await this.#browsers[Symbol.asyncDispose]();
    await this.#tmux("kill-server");
    await this.daemon.stop();
    this.#folder[Symbol.dispose]();
  }
}

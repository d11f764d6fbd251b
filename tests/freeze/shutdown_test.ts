/** A daemon whose links and programs are all frozen at once ends in time, and can leave. */

import assert from "node:assert/strict";
import { stopwatch } from "kit/core/clock.ts";
import { FrozenCodex } from "../support/agents/frozen_codex.ts";
import { THREAD } from "../support/agents/codex_server.ts";
import { RealRelay, SECRET } from "../support/e2e/relay_lab.ts";
import { Terminal, withTmux } from "../support/host/private_tmux.ts";
import { obstacle } from "../support/nats/nats_tests.ts";
import { FrozenProxy } from "../support/net/frozen_proxy.ts";
import { SecureServer } from "../support/net/secure_server.ts";
import { temporary } from "../support/programs/child.ts";
import { RealMachine } from "../support/real_machines/real_machine.ts";
import { RealNetwork } from "../support/real_machines/real_network.ts";
import { until } from "../support/waiting.ts";

const DOWN_MS_MAX = 15_000;
const LEAVE_MS_MAX = 30_000;

/** A machine on a bus and at a relay, with a collector, a webhook, two agents and two clients. */
class FrozenMachine implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #links: FrozenProxy[] = [];
  readonly #terminal: Terminal;
  readonly codex = this.#stack.use(new FrozenCodex());
  #machine: RealMachine | undefined;
  #paneName = "";
  #serverPid: number | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  get machine(): RealMachine {
    assert(this.#machine);
    return this.#machine;
  }

  #link(port: number | (() => { port: number })): FrozenProxy {
    const link = this.#stack.use(new FrozenProxy(port));
    this.#links.push(link);
    return link;
  }

  async start(): Promise<void> {
    const network = this.#stack.use(await RealNetwork.start({ tls: true }));
    const secure = this.#stack.use(await SecureServer.start({ handle: () => Response.json({}) }));
    const relay = this.#stack.use(new RealRelay(0, secure.tls));
    const busLink = this.#link(network.server.port);
    const relayLink = this.#link(Number(new URL(relay.url).port));
    const httpsLink = this.#link(secure.port);
    const state = this.#stack.use(temporary()).path;
    const machine = this.#machine = this.#stack.use(
      new RealMachine("laptop", state, {
        MESH_RELAY__ENABLED: "true",
        MESH_RELAY__URL: `https://127.0.0.1:${relayLink.port}`,
        MESH_RELAY__SECRET: SECRET,
        MESH_TELEMETRY__OTLP: `https://127.0.0.1:${httpsLink.port}`,
        MESH_ROUTING__STRATEGY: "webhook",
        MESH_ROUTING__WEBHOOK: `https://127.0.0.1:${httpsLink.port}/route`,
        SSL_CERT_FILE: secure.ca,
        CODEX_HOME: this.codex.home.dir,
      }),
    );
    await machine.start();
    await machine.stop();
    const public_key = await machine.join({
      url: `tls://127.0.0.1:${busLink.port}`,
      network_secret: network.secret,
      ca: Deno.readTextFileSync(network.server.ca),
    });
    await network.server.allow(machine.id, "laptop", { seed: "", public_key });
    await this.connect();
  }

  /** Starts the daemon with all of its links. */
  async connect(): Promise<void> {
    const { machine } = this;
    await machine.start();
    const readerLink = this.#link(machine.port);
    await machine.waitForConnection();
    await until("the relay", async () => {
      return (await (await fetch(`${machine.base}/health`)).json()).relay.status === "connected";
    });
    const pane_id = this.#terminal.start("cat", `work-${machine.pid}`);
    const agent_pid = Number(this.#terminal.cli("display", "-p", "-t", pane_id, "#{pane_pid}"));
    const pane = { pane_id, tmux_socket: this.#terminal.socket, agent_pid };
    const to_peer = this.#paneName = `pane-${machine.pid}`;
    await this.#post("/peers", { name: to_peer, path: "/", backend: "generic", ...pane });
    const session = { runtime_session_id: THREAD };
    await this.#post("/peers", { name: "codex", path: "/", backend: "codex", ...session });
    const headers = { host: new URL(machine.base).host };
    const events = await fetch(`http://127.0.0.1:${readerLink.port}/events/stream`, { headers });
    this.#stack.defer(() => void events.body?.cancel().catch(() => undefined));
    await this.#post("/notify", { from_peer: "tester", to_peer, text: "before" });
    await until("the text in the pane", () => this.#terminal.screen(pane_id).includes("before"));
  }

  /** Freezes everything, and begins work that waits for each frozen program. */
  async freeze(): Promise<void> {
    for (const link of [...this.#links, this.codex.link]) link.frozen = "both";
    Deno.kill(this.#tmuxPid, "SIGSTOP");
    const before = this.codex.link.accepted;
    for (const to_peer of [this.#paneName, "codex"]) {
      await this.#post("/notify", { from_peer: "tester", to_peer, text: "frozen" });
    }
    void this.#post("/ask", { from_peer: "tester", text: "who?" }).catch(() => undefined);
    await until("a frozen delivery", () => this.codex.link.accepted > before);
  }

  thaw(): void {
    for (const link of [...this.#links, this.codex.link]) link.frozen = undefined;
    Deno.kill(this.#tmuxPid, "SIGCONT");
  }

  /** Read before the server is stopped, because a stopped server does not answer. */
  get #tmuxPid(): number {
    return this.#serverPid ??= Number(this.#terminal.cli("display-message", "-p", "#{pid}"));
  }

  async #post(path: string, body: unknown): Promise<void> {
    const request = { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${this.machine.base}${path}`, request);
    assert.ok(answer.ok, await answer.text());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw();
    await this.#stack.disposeAsync();
  }
}

const why = obstacle();
withTmux(
  `a daemon whose links are all frozen ends within 15 s, and leaves its network${
    why ? ` (skipped: ${why})` : ""
  }`,
  async (terminal) => {
    if (why) return;
    await using frozen = new FrozenMachine(terminal);
    await frozen.start();
    await frozen.freeze();
    const { machine } = frozen;
    const pid = machine.pid;
    const down_ms = stopwatch();
    const { code, err } = await machine.mesh("down");
    assert.deepEqual([code, err], [0, ""]);
    assert.ok(down_ms() < DOWN_MS_MAX, `${down_ms()} ms`);
    assert.throws(() => Deno.kill(pid, "SIGCONT"), "The process has ended");
    frozen.thaw();
    await frozen.connect();
    await frozen.freeze();
    const leave_ms = stopwatch();
    const left = await machine.mesh("machines", "leave");
    const down = await machine.mesh("down");
    assert.deepEqual([left.code, left.err, down.code, down.err], [0, "", 0, ""]);
    assert.ok(leave_ms() < LEAVE_MS_MAX, `${leave_ms()} ms`);
  },
);

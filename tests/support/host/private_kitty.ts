/** A kitty of its own on a virtual display, and programs in its windows. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { KittyServers } from "../../../daemon/host/kitty/kitty.ts";
import { callKitty } from "../../../daemon/host/kitty/remote_control.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { timeout } from "../../../kit/core/timeout.ts";
import { DENO_DIR } from "../programs/child.ts";
import { until } from "../waiting.ts";

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const START_MS = 20_000;

/** Reason why no kitty can be started here; undefined if it can. */
export function kittyMissing(): string | undefined {
  if (Deno.build.os !== "linux") return "kitty needs Xvfb, which is tested on Linux";
  for (const program of ["kitty", "Xvfb"]) {
    if (!isInstalled(program)) return `${program} is not installed`;
  }
  return undefined;
}

function isInstalled(program: string): boolean {
  const args = ["-c", `command -v ${program}`];
  return new Deno.Command("sh", { args, stdout: "null" }).outputSync().success;
}

/** A test with a real kitty; without kitty it is skipped, and its name says so. */
export function withKitty(name: string, test: (kitty: Kitty) => Promise<void>): void {
  const missing = kittyMissing();
  const shown = missing === undefined ? name : `${name} (skipped: ${missing})`;
  Deno.test(shown, { ignore: missing !== undefined }, async () => {
    await using kitty = await Kitty.start();
    await test(kitty);
  });
}

export class Kitty implements AsyncDisposable {
  readonly dir: string;
  readonly servers: KittyServers;
  readonly pid: number;
  readonly #children: readonly Deno.ChildProcess[];

  private constructor(dir: string, children: readonly Deno.ChildProcess[], pid: number) {
    this.dir = dir;
    this.#children = children;
    this.pid = pid;
    this.servers = this.serversWith();
  }

  /** Returns when kitty answers on its socket. Its first window runs `cat`. */
  static async start(dir = Deno.makeTempDirSync({ prefix: "mesh-kitty-" })): Promise<Kitty> {
    Deno.mkdirSync(`${dir}/kitty`, { mode: 0o700 });
    const screen = ["-screen", "0", "1280x1024x24", "-nolisten", "tcp"];
    const x = new Deno.Command("Xvfb", {
      args: ["-displayfd", "1", ...screen],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const display = await firstLine(x.stdout);
    const env = {
      PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
      DENO_DIR,
      HOME: `${dir}/kitty`,
      DISPLAY: `:${display}`,
      LIBGL_ALWAYS_SOFTWARE: "1",
      LANG: "C.UTF-8",
      SHELL: "/bin/sh",
    };
    const options = ["allow_remote_control=socket-only", "update_check_interval=0"]
      .concat("shell_integration=disabled", "confirm_os_window_close=0", "font_size=7")
      .concat("remember_window_size=no", "initial_window_width=120c", "initial_window_height=36c")
      .flatMap((option) => ["-o", option]);
    const kitty = new Deno.Command("kitty", {
      args: ["--config", "NONE", ...options, "--listen-on", `unix:${dir}/kitty/socket`, "cat"],
      env,
      clearEnv: true,
      cwd: dir,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const started = new Kitty(dir, [kitty, x], kitty.pid);
    await until("kitty", async () => (await started.server.panes()).ok, START_MS);
    return started;
  }

  get #socket(): string {
    return `${this.dir}/kitty/socket`;
  }

  get address(): string {
    return `kitty:${this.#socket}`;
  }

  /** Connections of their own, which wait so long for an answer. */
  serversWith(answer_ms_max = 5_000): KittyServers {
    const state_dir = `${this.dir}/kitten`;
    return new KittyServers({ clock: systemClock, log: silent, state_dir, answer_ms_max });
  }

  get server() {
    return this.servers.at(this.address);
  }

  /** Opens a tab that runs a command; returns the id of its window. */
  async open(args: readonly string[], cwd = this.dir): Promise<string> {
    const launched = await this.#call("launch", { type: "tab", cwd, args });
    assert.match(String(launched), /^\d+$/);
    return String(launched);
  }

  async close(window: string): Promise<void> {
    await this.#call("close-window", { match: `id:${window}` });
  }

  /** Types bytes into a window, as its user does. */
  async type(window: string, data: string): Promise<void> {
    const payload = { match: `id:${window}`, data: `text:${data}` };
    const text = JSON.stringify({ cmd: "send-text", version: [0, 26, 0], payload });
    const connection = await Deno.connect({ transport: "unix", path: this.#socket });
    // kitty answers this command with nothing.
    await connection.write(new TextEncoder().encode(`\x1bP@kitty-cmd${text}\x1b\\`));
    connection.close();
  }

  /** Scrolls the user's view. */
  async scrollUp(window: string): Promise<void> {
    await this.#call("scroll-window", { match: `id:${window}`, amount: [-10, "l"] });
  }

  /** The window's screen, without colours. */
  async screen(window: string): Promise<string> {
    const captured = await this.server.capture(window);
    // deno-lint-ignore no-control-regex -- Matches escape sequences.
    return captured.ok ? captured.lines.join("\n").replace(/\x1b\[[\d;:]*m/g, "") : "";
  }

  kill(): void {
    if (isAlive(this.pid)) Deno.kill(this.pid, "SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      const ended = child.status;
      try {
        child.kill("SIGTERM");
      } catch (error) {
        if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
      }
      if (await timeout(systemClock, 5_000, ended) === undefined) child.kill("SIGKILL");
      await ended;
    }
    await Deno.remove(this.dir, { recursive: true });
  }

  async #call(cmd: string, payload: Readonly<Record<string, unknown>>): Promise<unknown> {
    const called = await callKitty(this.#socket, { cmd, payload }, { clock: systemClock });
    assert.ok(called.ok, JSON.stringify(called));
    return called.data;
  }
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  const reader = output.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`Xvfb did not start: ${text}`);
    text += value;
  }
  await reader.cancel();
  return text.trim();
}

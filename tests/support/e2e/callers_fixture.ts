/** A fixture for tests of callers: a real daemon, a human called sam, a peer called victim. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isAlive } from "../../../daemon/host/processes.ts";
import { meshCommand } from "../programs/program.ts";
import { run } from "./programs.ts";
import { until } from "../waiting.ts";

/** True if a program is installed on this machine. */
export const has = (program: string) => run("sh", ["-c", `command -v ${program}`]) !== "";

/** Waits until a new process starts later, in the kernel's ticks, than all that run by now. */
export function nextTick(): Promise<unknown> {
  const uptime = () => Deno.readTextFileSync("/proc/uptime").split(" ")[0];
  const before = uptime();
  return until("the kernel's next tick", () => uptime() !== before);
}

/** A daemon with a human called sam, a peer called victim, and a tmux server for a person. */
export class CallersFixture implements AsyncDisposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-callers-" });
  readonly env: Record<string, string>;
  readonly #daemon: Deno.ChildProcess;
  readonly #children: Deno.ChildProcess[] = [];
  url = "";

  readonly #token: string | undefined;

  /** `files`: how many files the daemon may open. */
  constructor({ files, token }: { readonly files?: number; readonly token?: string } = {}) {
    this.#token = token;
    const settings = { port: 0, ...(token && { auth_token: token }) };
    Deno.writeTextFileSync(
      `${this.dir}/config.yaml`,
      `human: {name: sam}\ndaemon: ${JSON.stringify(settings)}\n`,
      {
        mode: 0o600,
      },
    );
    this.env = {
      PATH: Deno.env.get("PATH") ?? "/usr/bin:/bin",
      HOME: this.dir,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME") ?? "", ".cache/deno"),
      MESH_STATE: `${this.dir}/state`,
      MESH_CONFIG: `${this.dir}/config.yaml`,
      TMUX_TMPDIR: this.dir,
      NO_COLOR: "1",
    };
    const mesh = `exec ${meshCommand([]).join(" ")} "$@"\n`;
    Deno.writeTextFileSync(`${this.dir}/mesh`, `#!/bin/sh\n${mesh}`, { mode: 0o755 });
    const limit = files === undefined ? "" : `ulimit -n ${files}; `;
    this.#daemon = this.start(["bash", "-c", `${limit}exec ${this.dir}/mesh daemon`]);
  }

  /** Starts a program in the fixture's environment, without any other variable. */
  start([program = "", ...args]: readonly string[]): Deno.ChildProcess {
    const child = new Deno.Command(program, {
      args,
      env: this.env,
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#children.push(child);
    return child;
  }

  async ready(): Promise<void> {
    this.url = await until("the daemon", () => {
      try {
        return String(JSON.parse(Deno.readTextFileSync(`${this.dir}/state/daemon.json`)).url);
      } catch {
        return undefined;
      }
    });
    const body = JSON.stringify({ name: "victim", path: "/", backend: "sdk" });
    const headers = this.#token ? { authorization: `Bearer ${this.#token}` } : {};
    const answer = await fetch(`${this.url}/peers`, { method: "POST", body, headers });
    assert.equal((await answer.json()).display_name, "victim");
  }

  tmux(...args: string[]): void {
    const { success, stderr } = new Deno.Command("tmux", {
      args: ["-u", "-f", "/dev/null", ...args],
      env: this.env,
      clearEnv: true,
    }).outputSync();
    assert.ok(success, new TextDecoder().decode(stderr));
  }

  /** The author kind of the message with this text, once it arrives. */
  voice(text: string): Promise<string> {
    return until(`the message "${text}"`, () => {
      using db = new DatabaseSync(`${this.dir}/state/mesh.db`, { readOnly: true });
      const found = db.prepare("select voice from messages where text = ?").get(text);
      return found === undefined ? undefined : String(found["voice"]);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of ["person", "agent"]) {
      run("env", [`TMUX_TMPDIR=${this.dir}`, "tmux", "-L", name, "kill-server"]);
    }
    this.#daemon.kill("SIGTERM");
    for (const child of this.#children) {
      if (child !== this.#daemon && isAlive(child.pid)) child.kill("SIGKILL");
      await child.status;
    }
    await Deno.remove(this.dir, { recursive: true });
  }
}

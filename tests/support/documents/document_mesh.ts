/** A mesh in which the commands of the documents run: a daemon, two peers that answer, a home. */

import { join } from "node:path";
import { runCli } from "../../../cli.ts";
import { hasTmux } from "../../../cli/client/isolated_env.ts";
import { getRole } from "../../../cli/programs/roles.ts";
import { capturedTerminal } from "../cli/captured_output.ts";
import { freePort } from "../cli/doctor_fixture.ts";
import { meshArguments, meshCommand } from "../programs/program.ts";
import { until } from "../waiting.ts";
import { SamplePeer } from "./sample_peer.ts";

const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME") ?? ""}/.cache/deno`;
/** Commands that write to this process's own output, or end only with a signal. */
const OWN_PROCESS = ["setup", "uninstall", "demo", "selftest"];

/**
 * The `mesh` on the PATH of a script: it hands its arguments to this process, because starting the
 * program once for each command of the documents takes minutes. A program that such a command runs
 * starts `mesh` itself, because calls follow one another.
 */
const SHIM = `#!/bin/sh
if [ -n "\${MESH_OWN_PROCESS-}" ]; then exec ${
  meshCommand([]).map((word) => `'${word}'`).join(" ")
} "$@"; fi
call=$(mktemp -d "$MESH_CALLS/XXXXXX")
for arg in "$PWD" "$@"; do printf '%s\\0' "$arg"; done >"$call/args"
env -0 >"$call/env"
if [ -p /dev/stdin ]; then cat >"$call/in"; fi
code=$(curl --silent --show-error "$MESH_SHIM?call=$call") || exit 70
cat "$call/out"
cat "$call/err" >&2
exit "$code"
`;

export interface ScriptResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class DocumentMesh implements AsyncDisposable {
  readonly home = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "mesh-docs-" }));
  readonly work = join(this.home, "work", "api");
  readonly #port = freePort();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #peers: SamplePeer[] = [];
  #calls = Promise.resolve();
  #hasPanes = false;

  private constructor() {
    for (const folder of ["bin", "calls", "work/api", ".claude", ".codex"]) {
      Deno.mkdirSync(join(this.home, folder), { recursive: true });
    }
    Deno.writeTextFileSync(join(this.home, "bin", "mesh"), SHIM, { mode: 0o755 });
    Deno.writeTextFileSync(join(this.work, "screenshot.png"), "not really a picture");
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => this.#serve(new URL(request.url).searchParams.get("call") ?? ""),
    );
  }

  /** `reply_ms`: how long the peers take to answer. */
  static async start({ reply_ms = 0 } = {}): Promise<DocumentMesh> {
    const mesh = new DocumentMesh();
    const config = mesh.path(".config", "mesh", "config.yaml");
    Deno.mkdirSync(mesh.path(".config", "mesh"), { recursive: true, mode: 0o700 });
    const settings = `human:\n  name: sam\ndaemon:\n  port: ${mesh.#port}\n` +
      `spawn:\n  commands: {generic: [cat]}\n  allowed_paths: [~/work]\n` +
      `jobs:\n  checks:\n    tests: {argv: ["true"]}\n`;
    Deno.writeTextFileSync(config, settings, { mode: 0o600 });
    await mesh.mustRun("mesh up");
    mesh.#peers = [
      new SamplePeer({ name: "api", reply: "Port 8080.", reply_ms, env: mesh.env }),
      new SamplePeer({ name: "web", reply: "Ready when you are.", reply_ms, env: mesh.env }),
    ];
    await mesh.ready();
    return mesh;
  }

  /** Opens the panes %0 to %3 of a tmux server of this mesh; false if tmux is not installed. */
  async openPanes(): Promise<boolean> {
    if (!hasTmux(this.env)) return false;
    this.#hasPanes = true;
    const panes = ["new-session -d", "new-window", "new-window", "new-window"];
    await this.mustRun(panes.map((pane) => `tmux -f /dev/null ${pane} cat`).join("\n"));
    return true;
  }

  path(...names: string[]): string {
    return join(this.home, ...names);
  }

  get env(): Record<string, string> {
    return {
      HOME: this.home,
      PATH: `${this.path("bin")}:/usr/local/bin:/usr/bin:/bin`,
      USER: "sam",
      LANG: "C.UTF-8",
      TZ: "UTC",
      NO_COLOR: "1",
      DENO_DIR,
      // A tmux server of its own, which nothing starts unless a command does.
      TMUX_TMPDIR: this.home,
      MESH_SHIM: `http://127.0.0.1:${this.#server.addr.port}/`,
      MESH_CALLS: this.path("calls"),
    };
  }

  get peers(): readonly SamplePeer[] {
    return this.#peers;
  }

  /** Resolves when the daemon knows both peers, which connect again after a restart. */
  async ready(): Promise<void> {
    await until("both peers are online", async () => {
      const { code, out } = await this.cli(["peers", "--status", "online", "--json"]);
      if (code !== 0) return false;
      const names = JSON.parse(out).peers.map(({ name }: { name: string }) => name);
      return ["api", "web"].every((name) => names.includes(name));
    });
  }

  /** Runs a script as a person would, in the project's folder. */
  async run(script: string): Promise<ScriptResult> {
    const here = script.replaceAll(/(?:127\.0\.0\.1|localhost):8377/g, `127.0.0.1:${this.#port}`);
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-eu", "-o", "pipefail", "-c", here],
      cwd: this.work,
      env: this.env,
      clearEnv: true,
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  }

  async mustRun(script: string): Promise<string> {
    const { code, out, err } = await this.run(script);
    if (code !== 0) throw new Error(`exit code ${code} of:\n${script}\n${out}${err}`);
    return out;
  }

  /** Runs one command in this process. */
  async cli(args: readonly string[], { env = this.env, input = "" } = {}): Promise<ScriptResult> {
    const { terminal, lines } = capturedTerminal({ read: () => Promise.resolve(input) });
    const code = await runCli(args, env, terminal);
    return { code, ...lines };
  }

  /** Serves a call of the shim. Calls run in sequence, because each has a working directory. */
  #serve(call: string): Promise<Response> {
    const answer = this.#calls.then(() => this.#answer(call));
    this.#calls = answer.then(() => undefined);
    return answer;
  }

  async #answer(call: string): Promise<Response> {
    const read = (name: string) => Deno.readTextFileSync(`${call}/${name}`);
    const [cwd = this.work, ...args] = read("args").split("\0").slice(0, -1);
    const env = Object.fromEntries(
      read("env").split("\0").filter(Boolean).map((line) => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)];
      }),
    );
    const isRole = getRole(args) !== undefined || OWN_PROCESS.includes(args[0] ?? "");
    const before = Deno.cwd();
    try {
      Deno.chdir(cwd);
      const input = exists(`${call}/in`) ? read("in") : "";
      const { code, out, err } = isRole
        ? await ownProcess(args, env)
        : await this.cli(args, { env, input });
      // The next command of the script may need the peers, which connect again.
      if (args[0] === "restart" && code === 0) await this.ready();
      Deno.writeTextFileSync(`${call}/out`, out);
      Deno.writeTextFileSync(`${call}/err`, err);
      return new Response(String(code));
    } finally {
      Deno.chdir(before);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#peers.map((peer) => peer.close()));
    await this.cli(["down"]);
    if (this.#hasPanes) await this.mustRun("tmux kill-server");
    await this.#server.shutdown();
    Deno.removeSync(this.home, { recursive: true });
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function ownProcess(args: readonly string[], env: Record<string, string>) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: meshArguments(args),
    env: { ...env, MESH_OWN_PROCESS: "1" },
    clearEnv: true,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

/** Real Codex offline: a home, a scripted model, a mesh daemon, and terminals on one server. */

import { join } from "node:path";
import { isThreadId } from "../../../daemon/features/agents/codex/threads.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { codexScreen } from "../../../daemon/features/agents/codex/codex.ts";
import { codexConfig, codexStartKey } from "../../../daemon/features/agents/codex/fixture.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import type { MessagesModel } from "../../../tools/selftest/model/messages.ts";
import { ResponsesModel } from "../../../tools/selftest/model/responses.ts";
import { isRemoved } from "../../../tools/selftest/harness.ts";
import { binOf, codexCli, makeRunDir } from "./installed_agents.ts";
import { denoDir, inPane, Mesh, run, tmux, userEnvironment, viewOf } from "./programs.ts";
import { submitPrompt } from "./typing.ts";
import { until } from "../waiting.ts";

/** A daemon, and Codex sessions after `mesh setup`; disposing it ends all their processes. */
export class CodexLab implements AsyncDisposable {
  readonly dir: string;
  readonly #wire: ResponsesModel;
  readonly env: Readonly<Record<string, string>>;
  readonly mesh: Mesh;
  readonly #pids: number[] = [];
  /** True once our hooks are trusted: the composer shows for a moment before Codex asks. */
  #trusts = false;

  constructor(rules: readonly ScriptedReply[], projects: readonly string[]) {
    this.dir = makeRunDir();
    // The server keeps its sockets in a fixed folder; the test provides its own.
    const sockets = `/tmp/codex-daemon-${Deno.uid()}`;
    Deno.mkdirSync(sockets, { recursive: true, mode: 0o700 });
    run("mount", ["-t", "tmpfs", "-o", "mode=0700", "none", sockets]);
    this.#wire = new ResponsesModel(rules);
    for (const name of ["home/.codex", "home/.cache", "tmp", ...projects]) {
      Deno.mkdirSync(join(this.dir, name), { recursive: true, mode: 0o700 });
    }
    this.env = { ...userEnvironment(this.dir, binOf(codexCli)), SCRIPTED_KEY: "none" };
    this.mesh = new Mesh(this);
    // Codex passes only a few variables to its MCP servers; DENO_DIR is not among them.
    Deno.symlinkSync(denoDir(), join(this.dir, "home/.cache/deno"));
    const folders = projects.map((name) => join(this.dir, name));
    Deno.writeTextFileSync(this.config, codexConfig(this.#wire.url, folders));
  }

  get model(): MessagesModel {
    return this.#wire.model;
  }

  /** Has the provider refuse each request from now on; without an answer, it serves them again. */
  refuse(answer: (() => Response) | undefined): void {
    this.#wire.refusal = answer &&
      (({ method }) => method === "POST" ? answer() : undefined);
  }

  get config(): string {
    return join(this.dir, "home/.codex/config.toml");
  }

  get codex_home(): string {
    return join(this.dir, "home/.codex");
  }

  /** Sets Codex up by the product's own command, and starts the daemon. */
  async open(config: Readonly<Record<string, unknown>> = {}): Promise<this> {
    await this.mesh.setUp({ agent: "codex", config });
    await this.mesh.up();
    return this;
  }

  get call() {
    return this.mesh.call;
  }

  async peer(name: string) {
    const { peers } = await this.call(listPeers, { query: {} });
    return peers.find((peer) => peer.name === name);
  }

  /** The stages of a message, with their details. */
  async stages(trace_id: string): Promise<{ stage: string; detail: string | null }[]> {
    const { stages } = await this.call(getTrace, { params: { trace_id } });
    return stages.map(({ stage, detail }) => ({ stage, detail: detail ?? null }));
  }

  async has(trace_id: string, stage: string): Promise<boolean> {
    return (await this.stages(trace_id)).some((row) => row.stage === stage);
  }

  /** Starts Codex in a terminal of its own, and waits until it takes prompts. */
  async start(name: string, ...args: string[]): Promise<Codex> {
    const command = inPane(join(this.dir, name), this.env, ["codex", ...args]);
    const shown = ["-P", "-F", "#{pane_id} #{pane_pid}"];
    if (this.#pids.length === 0) {
      // A window of its own keeps the terminal server when every Codex has left.
      this.cli("new-session", "-d", "-s", "office", "-x", "160", "-y", "50", "cat");
    }
    const started = this.cli("new-window", "-d", "-t", "office:", ...shown, ...command);
    const [pane_id = "", pid] = started.split(" ");
    this.#pids.push(Number(pid));
    const codex = new Codex(this, pane_id);
    await codex.start(name, { isTrusted: this.#trusts });
    this.#trusts = true;
    return codex;
  }

  /** Starts a session and submits its first prompt: only then do its hooks run. */
  async startCodex(name: string, ...args: string[]): Promise<Codex> {
    const codex = await this.start(name, ...args);
    await codex.firstTurn(name);
    await until(`${name} among the peers`, async () => {
      const peer = await this.peer(`${name}-codex`);
      return peer?.status === "online" && peer.turn_state === "idle";
    });
    return codex;
  }

  cli(...args: string[]): string {
    return tmux(this, args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The shared server outlives its terminals until it is stopped.
    await new Deno.Command("codex", {
      args: ["app-server", "daemon", "stop"],
      env: { ...this.env },
      clearEnv: true,
      stdout: "null",
      stderr: "null",
    }).output();
    run("tmux", ["-S", join(this.dir, "tmux"), "kill-server"]);
    await until("the end of every terminal", () => !this.#pids.some((pid) => isAlive(pid)));
    await this.mesh[Symbol.asyncDispose]();
    await this.#wire[Symbol.asyncDispose]();
    await until("the last writes of what was ended", () => isRemoved(this.dir));
  }
}

/** The first start copies the program into the home, for its server. */
const START_MS_MAX = 60_000;

/** A Codex in its terminal. */
export class Codex {
  readonly pane_id: string;
  readonly #lab: Pick<CodexLab, "cli" | "dir">;

  constructor(lab: Pick<CodexLab, "cli" | "dir">, pane_id: string) {
    this.#lab = lab;
    this.pane_id = pane_id;
  }

  get screen(): string {
    return this.#lab.cli("capture-pane", "-p", "-t", this.pane_id);
  }

  /** An empty composer. */
  get isReady(): boolean {
    return /^› Ask Codex to do anything/m.test(this.screen);
  }

  /** The adapter reads the composer: the footer names the session by its first prompt (0.171.0). */
  holds(prompt: string): boolean {
    return codexScreen.composerHolds(viewOf(this.#lab, this.pane_id), prompt);
  }

  /** Answers what Codex asks at its start, and waits until it takes prompts. */
  async start(name: string, { isTrusted = false } = {}): Promise<void> {
    let trusts = isTrusted;
    await until(`${name} to start`, () => {
      const { screen } = this;
      const key = codexStartKey(screen);
      if (key !== undefined) this.press(key);
      trusts ||= screen.includes("Hooks need review");
      return trusts && this.isReady;
    }, START_MS_MAX);
  }

  /** Codex runs hooks only from its first prompt on. */
  async firstTurn(name: string): Promise<void> {
    await this.sendPrompt("@@SAY ready");
    await until(`${name}'s first turn`, () => /^• ready/m.test(this.screen) && this.isReady);
  }

  async sendPrompt(prompt: string): Promise<void> {
    await until("an empty composer", () => this.isReady);
    await submitPrompt(this, prompt);
  }

  keys(...keys: string[]): void {
    this.#lab.cli("send-keys", "-t", this.pane_id, ...keys);
  }

  press(...keys: string[]): void {
    for (const key of keys) this.keys(key);
  }
}

/** The ids of the sessions that have rollouts. */
export function sessionIds({ codex_home }: CodexLab): string[] {
  const inside = (dir: string): string[] =>
    Array.from(Deno.readDirSync(dir)).flatMap(({ name, isDirectory }) =>
      isDirectory ? inside(join(dir, name)) : [name.slice(-42, -6)]
    );
  return inside(join(codex_home, "sessions")).filter(isThreadId);
}

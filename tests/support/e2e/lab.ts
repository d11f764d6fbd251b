/** Real agents offline: a namespace without a network, with homes and panes that are ended. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { claudeCode as definition } from "../../../daemon/features/agents/claude_code/agent.ts";
import { type Session, sessionOf } from "../../../daemon/features/agents/claude_code/registry.ts";
import { hooks, server } from "../../../daemon/features/agents/claude_code/setup.ts";
import { hookScript } from "../../../daemon/features/agents/hooks/hook_script.ts";
import type { JsonObject } from "../../../daemon/features/agents/settings_files/json.ts";
import { meshCommand } from "../../../cli/client/program.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import {
  CLAUDE_COMMAND,
  claudeEnvironment,
  claudeFirstStartDone,
} from "../../../daemon/features/agents/claude_code/fixture.ts";
import { isRemoved } from "../../../tools/selftest/harness.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { systemClock } from "kit/core/clock.ts";
import { MessagesModel } from "../../../tools/selftest/model/messages.ts";
import { planOf } from "../agents/setup_plan.ts";
import {
  binOf,
  CLAUDE_CODE,
  claudeCode,
  type InstallResult,
  makeRunDir,
} from "./installed_agents.ts";
import { inPane, Mesh, processesIn, run, tmux, userEnvironment } from "./programs.ts";
import { holdsPrompt, submitPrompt } from "./typing.ts";
import { print, until } from "../waiting.ts";

/** Marks a test process that runs in the namespace. */
const INSIDE_NAMESPACE = "MESH_LAB_INSIDE";

/** Reason why no test can be isolated from the network here; undefined if it can. */
function isolationMissing(): string | undefined {
  if (Deno.build.os !== "linux") return "network namespaces are Linux's";
  if (Deno.uid() !== 0) return "a network namespace needs root";
  if (!run("ip", ["-V"]).includes("iproute2")) {
    print("Installing iproute2");
    run("apt-get", ["install", "-y", "--no-install-recommends", "iproute2"]);
  }
  if (!run("ip", ["-V"]).includes("iproute2")) return "iproute2 cannot be installed";
  const proof = run("unshare", [...NAMESPACE, "sh", "-c", "ip link set lo up && echo isolated"]);
  return proof.includes("isolated") ? undefined : "unshare makes no namespace here";
}

/** A network of loopback only, and a process tree that ends with its first process. */
const NAMESPACE = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"] as const;

/** Preparations of a test outside the namespace, where there is a network. */
export interface Preparation extends Disposable {
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A test with real agents. It runs this file again inside the namespace, for this one test, with
 * the variables of `prepare`. Where that is impossible the test is skipped, and its name gives the
 * reason.
 */
export function withLab(
  file: string,
  name: string,
  test: () => Promise<void>,
  agent: () => InstallResult = claudeCode,
  prepare: () => Preparation = () => ({ env: {}, [Symbol.dispose]: () => undefined }),
): void {
  if (Deno.env.get(INSIDE_NAMESPACE)) return Deno.test(name, test);
  const missing = missingReason(agent);
  const shown = missing === undefined ? name : `${name} (skipped: ${missing})`;
  Deno.test(shown, { ignore: missing !== undefined }, async () => {
    const path = fileURLToPath(file);
    const inner = [Deno.execPath(), "test", "-A", "--quiet", "--no-check", "--filter", name, path];
    using prepared = prepare();
    const { passed, output } = await runInside(inner, prepared.env);
    assert(passed, output);
  });
}

/** True in `deno task agents`, which also runs the tests that are left out otherwise. */
export const ALL_AGENTS = Deno.env.has("MESH_ALL_AGENTS");

/**
 * Defines tests for `deno task agents` alone: the suite has a shorter one of their kind, and its
 * output names them.
 */
export function inLongForm<T extends unknown[]>(
  define: (...args: T) => void,
): (...args: T) => void {
  if (ALL_AGENTS) return define;
  return (...args) => {
    const name = args.findLast((arg) => typeof arg === "string");
    if (!Deno.env.has(INSIDE_NAMESPACE)) print(`only in deno task agents: ${name}`);
  };
}

/** Maximum time for an agent to end after its terminal has gone. */
const HANGUP_MS_MAX = 20_000;

/** Maximum time of a test. A test that waits forever is ended with all its processes. */
const TEST_MS_MAX = 6 * 60_000;

async function runInside(
  inner: readonly string[],
  env: Preparation["env"],
): Promise<{ passed: boolean; output: string }> {
  const child = new Deno.Command("unshare", {
    args: [...NAMESPACE, "sh", "-c", 'ip link set lo up && "$@"; exit $?', "sh", ...inner],
    env: { ...env, [INSIDE_NAMESPACE]: "1", NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const cancel = systemClock.setTimer(TEST_MS_MAX, () => {
    print(`Ended after ${TEST_MS_MAX / 60_000} minutes: ${inner.join(" ")}`);
    child.kill("SIGKILL");
  });
  const { success, stdout } = await child.output();
  cancel();
  const output = new TextDecoder().decode(stdout);
  return { passed: success && output.includes("1 passed"), output };
}

const missing = new Map<() => InstallResult, string | undefined>();

function missingReason(agent: () => InstallResult): string | undefined {
  if (!missing.has(agent)) missing.set(agent, findMissing(agent));
  return missing.get(agent);
}

function findMissing(agent: () => InstallResult): string | undefined {
  if (!run("tmux", ["-V"]).startsWith("tmux")) return "tmux is not installed";
  const isolation = isolationMissing();
  if (isolation !== undefined) return isolation;
  // Each lab needs Claude Code, which could not be installed inside, where there is no network.
  for (const needed of [claudeCode, agent]) {
    const found = needed();
    if ("reason" in found) return found.reason;
  }
  return undefined;
}

export interface LabOptions {
  readonly rules?: readonly ScriptedReply[];
  /** Leaves the home as the CLI has it before `mesh setup`. */
  readonly bare?: boolean;
  readonly permissions?: readonly string[];
  /** Folders that the user has trusted, one for each session. */
  readonly projects?: readonly string[];
  /** True for the login of a plan in place of an API key: only then do limits name their reset. */
  readonly subscription?: boolean;
}

/** A home, a model and a private tmux server; disposing it ends all processes in it. */
export class Lab implements AsyncDisposable {
  readonly dir: string;
  readonly model: MessagesModel;
  /** The environment of every process in the lab. */
  readonly env: Readonly<Record<string, string>>;
  readonly mesh: Mesh;
  readonly tmux_socket: string;
  readonly #pids: number[] = [];

  constructor(options: LabOptions = {}) {
    const { rules = [], bare = false, permissions = [], projects = ["api"] } = options;
    this.dir = makeRunDir();
    this.model = new MessagesModel(rules);
    this.tmux_socket = join(this.dir, "tmux");
    for (const name of ["home", "run", "tmp", ...projects]) {
      Deno.mkdirSync(join(this.dir, name), { mode: 0o700 });
    }
    this.env = {
      ...userEnvironment(this.dir, binOf(claudeCode)),
      XDG_RUNTIME_DIR: join(this.dir, "run"),
      ...claudeEnvironment(this.model.url),
      ...(options.subscription &&
        { ANTHROPIC_API_KEY: "", CLAUDE_CODE_OAUTH_TOKEN: "dummy-token" }),
    };
    this.mesh = new Mesh(this);
    this.write("home/.claude/settings.json", { permissions: { allow: [...permissions] } });
    // Written now: a running session keeps this file in memory, and would overwrite ours.
    const folders = projects.map((name) => join(this.dir, name));
    this.write("home/.claude.json", claudeFirstStartDone(CLAUDE_CODE.version, folders));
    if (!bare) this.#setUp();
  }

  get config_dir(): string {
    return definition.setup?.home(this.env) ?? "";
  }

  /** A file of the lab, as JSON. */
  read(path: string): JsonObject {
    return JSON.parse(Deno.readTextFileSync(join(this.dir, path)));
  }

  write(path: string, json: JsonObject): void {
    const whole = join(this.dir, path);
    Deno.mkdirSync(dirname(whole), { recursive: true });
    Deno.writeTextFileSync(whole, JSON.stringify(json, null, 2));
  }

  /** Installs hooks and MCP server, by the product's own functions. */
  #setUp(): void {
    const hook_script = join(this.dir, "claude.hook");
    Deno.writeTextFileSync(hook_script, hookScript(definition, meshCommand()));
    const plan = planOf(meshCommand(), { hook_script });
    const [settings, json] = ["home/.claude/settings.json", "home/.claude.json"];
    this.write(settings, hooks.install(this.read(settings), plan));
    this.write(json, server.install(this.read(json), plan));
  }

  /**
   * Starts Claude Code in a window of the lab's one session, and waits until it takes prompts. The
   * variables of tmux can be hidden from it, as in a bare terminal.
   */
  async claude(name: string, { without_tmux_env = false } = {}): Promise<Claude> {
    const cwd = join(this.dir, name);
    const command = inPane(cwd, this.env, CLAUDE_COMMAND, { without_tmux_env });
    const shown = ["-P", "-F", "#{pane_id} #{pane_pid}"];
    const started = this.#pids.length === 0
      ? this.cli("new-session", "-d", "-s", "office", "-x", "160", "-y", "50", ...shown, ...command)
      : this.cli("new-window", "-d", "-t", "office:", ...shown, ...command);
    const [pane_id = "", pid] = started.split(" ");
    const claude = new Claude(this, pane_id, Number(pid));
    this.#pids.push(claude.pid);
    await until(`${name} to start`, () => claude.session?.messagingSocketPath && claude.isIdle);
    return claude;
  }

  /** Runs the tmux program. */
  cli(...args: string[]): string {
    return tmux(this, args);
  }

  /**
   * Kills a pane. If it was the last one, the tmux server exits; this waits for that, because an
   * exiting server accepts a client and then drops it.
   */
  async killPane(pane_id: string): Promise<void> {
    const panes = this.cli("list-panes", "-a", "-F", "#{pid}").split("\n");
    this.cli("kill-pane", "-t", pane_id);
    if (panes.length > 1) return;
    await until("the end of the tmux server", () => !isAlive(Number(panes[0])));
  }

  /** Ends the panes and their programs, and waits. What outlives its pane is killed. */
  async endAgents(): Promise<void> {
    const pids = [...this.#pids, ...processesIn(this)];
    run("tmux", ["-S", this.tmux_socket, "kill-server"]); // It may have ended with its last pane.
    const kill_at = Date.now() + HANGUP_MS_MAX;
    await until("the end of every agent", () => {
      const alive = pids.filter((pid) => isAlive(pid));
      if (Date.now() > kill_at) alive.forEach((pid) => run("kill", ["-KILL", `${pid}`]));
      return alive.length === 0;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endAgents();
    await this.mesh[Symbol.asyncDispose]();
    await this.model[Symbol.asyncDispose]();
    await until("the last writes of what was ended", () => isRemoved(this.dir));
  }
}

/** A Claude Code in its pane. */
export class Claude {
  readonly pane_id: string;
  readonly pid: number;
  readonly #lab: Lab;

  constructor(lab: Lab, pane_id: string, pid: number) {
    this.#lab = lab;
    this.pane_id = pane_id;
    this.pid = pid;
  }

  get session(): Session | undefined {
    return sessionOf([this.#lab.config_dir], this.pid);
  }

  get isIdle(): boolean {
    return this.session?.status === "idle" && this.screen.includes("❯");
  }

  get screen(): string {
    return this.#lab.cli("capture-pane", "-p", "-t", this.pane_id);
  }

  /** The text in the composer, between its two rules; undefined at a dialog. */
  get composer(): string {
    const rows = this.screen.split("\n");
    const [top, bottom] = rows.flatMap((row, at) => /^─{8}/.test(row) ? [at] : []).slice(-2);
    if (top === undefined || bottom === undefined || !rows[top + 1]?.startsWith("❯")) return "";
    return rows.slice(top + 1, bottom).join("\n").replace("❯", "").trim();
  }

  holds(prompt: string): boolean {
    return holdsPrompt(this.composer, prompt);
  }

  type(text: string): void {
    this.keys("-l", "--", text);
  }

  /** Types a prompt, waits until the composer shows it, and submits it. */
  async sendPrompt(prompt: string): Promise<void> {
    await submitPrompt(this, prompt);
  }

  /** Prompts until its model is offered our tools: it connects to our server after its start. */
  async waitForTools(): Promise<void> {
    await until("our tools", async () => {
      await this.sendPrompt("@@SAY ready");
      await until("the end of the turn", () => this.isIdle);
      return this.#lab.model.requests.at(-1)?.raw.includes("mcp__mesh__ack");
    });
  }

  keys(...keys: string[]): void {
    this.#lab.cli("send-keys", "-t", this.pane_id, ...keys);
  }

  press(key: string): void {
    this.keys(key);
  }
}

/** `mesh selftest` with the real agents, without a network; and what it leaves behind. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import * as z from "zod";
import { parseVerdicts, VERDICTS_FILE } from "protocol/agents/selftest.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import {
  binOf,
  claudeCode,
  codexCli,
  copilotCli,
  geminiCli,
  type InstallResult,
  makeRunDir,
  opencodeCli,
} from "../../support/e2e/installed_agents.ts";
import { inLongForm, withLab } from "../../support/e2e/lab.ts";
import { denoDir } from "../../support/e2e/programs.ts";
import { until } from "../../support/waiting.ts";
import { meshArguments } from "../../support/programs/program.ts";

const Answer = z.object({
  ok: z.boolean(),
  results: z.array(z.object({
    scenario: z.string(),
    transport: z.string().nullable(),
    result: z.string(),
    detail: z.string().nullable(),
  })),
});

/** A machine with one agent on the PATH. */
class Machine implements Disposable {
  readonly home: string;
  readonly #env: Record<string, string>;

  constructor(bin_dir: string) {
    this.home = makeRunDir();
    this.#env = {
      HOME: this.home,
      PATH: `${bin_dir}:${Deno.env.get("PATH") ?? "/usr/bin:/bin"}`,
      DENO_DIR: denoDir(),
    };
  }

  selftest(...args: readonly string[]): Deno.ChildProcess {
    return new Deno.Command(Deno.execPath(), {
      args: meshArguments(["selftest", ...args]),
      env: this.#env,
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
  }

  async answer(...args: readonly string[]) {
    const { code, stdout } = await this.selftest("--json", ...args).output();
    const { ok, results } = Answer.parse(JSON.parse(new TextDecoder().decode(stdout)));
    const resultLines = results.map(({ scenario, transport, result, detail }) =>
      result === "failed"
        ? `${scenario} failed, ${transport}: ${detail}`
        : `${scenario} ${result}, ${transport}`
    );
    return { code, ok, resultLines };
  }

  get verdicts() {
    const path = join(this.home, ".local/state/mesh", VERDICTS_FILE);
    return parseVerdicts(readTextOrNothing(path) ?? "");
  }

  /** Only the known results of the transports are left, and no process runs in their home. */
  assertClean(): void {
    const left = Array.from(Deno.readDirSync(join(this.home, ".cache")), ({ name }) => name);
    assert.deepEqual(left.filter((name) => name.startsWith("mesh-")), []);
    for (const name of [".claude", ".claude.json", ".codex", ".copilot", ".gemini", ".config"]) {
      assert.throws(() => Deno.statSync(join(this.home, name)), Deno.errors.NotFound, name);
    }
    assert.deepEqual(this.remainingProcesses(), []);
  }

  /** The processes of the selftest that run now, by their home. */
  remainingProcesses(): string[] {
    const pids = Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name)).filter(Boolean);
    return pids.map((pid) => textOf(`/proc/${pid}/environ`))
      .filter((environment) => environment.includes(`${this.home}/.cache/mesh-selftest-`));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.home, { recursive: true });
  }
}

/** A process may end before it is read. */
function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Error) return "";
    throw error;
  }
}

function namesIn(dir: string): string[] {
  try {
    return Array.from(Deno.readDirSync(dir), ({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

function machineWith(agent: () => InstallResult): Machine {
  return new Machine(dirname(binOf(agent)));
}

withLab(
  import.meta.url,
  "selftest passes with Claude Code, and leaves nothing behind",
  async () => {
    using machine = machineWith(claudeCode);
    const { code, ok, resultLines } = await machine.answer("--agent", "claude-code");
    assert.deepEqual(resultLines, [
      "idle passed, native",
      "by pane passed, pane",
      "draft passed, native",
      "busy passed, native",
      "dialog passed, native",
      "daemon killed passed, native",
      "detached passed, native",
      "resumed passed, native",
      "all not tested, hook",
    ]);
    assert.deepEqual([code, ok], [0, true]);
    const healthyResult = { degraded: false, why: null };
    assert.deepEqual(machine.verdicts?.agents["claude-code"]?.transports, {
      native: healthyResult,
      pane: healthyResult,
    });
    machine.assertClean();
  },
);

inLongForm(withLab)(
  import.meta.url,
  "selftest passes with Codex, and a notify is held back",
  async () => {
    using machine = machineWith(codexCli);
    const sockets = () => namesIn(`/tmp/codex-daemon-${Deno.uid()}`);
    const before = sockets();
    const { code, resultLines } = await machine.answer("--agent", "codex");
    const passed = resultLines.filter((line) => line.endsWith(" passed, native"));
    assert.deepEqual([code, passed.length, resultLines.at(-1)], [0, 7, "all not tested, pane"]);
    machine.assertClean();
    assert.deepEqual(sockets(), before);
  },
  codexCli,
);

inLongForm(withLab)(
  import.meta.url,
  "selftest passes with Gemini CLI, where a draft is in the way",
  async () => {
    using machine = machineWith(geminiCli);
    const scenarios = ["--scenario", "draft", "--scenario", "resumed"];
    const { code, resultLines } = await machine.answer("--agent", "gemini", ...scenarios);
    assert.deepEqual(resultLines, [
      "draft passed, pane",
      "resumed passed, pane",
      "all not tested, native",
    ]);
    assert.equal(code, 0);
    assert.equal(machine.verdicts, undefined, "a partial run records no result");
    machine.assertClean();
  },
  geminiCli,
);

inLongForm(withLab)(
  import.meta.url,
  "selftest passes with Copilot CLI, at a dialog and resumed",
  async () => {
    using machine = machineWith(copilotCli);
    const scenarios = ["--scenario", "dialog", "--scenario", "resumed"];
    const { code, resultLines } = await machine.answer("--agent", "copilot", ...scenarios);
    assert.deepEqual(resultLines, [
      "dialog passed, pane",
      "resumed passed, pane",
      "all not tested, native",
    ]);
    assert.equal(code, 0);
    machine.assertClean();
  },
  copilotCli,
);

inLongForm(withLab)(import.meta.url, "selftest passes with opencode, at a dialog", async () => {
  using machine = machineWith(opencodeCli);
  const { code, resultLines } = await machine.answer(
    "--agent",
    "opencode",
    "--scenario",
    "dialog",
  );
  assert.deepEqual([code, resultLines[0]], [0, "dialog passed, websocket"]);
  machine.assertClean();
}, opencodeCli);

withLab(import.meta.url, "selftest that is interrupted leaves nothing behind", async () => {
  using machine = machineWith(claudeCode);
  const child = machine.selftest("--agent", "claude-code");
  const output = new Response(child.stdout).text();
  await until("the agent and the daemon", () => machine.remainingProcesses().length > 3);
  Deno.kill(child.pid, "SIGINT");
  assert.equal((await child.status).code, 130);
  assert(!(await output).includes("failed"), await output);
  assert.equal(machine.verdicts, undefined);
  machine.assertClean();
});

withLab(import.meta.url, "an agent that ends at once fails, and degrades nothing", async () => {
  const bin = Deno.makeTempDirSync();
  const program = '#!/bin/sh\ntest "$1" = --version && echo "9.9.9 (Claude Code)"; exit 1\n';
  Deno.writeTextFileSync(join(bin, "claude"), program, { mode: 0o755 });
  using machine = new Machine(bin);
  const { code, resultLines } = await machine.answer("--agent", "claude-code");
  Deno.removeSync(bin, { recursive: true });
  assert.equal(code, 1);
  assert.match(
    resultLines[0] ?? "",
    /^start failed, null: (Claude Code exited|tmux .* can't find)/,
  );
  assert.equal(machine.verdicts, undefined);
  machine.assertClean();
});

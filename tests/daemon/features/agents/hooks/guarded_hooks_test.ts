/** The hooks after tool calls, as `sh` runs them: they start `mesh` only if the marker exists. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { hooks as claudeCode } from "../../../../../daemon/features/agents/claude_code/setup.ts";
import { hooks as codex } from "../../../../../daemon/features/agents/codex/setup.ts";
import { hooks as copilot } from "../../../../../daemon/features/agents/copilot/setup.ts";
import { hooks as gemini } from "../../../../../daemon/features/agents/gemini/setup.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import { type Env, markerPath, statePath } from "../../../../../daemon/host/paths.ts";

const INSTALLERS = { "claude-code": claudeCode, codex, gemini, copilot };
const GUARDED: Readonly<Record<keyof typeof INSTALLERS, readonly string[]>> = {
  "claude-code": ["PostToolBatch"],
  codex: ["PostToolUse", "PostModelRequest"],
  gemini: ["AfterTool"],
  copilot: ["postToolUse"],
};
const AGENTS = Object.keys(INSTALLERS) as (keyof typeof INSTALLERS)[];

/** A folder with a `mesh` in a path with a space, which writes down how it was called. */
class Machine implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-guard-" });
  readonly mesh = join(this.dir, "my tools/mesh");

  constructor() {
    Deno.mkdirSync(dirname(this.mesh));
    const script = `#!/bin/sh\necho "$MESH_AGENT_PID $*" >> '${this.dir}/calls'\n`;
    Deno.writeTextFileSync(this.mesh, script, { mode: 0o700 });
  }

  get calls(): string[] {
    try {
      return Deno.readTextFileSync(`${this.dir}/calls`).trimEnd().split("\n");
    } catch {
      return [];
    }
  }

  mark(agent: string, env: Env): void {
    const path = markerPath(statePath(env), agent);
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, "");
  }

  /** The commands of an agent's settings, by their event. */
  commandsOf(agent: keyof typeof INSTALLERS): Map<string, string> {
    const { hooks } = JSON.parse(
      JSON.stringify(INSTALLERS[agent].install({}, planOf([this.mesh]))),
    );
    return new Map(
      Object.entries<Record<string, unknown>[]>(hooks).map(([event, [entry]]) => {
        const found = JSON.stringify(entry).match(/"(?:command|bash)":("(?:[^"\\]|\\.)*\s[^"]*?")/);
        return [event, JSON.parse(found?.[1] ?? '""')];
      }),
    );
  }

  run(command: string, env: Env): void {
    const path = { PATH: "/usr/bin:/bin" };
    const { code, stdout, stderr } = new Deno.Command("sh", {
      args: ["-c", command],
      env: { ...path, ...env },
      clearEnv: true,
    }).outputSync();
    assert.deepEqual([code, stdout.length, stderr.length], [0, 0, 0], command);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("a hook after a tool call starts nothing unless its agent's marker exists", () => {
  for (const agent of AGENTS) {
    using machine = new Machine();
    const env = { MESH_STATE: `${machine.dir}/the state` };
    const commands = machine.commandsOf(agent);
    const run = () =>
      GUARDED[agent].forEach((event) => machine.run(commands.get(event) ?? "", env));
    run();
    for (const other of AGENTS) if (other !== agent) machine.mark(other, env);
    run();
    assert.equal(machine.calls.length, 0);
    machine.mark(agent, env);
    run();
    const calls = machine.calls.map((call) => call.replace(/^\d* /, ""));
    assert.deepEqual(calls, GUARDED[agent].map((event) => `hook ${agent} ${event}`));
  }
});

Deno.test("only the hooks within a turn are guarded", () => {
  using machine = new Machine();
  for (const agent of AGENTS) {
    const guarded = [...machine.commandsOf(agent)]
      .flatMap(([event, command]) => command.includes("[ ! -e") ? [event] : []);
    assert.deepEqual(guarded, GUARDED[agent]);
  }
});

Deno.test("the hook finds the marker where the daemon makes it", () => {
  for (const variables of [["MESH_STATE"], ["XDG_STATE_HOME"], ["HOME"], ["HOME", "MESH_STATE"]]) {
    using machine = new Machine();
    const env = Object.fromEntries(variables.map((name) => [name, `${machine.dir}/at ${name}`]));
    machine.mark("claude-code", env);
    machine.run(machine.commandsOf("claude-code").get("PostToolBatch") ?? "", env);
    assert.equal(machine.calls.length, 1, variables.join());
  }
});

Deno.test("a hook of an agent without a variable for its pid passes on its shell's parent", () => {
  using machine = new Machine();
  const env = { MESH_STATE: machine.dir };
  machine.mark("gemini", env);
  machine.run(machine.commandsOf("gemini").get("AfterTool") ?? "", env);
  assert.deepEqual(machine.calls, [`${Deno.pid} hook gemini AfterTool`]);
});

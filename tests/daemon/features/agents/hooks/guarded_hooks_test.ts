/** The command lines of hooks, as `sh` runs them: the script or `mesh`, or nothing. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import {
  hookCommands,
  HOOKED_AGENTS,
  type HookedAgent,
} from "../../../../support/agents/hook_commands.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import { type Env, markerPath, statePath } from "../../../../../daemon/host/paths.ts";

const GUARDED: Readonly<Record<HookedAgent, readonly string[]>> = {
  "claude-code": ["PostToolBatch"],
  codex: ["PostToolUse", "PostModelRequest"],
  gemini: ["AfterTool"],
  copilot: ["postToolUse"],
};

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

  /** Writes a script in place of the hook's own. */
  get script(): string {
    const path = join(this.dir, "my tools/it's a hook");
    const text = `echo "$MESH_AGENT_PID script $1 $$ $LC_ALL" >> '${this.dir}/calls'\n`;
    Deno.writeTextFileSync(path, text);
    return path;
  }

  /** The commands of an agent's settings, by their event. */
  commandsOf(agent: HookedAgent, hook_script?: string): Map<string, string> {
    const script = hook_script === undefined ? {} : { hook_script };
    return hookCommands(agent, planOf([this.mesh], script));
  }

  run(command: string, env: Env): void {
    const path = { PATH: "/usr/bin:/bin" };
    const { code, stdout, stderr } = new Deno.Command("/bin/sh", {
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
  for (const agent of HOOKED_AGENTS) {
    using machine = new Machine();
    const env = { MESH_STATE: `${machine.dir}/the state` };
    const commands = machine.commandsOf(agent);
    const run = () =>
      GUARDED[agent].forEach((event) => machine.run(commands.get(event) ?? "", env));
    run();
    for (const other of HOOKED_AGENTS) if (other !== agent) machine.mark(other, env);
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
  for (const agent of HOOKED_AGENTS) {
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

Deno.test("a hook runs its script in place of its shell, with the shell's parent", async () => {
  for (const agent of HOOKED_AGENTS) {
    using machine = new Machine();
    const env = { MESH_STATE: machine.dir };
    machine.mark(agent, env);
    for (const [event, command] of machine.commandsOf(agent, machine.script)) {
      const shell = new Deno.Command("/bin/sh", {
        args: ["-c", command],
        env: { PATH: "/usr/bin:/bin", ...env },
        clearEnv: true,
      }).spawn();
      assert.equal((await shell.status).code, 0);
      const parent = agent === "gemini" || agent === "copilot" ? Deno.pid : "";
      assert.equal(machine.calls.at(-1), `${parent} script ${event} ${shell.pid} C`);
    }
  }
});

Deno.test("without its script, or without bash, a hook starts mesh", () => {
  for (const agent of HOOKED_AGENTS) {
    using machine = new Machine();
    const env = { MESH_STATE: machine.dir };
    machine.mark(agent, env);
    const script = machine.script;
    const commands = machine.commandsOf(agent, script);
    for (const command of commands.values()) machine.run(command, { ...env, PATH: machine.dir });
    Deno.removeSync(script);
    for (const command of commands.values()) machine.run(command, env);
    const events = [...commands.keys(), ...commands.keys()];
    const calls = machine.calls.map((call) => call.replace(/^\d* /, ""));
    assert.deepEqual(calls, events.map((event) => `hook ${agent} ${event}`));
  }
});

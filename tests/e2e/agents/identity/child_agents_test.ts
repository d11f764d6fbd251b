/**
 * Real Claude Code, Codex and Gemini CLI: each starts each other one, and itself, in its shell. The
 * parent is reached, asked and answers before, meanwhile and after.
 */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import {
  CLAUDE_COMMAND,
  claudeEnvironment,
} from "../../../../daemon/features/agents/claude_code/fixture.ts";
import { claudeScreen } from "../../../../daemon/features/agents/claude_code/claude_code.ts";
import { GEMINI_SETTINGS } from "../../../../daemon/features/agents/gemini/fixture.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { listMessages } from "protocol/messages/log.ts";
import { listPeers, registerPeer } from "protocol/peers/contract.ts";
import { MessagesModel } from "../../../../tools/selftest/model/messages.ts";
import { AgentFixture, type AgentUnderTest } from "../../../support/e2e/agent_harness.ts";
import { prepareGemini, prepareStandaloneCodex } from "../../../support/e2e/agent_setups.ts";
import {
  binOf,
  claudeCode,
  codexCli,
  geminiCli,
  type InstallResult,
} from "../../../support/e2e/installed_agents.ts";
import { ALL_AGENTS, type Lab, withLab } from "../../../support/e2e/lab.ts";
import { ANSWERS } from "../../../support/e2e/model_rules.ts";
import { meshCommand } from "../../../support/programs/program.ts";
import { until } from "../../../support/waiting.ts";

/** A child works until the test has looked at it. */
const HOLDS: ScriptedReply = { match: /^Hold on/, steps: [{ sleep_ms: 9_000 }, { say: "Held" }] };
/** An ask that came within a tool call is answered once the agent is reminded of it. */
const REMINDED: ScriptedReply = {
  match: /^- (ask-[0-9a-f]+) from @\S+: the tool ack/m,
  steps: ANSWERS.steps,
};
const RULES = [HOLDS, REMINDED, ANSWERS];
/** The model of Gemini CLI does not pause; it answers asks without a rule. */
const GEMINI_HOLDS: ScriptedReply = {
  match: /^Hold on/,
  steps: [{ tool: "run_shell_command", args: { command: "sleep 9" } }, { say: "Held" }],
};

const INSTALLED = { "claude-code": claudeCode, codex: codexCli, gemini: geminiCli } as const;
type Agent = keyof typeof INSTALLED;
const AGENTS: readonly Agent[] = ["claude-code", "codex", "gemini"];

/** The prompt by which the model of each agent runs a command line. */
const SHELL: Readonly<Record<Agent, (line: string) => string>> = {
  "claude-code": (command) => `@@TOOL Bash ${JSON.stringify({ command, description: "Runs" })}`,
  codex: (cmd) => `@@TOOL exec_command ${JSON.stringify({ cmd, yield_time_ms: 30_000 })}`,
  gemini: (command) => `@@TOOL run_shell_command ${JSON.stringify({ command })}`,
};

/** The command that starts each agent without a terminal, with its prompt. */
const HEADLESS: Readonly<Record<Agent, string>> = {
  "claude-code": "claude -p 'Hold on'",
  codex: "codex exec --skip-git-repo-check --dangerously-bypass-hook-trust 'Hold on'",
  gemini: "gemini -m gemini-2.5-flash --yolo -p 'Hold on'",
};

const isAck = (tool: string) => tool.endsWith("__ack");

function prepareClaude(lab: Lab): AgentUnderTest {
  lab.write("home/.claude/settings.json", { permissions: { allow: ["Bash", "mcp__mesh"] } });
  const model = new MessagesModel(RULES);
  const env = claudeEnvironment(model.url);
  const [backend, bin] = ["claude-code" as const, binOf(claudeCode)];
  return { backend, bin, command: CLAUDE_COMMAND, env, composer: claudeScreen, model };
}

/** A home in which all three are set up, with the parent in a pane. */
class Family implements AsyncDisposable {
  readonly fixture: AgentFixture;
  readonly #all: AgentUnderTest[] = [];

  constructor(parent: Agent) {
    this.fixture = new AgentFixture((lab) => {
      const codex = prepareStandaloneCodex(lab, binOf(codexCli), RULES);
      const gemini = prepareGemini(lab, binOf(geminiCli), [GEMINI_HOLDS]);
      const tools = { allowed: ["run_shell_command"] };
      lab.write("home/.gemini/settings.json", { ...GEMINI_SETTINGS, tools });
      this.#all.push(prepareClaude(lab), codex, gemini);
      const found = this.#all.find(({ backend }) => backend === parent);
      assert(found);
      const flags = parent === "codex" ? ["--dangerously-bypass-approvals-and-sandbox"] : [];
      return { ...found, command: [...found.command, ...flags] };
    });
  }

  get lab(): Lab {
    return this.fixture.lab;
  }

  async up(): Promise<void> {
    for (const { backend } of this.#all) await this.lab.mesh.setUp({ agent: backend });
    await this.lab.mesh.up({ TMUX: `${this.lab.tmux_socket},1,0` });
    const paths = this.#all.map(({ bin }) => dirname(bin));
    const env = Object.assign({}, this.lab.env, ...this.#all.map(({ env }) => env), {
      PATH: [join(this.lab.dir, "bin"), ...paths, this.lab.env["PATH"]].join(":"),
    });
    const named = Object.entries(env).map(([name, value]) => `export ${name}='${value}'`);
    this.#write("mesh", [`exec ${meshCommand([]).join(" ")} "$@"`]);
    // Agents keep keys and paths of their own from the commands that they run.
    for (const child of AGENTS) {
      this.#write(`start-${child}`, [
        ...named,
        `mesh notify probe 'before ${child}'`,
        `${HEADLESS[child]} > ${this.lab.dir}/${child}.log 2>&1 < /dev/null`,
        `mesh notify probe 'after ${child}'`,
      ]);
    }
    await this.call(registerPeer, { body: { name: "probe", backend: "sdk", path: "/" } });
  }

  get call() {
    return this.fixture.call;
  }

  /** Starts the parent, and waits until its model has the tools of mesh. */
  async start() {
    const { fixture } = this;
    const { backend, model } = fixture.agentUnderTest;
    // Codex reports its session with the first prompt.
    const peer = await fixture.start(...(backend === "codex" ? ["Good morning"] : []));
    if (backend === "gemini") {
      await until("its MCP server", () => fixture.screen.includes("1 MCP server"));
    }
    while (model instanceof MessagesModel && !model.requests.at(-1)?.tools.some(isAck)) {
      const before = model.requests.length;
      await fixture.sendPrompt("@@SAY ready");
      await until("the model", () => model.requests.length > before);
      await until("an empty composer", () => fixture.isEmpty);
    }
    return peer;
  }

  /** Runs a child in the shell of the parent; the parent is asked before, meanwhile and after. */
  async starts(child: Agent, parent: { peer_id: string; pane_id: string | null }): Promise<void> {
    const { fixture } = this;
    await this.isAnswered(parent.peer_id, `before ${child}`);
    await until("an empty composer", () => fixture.isEmpty);
    const line = join(this.lab.dir, "bin", `start-${child}`);
    const { backend } = fixture.agentUnderTest;
    const shell = AGENTS.find((agent) => agent === backend);
    assert(shell);
    await fixture.sendPrompt(SHELL[shell](line), () => !fixture.isEmpty);
    const childPeer = await until(`the child ${child}`, async () => {
      const { peers } = await this.call(listPeers, { query: { subagents: "false" } });
      return peers.find((peer) =>
        peer.backend === child && peer.peer_id !== parent.peer_id && peer.status !== "offline"
      );
    }, 60_000);
    assert.equal(childPeer.pane_id, null, "the child has no pane");
    await this.isInPane(parent, "meanwhile");
    const meanwhile = await fixture.ask(parent.peer_id, `meanwhile ${child}`);
    assert.equal(await this.sender(`before ${child}`), parent.peer_id);
    assert.equal(await this.sender(`after ${child}`), parent.peer_id);
    assert.equal((await fixture.answer(meanwhile)).reply, "Port 8080", "asked meanwhile");
    await until("the child's end", async () => {
      const { peers } = await this.call(listPeers, { query: { subagents: "false" } });
      return peers.find(({ peer_id }) => peer_id === childPeer.peer_id)?.status === "offline";
    });
    await this.isInPane(parent, "after");
    await this.isAnswered(parent.peer_id, `after ${child}`);
    await this.isInPane(parent, "after its answer");
  }

  async isAnswered(peer_id: string, text: string): Promise<void> {
    const { reply } = await this.fixture.answer(await this.fixture.ask(peer_id, text));
    assert.equal(reply, "Port 8080", text);
  }

  async isInPane(
    parent: { peer_id: string; pane_id: string | null },
    when: string,
  ): Promise<void> {
    const { peers } = await this.call(listPeers, { query: {} });
    const found = peers.find(({ peer_id }) => peer_id === parent.peer_id);
    assert.equal(found?.pane_id, parent.pane_id, when);
    assert.notEqual(found?.status, "offline", when);
    assert.notEqual(found?.transport, "none", when);
  }

  /** The sender of the message with this text, once it has arrived. */
  async sender(text: string): Promise<string | null> {
    const message = await until(`the message "${text}"`, async () => {
      const { messages } = await this.call(listMessages, { query: {} });
      return messages.find((message) => message.text === text && message.to_peer_name === "probe");
    }, 60_000);
    return message.from_peer_id;
  }

  #write(name: string, lines: readonly string[]): void {
    const folder = join(this.lab.dir, "bin");
    Deno.mkdirSync(folder, { recursive: true });
    Deno.writeTextFileSync(join(folder, name), ["#!/bin/sh", ...lines, ""].join("\n"), {
      mode: 0o755,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { backend, model } of this.#all) {
      if (backend !== this.fixture.agentUnderTest.backend) await model[Symbol.asyncDispose]();
    }
    await this.fixture[Symbol.asyncDispose]();
  }
}

/** The first reason why an agent cannot be installed; else one of the installed agents. */
function allInstalled(): InstallResult {
  const found = AGENTS.map((agent) => INSTALLED[agent]());
  return found.find((installed) => "reason" in installed) ?? found[0] ?? { reason: "no agents" };
}

for (const parent of ALL_AGENTS ? AGENTS : []) {
  withLab(
    import.meta.url,
    `${parent} starts each agent, and itself, in its shell and stays who it is`,
    async () => {
      await using family = new Family(parent);
      await family.up();
      try {
        const peer = await family.start();
        for (const child of AGENTS) await family.starts(child, peer);
      } catch (error) {
        throw new Error(await family.fixture.evidence(), { cause: error });
      }
    },
    allInstalled,
  );
}

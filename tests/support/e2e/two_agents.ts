/** Claude Code and Codex in two work trees of one repository: each in a pane, on its own model. */

import { join } from "node:path";
import type { Backend } from "protocol/agents/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { until } from "../waiting.ts";
import { type CodexUnderTest, prepareStandaloneCodex } from "./agent_setups.ts";
import { binOf, claudeCode, codexCli } from "./installed_agents.ts";
import { Lab } from "./lab.ts";
import { makeWorkTrees } from "./work_trees.ts";

interface TwoAgentsOptions {
  readonly claude: readonly ScriptedReply[];
  readonly codex: readonly ScriptedReply[];
  /** The first files of the repository. */
  readonly files: Readonly<Record<string, string>>;
}

/** Codex works in the work tree `api`, Claude Code in `web`. */
export class TwoAgents implements AsyncDisposable {
  readonly lab: Lab;
  readonly codex: CodexUnderTest;

  constructor({ claude, codex, files }: TwoAgentsOptions) {
    this.lab = new Lab({
      bare: true,
      permissions: ["mcp__mesh", "Bash"],
      projects: ["api", "web"],
      rules: claude,
    });
    this.codex = prepareStandaloneCodex(this.lab, binOf(codexCli), codex);
    makeWorkTrees(this.lab.dir, files);
  }

  get call() {
    return this.lab.mesh.call;
  }

  /** Sets both up with additional configuration, and starts the daemon. */
  async up(config: Readonly<Record<string, unknown>>): Promise<void> {
    const { lab, codex } = this;
    const commands = {
      "claude-code": [binOf(claudeCode), "--permission-mode", "manual"],
      codex: [codex.bin, ...codex.command.slice(1)],
    };
    const spawn = { commands, allowed_paths: [lab.dir], env: { ...lab.env, ...codex.env } };
    const daemon = { port: 0, circle_boundary: "machine" };
    await lab.mesh.setUp({ config: { daemon, ...config, spawn } });
    await this.startDaemon();
  }

  async startDaemon(more: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.lab.mesh.up({ TMUX: `${this.lab.tmux_socket},1,0`, ...more });
  }

  /** Starts an agent in its work tree, and waits until it has answered its first prompt. */
  async work(name: "api" | "web", message: string): Promise<void> {
    const { dir, tmux_socket } = this.lab;
    const backend: Backend = name === "api" ? "codex" : "claude-code";
    await this.call(spawnPeer, {
      query: { tmux_socket },
      body: { path: join(dir, name), backend, name, message },
    });
    const { model } = name === "api" ? this.codex.model : this.lab;
    await until(`the first turn of ${name}`, async () => {
      const { peers } = await this.call(listPeers, { query: {} });
      const isIdle = peers.find((peer) => peer.name === name)?.turn_state === "idle";
      return isIdle && model.asked(message).length > 0;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.endAgents(); // Before the model of Codex, which it would ask again.
    await this.codex.model[Symbol.asyncDispose]();
    await this.lab[Symbol.asyncDispose]();
  }
}

/** Real agents of the Agent Client Protocol, offline: a home, a model, a daemon, no terminal. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Call } from "kit/http/client.ts";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { listInbox, replyInboxItem } from "protocol/inbox.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { listPeers, listTurns, registerPeer } from "protocol/peers/contract.ts";
import {
  claudeEnvironment,
  claudeFirstStartDone,
} from "../../../daemon/features/agents/claude_code/fixture.ts";
import { codexConfig } from "../../../daemon/features/agents/codex/fixture.ts";
import {
  copilotConfig,
  copilotEnvironment,
} from "../../../daemon/features/agents/copilot/fixture.ts";
import {
  GEMINI_SETTINGS,
  geminiEnvironment,
} from "../../../daemon/features/agents/gemini/fixture.ts";
import {
  OPENCODE_ENVIRONMENT,
  opencodePackage,
  opencodeSettings,
} from "../../../daemon/features/agents/opencode/fixture.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { isAlive, treeOf } from "../../../daemon/host/processes.ts";
import { writeFiles } from "../../../tools/selftest/agent_run.ts";
import { isRemoved } from "../../../tools/selftest/harness.ts";
import { ChatModel } from "../../../tools/selftest/model/chat.ts";
import { GeminiModel } from "../../../tools/selftest/model/gemini.ts";
import { MessagesModel } from "../../../tools/selftest/model/messages.ts";
import { ResponsesModel } from "../../../tools/selftest/model/responses.ts";
import {
  binOf,
  CLAUDE_CODE,
  claudeAgentAcp,
  codexAcp,
  copilotCli,
  copilotUnpacked,
  geminiCli,
  type InstallResult,
  makeRunDir,
  OPENCODE,
  opencodeCli,
  qwenCode,
} from "./installed_agents.ts";
import { denoDir, Mesh, mesh, userEnvironment } from "./programs.ts";
import { until } from "../waiting.ts";

const START_MS = 60_000;

const Models = [ChatModel, GeminiModel, MessagesModel, ResponsesModel] as const;

/** An agent that speaks ACP. */
interface AcpAgent {
  readonly cli: () => InstallResult;
  readonly command: readonly string[];
  /** The agent's name as it gives it itself. */
  readonly name: string;
  readonly Model: typeof Models[number];
  /** The agent that `mesh setup` sets up; all that it finds by default. */
  readonly setup?: "claude-code" | "codex";
  /** Prepares the home of a user who has started the agent before; returns its variables. */
  prepare(dir: string, model_url: string): Readonly<Record<string, string>>;
}

export const GEMINI_ACP: AcpAgent = {
  cli: geminiCli,
  command: ["gemini", "-m", "gemini-2.5-flash", "--experimental-acp"],
  name: "Gemini CLI",
  Model: GeminiModel,
  prepare(dir, model_url) {
    writeFiles({ [join(dir, "home/.gemini/settings.json")]: GEMINI_SETTINGS });
    return geminiEnvironment(model_url);
  },
};

export const OPENCODE_ACP: AcpAgent = {
  cli: opencodeCli,
  command: ["opencode", "acp"],
  name: "OpenCode",
  Model: ChatModel,
  prepare(dir, model_url) {
    const folder = join(dir, "home/.config/opencode");
    writeFiles(opencodePackage(folder, OPENCODE.version));
    writeFiles({ [join(folder, "opencode.json")]: opencodeSettings(model_url) });
    return OPENCODE_ENVIRONMENT;
  },
};

export const COPILOT_ACP: AcpAgent = {
  cli: copilotCli,
  command: ["copilot", "--acp"],
  name: "Copilot",
  Model: ChatModel,
  prepare(dir, model_url) {
    const config = copilotConfig([join(dir, "api")]);
    writeFiles({ [join(dir, "home/.copilot/config.json")]: config });
    Deno.mkdirSync(join(dir, "home/.cache"));
    Deno.symlinkSync(copilotUnpacked(), join(dir, "home/.cache/copilot"));
    return copilotEnvironment(model_url);
  },
};

/** Qwen Code shows tools of MCP servers to its model only without its search for tools. */
export const QWEN_ACP: AcpAgent = {
  cli: qwenCode,
  command: ["qwen", "--acp", "--exclude-tools", "tool_search"],
  name: "Qwen Code",
  Model: ChatModel,
  prepare(dir, model_url) {
    const settings = { security: { auth: { selectedType: "openai" } } };
    writeFiles({ [join(dir, "home/.qwen/settings.json")]: JSON.stringify(settings) });
    return { OPENAI_API_KEY: "none", OPENAI_BASE_URL: model_url, OPENAI_MODEL: "scripted" };
  },
};

export const CLAUDE_ACP: AcpAgent = {
  cli: claudeAgentAcp,
  command: ["claude-agent-acp"],
  name: "Claude",
  setup: "claude-code",
  Model: MessagesModel,
  prepare(dir, model_url) {
    const done = claudeFirstStartDone(CLAUDE_CODE.version, [join(dir, "api")]);
    const settings = { permissions: { defaultMode: "default" } };
    writeFiles({
      [join(dir, "home/.claude.json")]: done,
      [join(dir, "home/.claude/settings.json")]: settings,
    });
    // Its model would have to search for tools first.
    return { ...claudeEnvironment(model_url), ENABLE_TOOL_SEARCH: "false" };
  },
};

export const CODEX_ACP: AcpAgent = {
  cli: codexAcp,
  command: ["codex-acp"],
  name: "Codex",
  setup: "codex",
  Model: ResponsesModel,
  prepare(dir, model_url) {
    const config = codexConfig(model_url, [join(dir, "api")]);
    writeFiles({ [join(dir, "home/.codex/config.toml")]: config });
    // Codex passes only a few variables to its MCP servers; DENO_DIR is not among them.
    Deno.mkdirSync(join(dir, "home/.cache"));
    Deno.symlinkSync(denoDir(), join(dir, "home/.cache/deno"));
    return { SCRIPTED_KEY: "none" };
  },
};

export class AcpLab implements AsyncDisposable {
  readonly dir = makeRunDir();
  readonly model: InstanceType<typeof Models[number]>;
  readonly env: Readonly<Record<string, string>>;
  readonly mesh: Mesh;
  readonly #agent: AcpAgent;
  #running: Deno.ChildProcess | undefined;

  constructor(agent: AcpAgent, rules: readonly ScriptedReply[]) {
    this.#agent = agent;
    this.model = new agent.Model(rules);
    for (const name of ["home", "api", "tmp"]) Deno.mkdirSync(join(this.dir, name));
    const own = agent.prepare(this.dir, this.model.url);
    this.env = { ...userEnvironment(this.dir, binOf(agent.cli)), ...own };
    this.mesh = new Mesh(this);
  }

  get call(): Call {
    return this.mesh.call;
  }

  /**
   * After `mesh setup`, whose hooks must not make the agent a second peer. It may be for another
   * agent only: then the agent has only what the session gives it.
   */
  async up(agent = this.#agent.setup): Promise<void> {
    const config = { human: { name: "sam" } };
    await this.mesh.setUp({ config, ...(agent && { agent }) });
    await this.mesh.up();
    const body = { name: "web", path: "/work/web", backend: "sdk" as const, circle: "default" };
    await this.call(registerPeer, { body });
  }

  /** Starts the agent without a terminal, and returns its peer. */
  async start() {
    const args = ["run", "--acp", "--name", "api", "--", ...this.#agent.command];
    this.#running = mesh(this, args, join(this.dir, "api"));
    const peer = await until("the peer", async () => {
      const found = await this.peer();
      return found?.ws_connected && found.turn_state === "idle" ? found : undefined;
    }, START_MS);
    assert.ok(String(peer.metadata?.["agent"]).startsWith(this.#agent.name));
    return peer;
  }

  async peer() {
    const { peers } = await this.call(listPeers, { query: {} });
    return peers.find(({ backend }) => backend === "acp");
  }

  /** Ends it with a signal, and returns its exit code. */
  async stop(signal: Deno.Signal = "SIGTERM"): Promise<number | undefined> {
    const running = this.#running;
    this.#running = undefined;
    const processes = running ? [...treeOf(running.pid, 100)] : [];
    running?.kill(signal);
    const code = (await running?.status)?.code;
    assert(!processes.some((pid) => isAlive(pid)), "no process of the agent is left");
    return code;
  }

  async ask(text: string): Promise<string> {
    const body = { from_peer: "web", to_peer: "api", text };
    const { correlation_id } = await this.call(openAsk, { body });
    return correlation_id ?? "";
  }

  waitForAnswer(id: string) {
    return until("the answer", async () => {
      const ask = await this.call(getAsk, { params: { id } });
      return ask.state === "closed" ? ask : undefined;
    }, START_MS);
  }

  /** The agent may answer before the report of its first update has arrived. */
  async isSeen(id: string): Promise<void> {
    await until(`${id} to be seen`, async () => {
      const { stages } = await this.call(getTrace, { params: { trace_id: id } });
      return stages.some(({ stage }) => stage === "seen");
    });
  }

  /** The permission request in the human's inbox. */
  permission() {
    return until("the permission request", async () => {
      const { items } = await this.call(listInbox, { query: { unread: "1" } });
      return items.find(({ question }) => question?.scope === "tool_permission");
    }, START_MS);
  }

  async reply(item_id: string, text: string): Promise<void> {
    await this.call(replyInboxItem, { params: { id: item_id }, body: { text } });
  }

  async turns() {
    return (await this.call(listTurns, { params: { id: "api" }, query: {} })).turns;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.mesh.crash();
    await this.model[Symbol.asyncDispose]();
    await until("the last writes of what was ended", () => isRemoved(this.dir));
  }
}

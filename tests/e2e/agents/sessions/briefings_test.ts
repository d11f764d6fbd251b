/**
 * Real agents that have lost their conversation, or whose place another takes: the next request
 * says once who they are, and what they owe and hold. `hooks/compaction_test.ts` has compactions.
 * It is one file, because the losses act on the session whose requests and traces are checked.
 */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import { ackAsk, openAsk } from "protocol/asks/contract.ts";
import { switchPeer } from "protocol/handoffs.ts";
import { listInbox, replyInboxItem } from "protocol/inbox.ts";
import { createJob } from "protocol/jobs/contract.ts";
import { listLeases } from "protocol/holdings/leases.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { getPeer, registerPeer } from "protocol/peers/contract.ts";
import { spawnPeer } from "protocol/spawn/contract.ts";
import { restartPeer } from "protocol/spawn/restarts.ts";
import { forkSession } from "protocol/spawn/sessions.ts";
import { estimateTokens } from "../../../../daemon/features/hooks/tokens.ts";
import { isAlive } from "../../../../daemon/host/processes.ts";
import type { ModelServer } from "../../../../tools/selftest/model/scripted_model.ts";
import { AgentFixture, type AgentUnderTest } from "../../../support/e2e/agent_harness.ts";
import {
  prepareClaude,
  prepareCopilot,
  prepareGemini,
  prepareStandaloneCodex,
} from "../../../support/e2e/agent_setups.ts";
import {
  binOf,
  claudeCode,
  codexCli,
  copilotCli,
  geminiCli,
  type InstallResult,
} from "../../../support/e2e/installed_agents.ts";
import { ALL_AGENTS, type Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

interface AgentWithModel extends AgentUnderTest {
  readonly model: ModelServer;
}

interface Agent {
  readonly title: string;
  readonly install: () => InstallResult;
  readonly prepare: (lab: Lab, bin: string) => AgentWithModel;
  /** The option before its first prompt in a terminal. */
  readonly prompt_option: readonly string[];
  /** The hook that carries its briefings. */
  readonly hook: string;
  /** Shown once it takes prompts after `/clear`: earlier ones would be lost. */
  readonly cleared: RegExp;
  /** The cause that its hook names after `/clear`. */
  readonly cleared_as: string;
}

/** Reads an ask, and leaves it. */
const READS = { match: /<peer-message type="ask"/, steps: [{ say: "I will look into it" }] };

const CLAUDE: Agent = {
  title: "Claude Code",
  install: claudeCode,
  prepare: prepareClaude,
  prompt_option: [],
  hook: "SessionStart",
  cleared: /./,
  cleared_as: "clear",
};
const CODEX: Agent = {
  title: "Codex",
  install: codexCli,
  prepare: (lab, bin) => prepareStandaloneCodex(lab, bin, []),
  prompt_option: [],
  hook: "SessionStart",
  cleared: /./,
  cleared_as: "clear",
};
const GEMINI: Agent = {
  title: "Gemini CLI",
  install: geminiCli,
  prepare: (lab, bin) => prepareGemini(lab, bin, [READS]),
  prompt_option: [],
  hook: "BeforeAgent",
  cleared: /Tips for getting started/,
  cleared_as: "clear",
};
const COPILOT: Agent = {
  title: "Copilot CLI",
  install: copilotCli,
  prepare: (lab, bin) => prepareCopilot(lab, bin, [READS]),
  prompt_option: ["-i"],
  hook: "userPromptSubmitted",
  cleared: /Started a fresh session[^]*MCP Servers reloaded/,
  cleared_as: "new",
};

const START_MS = 60_000;

/** A loss of an agent, up to the prompt with which it goes on. */
interface Loss {
  readonly title: string;
  /** The cause as the trace names it; undefined for `/clear`. */
  readonly cause?: "resume";
  /** Loses the conversation, and submits `prompt` or another prompt, which it returns. */
  run(session: Session, prompt: string): Promise<string>;
}

const CLEAR: Loss = {
  title: "/clear",
  async run({ fixture, agent: { cleared } }, prompt) {
    await fixture.draft("/clear", () => fixture.screen.includes("/clear"));
    await fixture.press("Enter", () => fixture.isEmpty);
    const isCleared = () => !fixture.screen.includes("Soon") && cleared.test(fixture.screen);
    await until("a new session", isCleared);
    await fixture.sendPrompt(prompt);
    return prompt;
  },
};

const RESTART: Loss = {
  title: "mesh restart",
  cause: "resume",
  async run(session, prompt) {
    const { fixture } = session;
    const body = { message: prompt };
    const { outcome } = await fixture.call(restartPeer, { params: { id: "api" }, body });
    assert.equal(outcome, "restarted");
    await fixture.attach((await session.peer()).pane_id ?? "");
    return prompt;
  },
};

const RESUME: Loss = {
  title: "kill -9, and a resumption by hand",
  cause: "resume",
  async run(session, prompt) {
    const { fixture } = session;
    const resumes = await session.resumption();
    await session.kill();
    await fixture.start(...resumes, ...session.agent.prompt_option, prompt);
    return prompt;
  },
};

const WAKE: Loss = {
  title: "kill -9, and a wake by an ask",
  cause: "resume",
  async run(session) {
    const { fixture: { call } } = session;
    await session.kill();
    const text = "Which host?";
    await call(openAsk, { body: { from_peer: "web", to_peer: "api", text } });
    const { item_id } = await until("the question", async () => {
      const { items } = await call(listInbox, { query: {} });
      return items.find(({ question }) => question?.scope === "wake");
    });
    await call(replyInboxItem, { params: { id: item_id }, body: { option_id: "wake" } });
    // The daemon also sends a reminder of the earlier ask, in a turn of its own.
    await session.requestWith("You ended before you had answered");
    return text;
  },
};

/** One agent of the mesh, with debts and holdings of each kind. */
class Session implements AsyncDisposable {
  readonly fixture: AgentFixture<AgentWithModel>;
  readonly #other: AgentWithModel | undefined;
  readonly agent: Agent;
  #owed = "";
  #restated = 0;

  constructor(agent: Agent, other: Agent | undefined) {
    let second: AgentWithModel | undefined;
    this.fixture = new AgentFixture((lab) => {
      second = other?.prepare(lab, binOf(other.install));
      return agent.prepare(lab, binOf(agent.install));
    });
    this.#other = second;
    this.agent = agent;
  }

  async open(): Promise<void> {
    const { lab, agentUnderTest } = this.fixture;
    const agents = [agentUnderTest, ...this.#other ? [this.#other] : []];
    const commands = agents.map(({ backend, bin, command }) => [
      backend,
      [bin, ...command.slice(1)],
    ]);
    const env = agents.reduce((env, agent) => ({ ...env, ...agent.env }), lab.env);
    await lab.mesh.setUp({
      config: {
        asks: { reminders: false },
        human: { name: "sam" },
        jobs: { checks: { tests: { argv: ["true"] } } },
        spawn: { commands: Object.fromEntries(commands), allowed_paths: [lab.dir], env },
        transcripts: "peers",
      },
    });
    await lab.mesh.up({ TMUX: `${lab.tmux_socket},1,0` });
    const { backend } = agentUnderTest;
    const { call, path } = this.fixture;
    const { pane_id } = await call(spawnPeer, {
      query: { tmux_socket: lab.tmux_socket },
      body: { path, backend, name: "api", message: "Begin", leases: ["db"] },
    });
    await this.requestWith("Begin");
    await this.fixture.attach(pane_id ?? "");
    await this.#incur();
  }

  /** The agent reads an ask and an answer, waits for another answer, and has a job for later. */
  async #incur(): Promise<void> {
    const { call } = this.fixture;
    const { circle } = await this.peer();
    await call(registerPeer, { body: { name: "web", path: "/work", backend: "sdk", circle } });
    const asks = async (from_peer: string, to_peer: string, text: string) =>
      (await call(openAsk, { body: { from_peer, to_peer, text } })).correlation_id ?? "";
    const answered = await asks("api", "web", "Which branch?");
    const message = "The branch is main";
    await call(ackAsk, { body: { correlation_id: answered, from_peer: "web", message } });
    await this.requestWith(message);
    this.#owed = await asks("web", "api", "Which port?\nSoon");
    await this.requestWith("Soon");
    await asks("api", "web", "Which database?");
    await call(createJob, {
      body: {
        title: "Mend the test",
        assigned_peer: "api",
        checks: ["tests"],
        due_at: new Date(Date.now() + DAY_MS).toISOString(),
      },
    });
  }

  peer() {
    return this.fixture.call(getPeer, { params: { id: "api" }, query: {} });
  }

  /** The arguments with which a person resumes the session. */
  async resumption(): Promise<readonly string[]> {
    const body = { dry_run: true };
    const { would_run } = await this.fixture.call(restartPeer, { params: { id: "api" }, body });
    return would_run?.slice(this.fixture.agentUnderTest.command.length) ?? [];
  }

  async kill(): Promise<void> {
    const { agent_pid } = await this.peer();
    Deno.kill(agent_pid ?? 0, "SIGKILL");
    await until("its end", async () => {
      return !isAlive(agent_pid ?? 0) && (await this.peer()).status === "offline";
    });
  }

  /** The last request of the turn that a prompt begins. */
  async requestWith(prompt: string, { model } = this.fixture.agentUnderTest): Promise<string> {
    const isAsked = () => model.transcripts().findLast((text) => text.includes(prompt));
    await until(`the request for "${prompt}"`, isAsked, START_MS);
    const isIdle = async () => (await this.peer()).turn_state === "idle";
    await until(`the end of the turn for "${prompt}"`, isIdle, START_MS);
    return isAsked() ?? "";
  }

  /** Loses the conversation, and checks the briefing that follows. */
  async loses(loss: Loss): Promise<void> {
    const { title, cause = this.agent.cleared_as } = loss;
    const request = await this.requestWith(await loss.run(this, `Go on after ${title}`));
    const text = lastBriefing(request);
    assert(text, `${title}: no briefing in ${request}`);
    await this.#isComplete(text, title);
    await this.#isProved(title, cause, this.agent.hook);
    await this.fixture.sendPrompt(`Once more after ${title}`);
    const again = await this.requestWith(`Once more after ${title}`);
    assert.equal(briefings(again).length, briefings(request).length, `${title}: twice`);
  }

  /** The briefing names the holdings of each kind. A lease may have ended with its process. */
  async #isComplete(text: string, title: string): Promise<void> {
    const { leases } = await this.fixture.call(listLeases, {});
    assert.equal(text.includes("You have leased (1):\nlease-"), leases.length > 0, title);
    const parts = [
      /^\[mesh\] You are @api \(peer-[0-9a-f]{12}\) in circle default\. /,
      new RegExp(`^You owe an answer \\([12]\\):\n${this.#owed} @web \\w+: Which port\\?$`, "m"),
      /^Your jobs \(1\):\nwork-[0-9a-f]+ \w+ checks tests: Mend the test$/m,
      /^You wait for an answer \(1\):\nask-[0-9a-f]+ @web \w+: Which database\?$/m,
      /^Results you have had \(1\):\nask-[0-9a-f]+ @web \w+: The branch is main$/m,
    ];
    for (const part of parts) assert.match(text, part, `${title}: ${text}`);
    assert(estimateTokens(text) <= 300, title);
  }

  /** The trace of what is owed shows this briefing, once, and that the model has read it. */
  async #isProved(title: string, cause: string, hook: string): Promise<void> {
    const count = ++this.#restated;
    const stagesNow = async (name: string) => {
      const { stages } = await this.fixture.call(getTrace, { params: { trace_id: this.#owed } });
      return stages.filter(({ stage }) => stage === name).map(({ detail }) => detail);
    };
    const seen = await until(`the proof after ${title}`, async () => {
      const seen = await stagesNow("restated_seen");
      return seen.length === count && seen;
    });
    assert.equal(seen.at(-1), `after ${cause}`, title);
    const given = await stagesNow("restated");
    assert.deepEqual([given.length, given.at(-1)], [count, `after ${cause}, by its hook ${hook}`]);
  }

  /** A copy of the session owes nothing, and its briefing says so. */
  async forks(): Promise<void> {
    const { call, agentUnderTest: { model } } = this.fixture;
    const { circle } = await this.peer();
    const self = { path: "/work", name: "lead", backend: "generic" as const, circle };
    await call(registerPeer, { body: { ...self, agent_pid: Deno.pid } });
    const body = { name: "copy", message: "Go on as a copy", from_peer: "lead" };
    await call(forkSession, { params: { id: "api" }, body });
    const isAsked = () => model.transcripts().find((text) => text.includes("Go on as a copy"));
    const text = lastBriefing(await until("the copy's request", isAsked, START_MS)) ?? "";
    assert.match(
      text,
      /^\[mesh\] You are @copy [^\n]*copy of a session, whose debts are not yours/,
    );
    assert.doesNotMatch(text, /You owe/);
  }

  /** An agent of another vendor in the same place is the same peer, with its debts. */
  async switches(to: Agent): Promise<void> {
    const { call } = this.fixture;
    const other = this.#other;
    assert(other);
    const { backend } = other;
    const body = { backend, note: "Go on in its place", from_peer: "lead" };
    const { outcome } = await call(switchPeer, { params: { id: "api" }, body });
    assert.equal(outcome, "restarted");
    const text = lastBriefing(await this.requestWith("Go on in its place", other)) ?? "";
    await this.#isComplete(text, "switch");
    assert.match(text, /Your session is new\./);
    await this.#isProved("switch", "startup", to.hook);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.lab.endAgents();
    await this.#other?.model[Symbol.asyncDispose]();
    await this.fixture[Symbol.asyncDispose]();
  }
}

const BRIEFING = /\[mesh\] You are @[^\n]*(?:\n<peer-message type="briefing">[^]*?mesh show ID)?/g;

/** The briefings in a request, in their order. Some models show its texts, others all of it. */
function briefings(request: string): string[] {
  const texts: string[] = [];
  const add = (text: string) => {
    // Gemini CLI escapes the context of hooks.
    const plain = text.replaceAll("&lt;", "<").replaceAll("&gt;", ">");
    texts.push(...Array.from(plain.matchAll(BRIEFING), ([found]) => found));
  };
  if (!/^(\{|\[\{)/.test(request)) add(request);
  else JSON.parse(request, (_key, value) => typeof value === "string" ? add(value) : value);
  return texts;
}

function lastBriefing(request: string): string | undefined {
  return briefings(request).at(-1);
}

/** Defines the test of an agent; `other` is of another vendor, and takes its place at the end. */
function testLosses(agent: Agent, losses: readonly Loss[], other?: Agent) {
  const name = `${agent.title} gets one briefing of what it owes after each loss`;
  // Each lab has Claude Code, so the other program is the one to install.
  const install = agent === CLAUDE && other ? other.install : agent.install;
  withLab(import.meta.url, name, async () => {
    await using session = new Session(agent, other);
    try {
      await session.open();
      for (const loss of losses) await session.loses(loss);
      if (other) {
        await session.forks();
        await session.switches(other);
      }
    } catch (error) {
      throw new Error(await session.fixture.evidence(), { cause: error });
    }
  }, install);
}

if (ALL_AGENTS) {
  testLosses(CLAUDE, [CLEAR, RESTART, RESUME, WAKE], CODEX);
  testLosses(CODEX, [CLEAR, RESTART, RESUME, WAKE], CLAUDE);
  testLosses(GEMINI, [CLEAR, RESTART, RESUME]);
  testLosses(COPILOT, [CLEAR, RESTART, RESUME]);
} else testLosses(CLAUDE, [CLEAR]);

/** A real agent in a pane after `mesh setup`, and a daemon that asks it and observes it. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { getAsk, openAsk } from "protocol/asks/contract.ts";
import { listJobs } from "protocol/jobs/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import type { Screen } from "../../../daemon/features/agents/screens.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { type Backend } from "protocol/agents/contract.ts";
import { isAlive } from "../../../daemon/host/processes.ts";
import { binOf, type InstallResult } from "./installed_agents.ts";
import { Lab, withLab } from "./lab.ts";
import { inPane, run, viewOf } from "./programs.ts";
import { retryUntil } from "./typing.ts";
import { until } from "../waiting.ts";

const START_MS = 40_000;
/** Maximum time of a test: much longer than any takes, and shorter than its process may run. */
const TEST_MS_MAX = 5 * 60_000;

/** An agent's facts that the harness uses. */
export interface AgentUnderTest {
  readonly backend: Backend;
  /** The program, and the arguments that start it. */
  readonly bin: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Reader of its composer. */
  readonly composer: Screen;
  /** The scripted model behind it. */
  readonly model: AsyncDisposable;
}

export class AgentFixture<W extends AgentUnderTest = AgentUnderTest> implements AsyncDisposable {
  readonly lab = new Lab({ bare: true });
  readonly agentUnderTest: W;
  readonly #pids: number[] = [];
  #pane = "";

  /** `prepare` writes the home of the agent's user before `mesh setup`. */
  constructor(prepare: (lab: Lab) => W) {
    this.agentUnderTest = prepare(this.lab);
  }

  /** Sets the agent up, and starts the daemon with additional configuration. */
  async up(config: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.lab.mesh.setUp({ agent: this.agentUnderTest.backend, config });
    // A daemon that runs in a pane starts agents in that pane's server.
    await this.lab.mesh.up({ TMUX: `${this.lab.tmux_socket},1,0` });
  }

  /** The environment of the agent. */
  get env(): Record<string, string> {
    const { bin, env } = this.agentUnderTest;
    return { ...this.lab.env, PATH: `${dirname(bin)}:${this.lab.env["PATH"]}`, ...env };
  }

  /** Starts the agent in a window of its own, and waits until it is a peer. */
  async start(...args: string[]) {
    const command = inPane(this.path, this.env, [...this.agentUnderTest.command, ...args]);
    const shown = ["-P", "-F", "#{pane_id} #{pane_pid}"];
    const size = ["-d", "-x", "160", "-y", "50"];
    const [pane_id = "", pid] = this.lab.cli("new-session", ...size, ...shown, ...command)
      .split(" ");
    this.#pids.push(Number(pid));
    return await this.attach(pane_id);
  }

  /** Uses a pane in which the agent is starting. */
  async attach(pane_id: string) {
    this.#pane = pane_id;
    await until("an empty composer", () => this.isEmpty, START_MS);
    const peer = await until("the peer", () => this.peer({ status: "online", pane_id }), START_MS);
    this.#pids.push(peer.agent_pid ?? 0);
    return peer;
  }

  /** The agent's record, if it satisfies the condition. */
  async peer(expected: { status?: string; pane_id?: string; turn_state?: string } = {}) {
    const { peers } = await this.call(listPeers, { query: { subagents: "false" } });
    const { backend } = this.agentUnderTest;
    const criteria = Object.entries({ backend, ...expected });
    return peers.find((peer) => {
      const facts = new Map<string, unknown>(Object.entries(peer));
      return criteria.every(([key, value]) => facts.get(key) === value);
    });
  }

  get path(): string {
    return join(this.lab.dir, "api");
  }

  get screen(): string {
    return this.lab.cli("capture-pane", "-p", "-t", this.#pane);
  }

  /** All panes of the server. */
  panes(): string[] {
    const list = ["-S", this.lab.tmux_socket, "list-panes", "-a", "-F", "#{pane_id}"];
    return run("tmux", list).split("\n").filter(Boolean); // A server ends with its last pane.
  }

  /** The daemon's log, its jobs, and what every pane shows, also those that the daemon opened. */
  async evidence(): Promise<string> {
    const { work } = await this.call(listJobs, { query: {} });
    const { peers } = await this.call(listPeers, { query: {} });
    return [
      Deno.readTextFileSync(join(this.lab.dir, "mesh.log")),
      JSON.stringify({ work, peers }, undefined, 1),
      ...this.panes().map((pane) => this.lab.cli("capture-pane", "-p", "-t", pane)),
    ].join("\n");
  }

  get isEmpty(): boolean {
    return this.agentUnderTest.composer.composerEmpty(viewOf(this.lab, this.#pane)) === true;
  }

  type(...keys: string[]): void {
    this.lab.cli("send-keys", "-t", this.#pane, ...keys);
  }

  /** Leaves a draft in the composer; types it again while the composer stays empty. */
  async draft(text: string, exists = () => this.holds(text)): Promise<void> {
    let typed = false;
    const type = () => {
      if (!typed || this.isEmpty) this.type("-l", "--", text);
      typed = true;
    };
    await retryUntil(this, `"${text}" in the composer`, type, exists);
  }

  /** Types a prompt and submits it; presses Enter again while it stays. */
  async sendPrompt(prompt: string, exists = () => this.holds(prompt)): Promise<void> {
    await this.draft(prompt, exists);
    await this.press("Enter", () => !exists());
  }

  /** Presses a key until the screen satisfies the condition. */
  async press(key: string, done: () => boolean): Promise<void> {
    await retryUntil(this, `${key} to be noticed`, () => this.type(key), done);
  }

  /** Checks that the composer holds exactly this text. */
  holds(text: string): boolean {
    return this.agentUnderTest.composer.composerHolds(viewOf(this.lab, this.#pane), text);
  }

  get call() {
    return this.lab.mesh.call;
  }

  async ask(to_peer: string, text: string): Promise<string> {
    const { correlation_id } = await this.call(openAsk, {
      body: { from_peer: "cli", to_peer, text },
    });
    return correlation_id ?? "";
  }

  /** Waits for the answer of an ask; checks the stages before it. */
  async answer(id: string) {
    const { reply, responder } = await until("the answer", async () => {
      const ask = await this.call(getAsk, { params: { id } });
      return ask.state === "closed" && ask;
    }, START_MS);
    return { reply, responder, stages: await this.stages(id) };
  }

  async stages(trace_id: string): Promise<string[]> {
    const { stages } = await this.call(getTrace, { params: { trace_id } });
    return stages.map(({ stage }) => stage);
  }

  async waitForTurn(turn_state: string): Promise<void> {
    await until(`to be ${turn_state}`, () => this.peer({ turn_state }));
  }

  async waitsFor(id: string, reason: string): Promise<void> {
    await until(`to wait: ${reason}`, async () => {
      const { stages } = await this.call(getTrace, { params: { trace_id: id } });
      return JSON.stringify(stages).includes(reason);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.endAgents();
    await until("the end of the agent", () => !this.#pids.some((pid) => isAlive(pid)));
    await this.agentUnderTest.model[Symbol.asyncDispose]();
    await this.lab[Symbol.asyncDispose]();
  }
}

/** A test with one agent in its harness; skipped where the agent cannot be installed. */
export function withAgentFixture<W extends AgentUnderTest>(
  file: string,
  name: string,
  { agent, prepare, config }: {
    agent: () => InstallResult;
    prepare: (lab: Lab, bin: string) => W;
    config?: (lab: Lab, agentUnderTest: W) => Readonly<Record<string, unknown>>;
  },
  test: (fixture: AgentFixture<W>) => Promise<void>,
): void {
  withLab(file, name, async () => {
    const bin = binOf(agent);
    await using fixture = new AgentFixture((lab) => prepare(lab, bin));
    await fixture.up(config?.(fixture.lab, fixture.agentUnderTest));
    try {
      const passed = await timeout(systemClock, TEST_MS_MAX, test(fixture).then(() => true));
      assert(passed, `The test did not end within ${TEST_MS_MAX / 60_000} minutes`);
    } catch (error) {
      // The runner drops what a quiet test prints.
      throw new Error(await fixture.evidence(), { cause: error });
    }
  }, agent);
}

/** Two real Claude Code sessions and a daemon: one asks, the other answers. */

import assert from "node:assert/strict";
import { getTrace } from "protocol/messages/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { type Claude, inLongForm, Lab, withLab } from "../../support/e2e/lab.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { ANSWERS, ASKS } from "../../support/e2e/model_rules.ts";
import { until } from "../../support/waiting.ts";

const RULES: readonly ScriptedReply[] = [
  ASKS,
  { ...ANSWERS, steps: [{ sleep_ms: 0 }, ...ANSWERS.steps] },
];

/** Two sessions in two panes after `mesh setup`, with their daemon. */
class ClaudeFixture implements AsyncDisposable {
  readonly lab: Lab;

  constructor(rules = RULES) {
    this.lab = new Lab({ rules, bare: true, permissions: ["mcp__mesh"], projects: ["web", "api"] });
  }

  get call() {
    return this.lab.mesh.call;
  }

  /** A session, registered by its own first hook. */
  async startClaude(name: string): Promise<Claude> {
    const claude = await this.lab.claude(name);
    await until(`${name} among the peers`, async () => {
      const { peers } = await this.call(listPeers, { query: {} });
      return peers.some((peer) => peer.name === `${name}-claude-code` && peer.status === "online");
    });
    return claude;
  }

  /** The id of the one ask that has reached the asked session's model. */
  async waitForAsk(): Promise<string> {
    return await until("the ask at the other's model", () => {
      const [request] = this.lab.model.asked('<peer-message type="ask"');
      return /id="(ask-[0-9a-f]+)"/.exec(request?.prompt ?? "")?.[1];
    });
  }

  /** The answer, as the asker's model reads it. */
  async waitForAnswer(): Promise<string> {
    return await until("the answer at the asker's model", () => {
      return this.lab.model.asked('<peer-message type="ack"').at(0)?.prompt;
    });
  }

  async trace(trace_id: string) {
    return await this.call(getTrace, { params: { trace_id } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

/** The stages in order; their times must not go backward. */
function stagesOf({ stages }: Awaited<ReturnType<ClaudeFixture["trace"]>>): string[] {
  const times = stages.map(({ ts }) => Date.parse(ts));
  assert.deepEqual(times, times.toSorted((a, b) => a - b));
  return stages.map(({ stage }) => stage);
}

const ALL_STAGES = ["created", "sent", "seen", "acked", "closed"];

withLab(import.meta.url, "one Claude asks, another answers, and the trace shows it", async () => {
  await using fixture = new ClaudeFixture();
  await fixture.lab.mesh.setUp();
  await fixture.lab.mesh.up();
  const web = await fixture.startClaude("web");
  await fixture.startClaude("api");
  await web.sendPrompt("Ask api-claude-code: Which port do you listen on?");
  const id = await fixture.waitForAsk();
  assert((await fixture.waitForAnswer()).includes("Port 8080"));
  await until("the whole life of the ask", async () => {
    const stages = stagesOf(await fixture.trace(id));
    return ALL_STAGES.every((stage) => stages.includes(stage));
  });
  const stages = stagesOf(await fixture.trace(id));
  assert.deepEqual(stages.filter((stage) => ALL_STAGES.includes(stage)), ALL_STAGES);
});

withLab(import.meta.url, "an ask survives a daemon that is killed before the answer", async () => {
  const rules = RULES.map((rule) => ({
    ...rule,
    steps: rule.steps.map((step) => "sleep_ms" in step ? { sleep_ms: 4_000 } : step),
  }));
  await using fixture = new ClaudeFixture(rules);
  await fixture.lab.mesh.setUp();
  await fixture.lab.mesh.up();
  const web = await fixture.startClaude("web");
  await fixture.startClaude("api");
  await web.sendPrompt("Ask api-claude-code: Which port do you listen on?");
  const id = await fixture.waitForAsk();
  await until("the proof", async () => stagesOf(await fixture.trace(id)).includes("seen"));
  await fixture.lab.mesh.crash();
  await fixture.lab.mesh.up();
  assert(!stagesOf(await fixture.trace(id)).includes("acked"), "killed before the answer");
  assert((await fixture.waitForAnswer()).includes("Port 8080"));
  await until("the whole life of the ask", async () => {
    const stages = stagesOf(await fixture.trace(id));
    return ALL_STAGES.every((stage) => stages.includes(stage));
  });
  const prompts = fixture.lab.model.asked('<peer-message type="ask"');
  assert.equal(prompts.filter(({ results }) => results.length === 0).length, 1, "sent once");
});

inLongForm(withLab)(
  import.meta.url,
  "an agent that cleared its conversation is the same peer",
  async () => {
    await using fixture = new ClaudeFixture();
    await fixture.lab.mesh.setUp();
    await fixture.lab.mesh.up();
    const web = await fixture.startClaude("web");
    const api = await fixture.startClaude("api");
    const first = api.session?.sessionId;
    const peers = async () => (await fixture.call(listPeers, { query: {} })).peers;
    const before = await peers();
    await api.sendPrompt("/clear");
    await until("the new conversation", () => api.isIdle && api.session?.sessionId !== first);
    await web.sendPrompt("Ask api-claude-code: Which port do you listen on?");
    const id = await fixture.waitForAsk();
    assert((await fixture.waitForAnswer()).includes("Port 8080"));
    const { stages } = await fixture.trace(id);
    assert.equal(stages.find(({ stage }) => stage === "attempting")?.detail, "native");
    const ids = (all: typeof before) => all.map(({ peer_id }) => peer_id).sort();
    assert.deepEqual(ids(await peers()), ids(before));
  },
);

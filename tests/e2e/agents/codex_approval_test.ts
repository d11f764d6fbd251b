/** Real Codex asks the human before it runs a gated tool, on every surface. */

import assert from "node:assert/strict";
import { answerAsk } from "protocol/asks/questions.ts";
import { getAsk } from "protocol/asks/contract.ts";
import { replyInboxItem } from "protocol/inbox.ts";
import { codexCli } from "../../support/e2e/installed_agents.ts";
import { type Codex, CodexLab } from "../../support/e2e/codex_lab.ts";
import { inLongForm, withLab } from "../../support/e2e/lab.ts";
import { mustEndThere, waitForQuestion } from "../../support/e2e/question_ends.ts";
import { until } from "../../support/waiting.ts";

const approvalSettings = (timeout_seconds: number) => ({
  human: { name: "sam" },
  approvals: { gated_tools: ["Bash"], timeout_seconds },
});

/** A command outside of the sandbox: Codex asks before it runs one. */
class ApprovalFixture implements AsyncDisposable {
  readonly lab = new CodexLab([], ["api"]);

  async start(timeout_seconds = 60): Promise<Codex> {
    await this.lab.open(approvalSettings(timeout_seconds));
    return await this.lab.startCodex("api");
  }

  get #file(): string {
    return `${this.lab.dir}/made`;
  }

  get fileExists(): boolean {
    try {
      return Deno.statSync(this.#file).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  async asksFor(codex: Codex): Promise<void> {
    const escalated = { sandbox_permissions: "require_escalated", justification: "may I" };
    const call = { cmd: `touch ${this.#file}`, ...escalated };
    await codex.sendPrompt(`@@TOOL exec_command ${JSON.stringify(call)}`);
  }

  /** The question in the human's inbox. */
  question() {
    return waitForQuestion(this.lab.call);
  }

  async expectModelRead(text: string): Promise<void> {
    await until(
      `the model hears "${text}"`,
      () => this.lab.model.requests.some(({ raw }) => raw.includes(text)),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

function test(name: string, body: () => Promise<void>): void {
  withLab(import.meta.url, name, body, codexCli);
}

test("Codex runs a gated tool once the human has allowed it on another surface", async () => {
  await using fixture = new ApprovalFixture();
  const codex = await fixture.start();
  await fixture.asksFor(codex);
  const item = await fixture.question();
  assert.match(item.text, /wants to use Bash: command: "touch /);
  assert.equal(fixture.fileExists, false);
  const params = { id: item.item_id };
  await fixture.lab.call(replyInboxItem, { params, body: { text: "allow" } });
  await until("the file", () => fixture.fileExists);
  await until("the end of the turn", () => codex.isReady);
});

inLongForm(test)(
  "Codex does not run what the human denies on another surface, and the model gets the reason",
  async () => {
    await using fixture = new ApprovalFixture();
    const codex = await fixture.start();
    await fixture.asksFor(codex);
    const { correlation_id } = await fixture.question();
    const decision = { option_id: "deny", message: "Use the trash" };
    await fixture.lab.call(answerAsk, {
      body: { correlation_id: correlation_id ?? "", ...decision },
    });
    await fixture.expectModelRead("Use the trash");
    await until("the end of the turn", () => codex.isReady);
    assert.equal(fixture.fileExists, false);
  },
);

inLongForm(test)("a question without an answer in time is denied to Codex", async () => {
  await using fixture = new ApprovalFixture();
  const codex = await fixture.start(3);
  await fixture.asksFor(codex);
  const { correlation_id } = await fixture.question();
  await fixture.expectModelRead("Nobody answered in time");
  assert.equal(fixture.fileExists, false);
  const params = { id: correlation_id ?? "" };
  assert.equal((await fixture.lab.call(getAsk, { params })).outcome, "denied");
});

test("a turn that is interrupted in the pane ends the question", async () => {
  await using fixture = new ApprovalFixture();
  const codex = await fixture.start();
  await fixture.asksFor(codex);
  const question = await fixture.question();
  const interrupt = () => codex.press("Escape");
  await mustEndThere(fixture.lab.call, question, "denied_there", interrupt);
  assert.equal(fixture.fileExists, false);
});

inLongForm(test)("a permission whose Codex is killed is over", async () => {
  await using fixture = new ApprovalFixture();
  await fixture.lab.open(approvalSettings(60));
  const codex = await fixture.lab.startCodex("api", "--no-daemon");
  await fixture.asksFor(codex);
  const question = await fixture.question();
  const { agent_pid } = await until("the peer", () => fixture.lab.peer("api-codex"));
  assert(agent_pid);
  const kill = () => Deno.kill(agent_pid, "SIGKILL");
  await mustEndThere(fixture.lab.call, question, "ended_there", kill);
  assert.equal(fixture.fileExists, false);
});

inLongForm(test)("when the daemon dies, Codex asks in its pane", async () => {
  await using fixture = new ApprovalFixture();
  const codex = await fixture.start();
  await fixture.asksFor(codex);
  await fixture.question();
  await fixture.lab.mesh.crash();
  const isOpen = () => codex.screen.includes("Would you like to run");
  await until("the dialog", isOpen);
  assert.equal(fixture.fileExists, false);
  await until("the file", () => {
    if (isOpen()) codex.press("Enter");
    return fixture.fileExists;
  });
});

/** Real Codex asks the human before it runs a gated tool, from wherever the human is. */

import assert from "node:assert/strict";
import { answerAsk } from "../../../daemon/features/asks/questions/contract.ts";
import { getAsk } from "../../../daemon/features/asks/contract.ts";
import { listInbox, replyInboxItem } from "../../../daemon/features/inbox/contract.ts";
import { codexCli } from "../../support/e2e/installed_agents.ts";
import { type Codex, CodexLab } from "../../support/e2e/codex_lab.ts";
import { withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/e2e/waiting.ts";

const gating = (timeout_seconds: number) => ({
  human: { name: "sam" },
  approvals: { gated_tools: ["Bash"], timeout_seconds },
});

/** What the model wants to run, outside of the sandbox: Codex asks for that. */
class House implements AsyncDisposable {
  readonly lab = new CodexLab([], ["api"]);

  async start(timeout_seconds = 60): Promise<Codex> {
    await this.lab.open(gating(timeout_seconds));
    return await this.lab.hire("api");
  }

  get #file(): string {
    return `${this.lab.dir}/made`;
  }

  get isMade(): boolean {
    try {
      return Deno.statSync(this.#file).isFile;
    } catch (fault) {
      if (fault instanceof Deno.errors.NotFound) return false;
      throw fault;
    }
  }

  async wants(codex: Codex): Promise<void> {
    const escalated = { sandbox_permissions: "require_escalated", justification: "may I" };
    const call = { cmd: `touch ${this.#file}`, ...escalated };
    await codex.say(`@@TOOL exec_command ${JSON.stringify(call)}`);
  }

  /** The question as the human's inbox has it. */
  async asked() {
    return await until("the question", async () => {
      const { items } = await this.lab.call(listInbox, { query: { unread: "1" } });
      return items.find(({ question }) => question?.scope === "tool_permission");
    });
  }

  async hears(text: string): Promise<void> {
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

test("Codex runs a gated tool once the human has allowed it elsewhere", async () => {
  await using house = new House();
  const codex = await house.start();
  await house.wants(codex);
  const item = await house.asked();
  assert.match(item.text, /wants to use Bash: command: "touch /);
  assert.equal(house.isMade, false);
  const params = { id: item.item_id };
  await house.lab.call(replyInboxItem, { params, body: { text: "allow" } });
  await until("the file", () => house.isMade);
  await until("the end of the turn", () => codex.isReady);
});

test("Codex does not run what the human denies elsewhere, and the model hears why", async () => {
  await using house = new House();
  const codex = await house.start();
  await house.wants(codex);
  const { correlation_id } = await house.asked();
  const said = { option_id: "deny", message: "Use the trash" };
  await house.lab.call(answerAsk, { body: { correlation_id: correlation_id ?? "", ...said } });
  await house.hears("Use the trash");
  await until("the end of the turn", () => codex.isReady);
  assert.equal(house.isMade, false);
});

test("what nobody answers in time is denied to Codex", async () => {
  await using house = new House();
  const codex = await house.start(3);
  await house.wants(codex);
  const { correlation_id } = await house.asked();
  await house.hears("Nobody answered in time");
  assert.equal(house.isMade, false);
  const params = { id: correlation_id ?? "" };
  assert.equal((await house.lab.call(getAsk, { params })).outcome, "denied");
});

test("who breaks the turn off in the pane has ended the question", async () => {
  await using house = new House();
  const codex = await house.start();
  await house.wants(codex);
  const { correlation_id } = await house.asked();
  codex.press("Escape");
  await until("the end of the question", async () => {
    const params = { id: correlation_id ?? "" };
    return (await house.lab.call(getAsk, { params })).close_reason === "cancelled";
  });
  assert.equal(house.isMade, false);
});

test("when the daemon dies, Codex asks in its pane", async () => {
  await using house = new House();
  const codex = await house.start();
  await house.wants(codex);
  await house.asked();
  await house.lab.mesh.crash();
  const isOpen = () => codex.screen.includes("Would you like to run");
  await until("the dialog", isOpen);
  assert.equal(house.isMade, false);
  await until("the file", () => {
    if (isOpen()) codex.press("Enter");
    return house.isMade;
  });
});

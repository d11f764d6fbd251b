/** Real Claude Code asks the human before it runs a gated tool, on every surface. */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { answerAsk } from "protocol/asks/questions.ts";
import { listPeers } from "protocol/peers/contract.ts";
import { listInbox, replyInboxItem } from "protocol/inbox.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { type Claude, inLongForm, Lab, withLab } from "../../support/e2e/lab.ts";
import { mustEndThere, waitForQuestion } from "../../support/e2e/question_ends.ts";
import { until } from "../../support/waiting.ts";

const CONFIG = {
  human: { name: "sam" },
  approvals: { gated_tools: ["Write"], timeout_seconds: 60 },
};

const PRESS_PAUSE_MS = 2_000;

/** A session after `mesh setup`, and a daemon that gates what it writes. */
class ApprovalFixture implements AsyncDisposable {
  readonly lab = new Lab({ bare: true });
  readonly #approvals: Readonly<Record<string, unknown>>;

  constructor(approvals: Readonly<Record<string, unknown>> = {}) {
    this.#approvals = { ...CONFIG.approvals, ...approvals };
  }

  async start(): Promise<Claude> {
    await this.lab.mesh.setUp({ config: { ...CONFIG, approvals: this.#approvals } });
    await this.lab.mesh.up();
    return await this.lab.claude("api");
  }

  get call() {
    return this.lab.mesh.call;
  }

  get file(): string {
    return `${this.lab.dir}/api/made.txt`;
  }

  /** The file that was written; undefined if none was. */
  get fileText(): string | undefined {
    return readTextOrNothing(this.file);
  }

  /** Lets the model call a gated tool; returns the question in the human's inbox. */
  async callGatedTool(claude: Claude) {
    await claude.sendPrompt(`@@TOOL Write {"file_path":"${this.file}","content":"x"}`);
    return await this.question();
  }

  /** The question in the human's inbox. */
  question() {
    return waitForQuestion(this.call);
  }

  /** Answers with Enter or Escape in the pane, until its dialog has gone. */
  async decideInPane(
    claude: Claude,
    key: "Enter" | "Escape",
    dialog = "Do you want to create",
  ): Promise<void> {
    const isShown = () => claude.screen.includes(dialog);
    await until("the dialog", () => isShown() && claude.session?.status === "waiting");
    // A dialog ignores keys at the moment it appears; a second Escape would open another one.
    let pressed_at = 0;
    await until("the end of the dialog", () => {
      const isOpen = isShown();
      if (isOpen && Date.now() - pressed_at > PRESS_PAUSE_MS) {
        claude.press(key);
        pressed_at = Date.now();
      }
      return !isOpen;
    });
  }

  /** Presses Enter as the human, repeatedly: a dialog ignores keys at the moment it appears. */
  async allowedInPane(claude: Claude): Promise<void> {
    const isOpen = () => claude.screen.includes("Do you want to create");
    await until("the dialog", isOpen);
    assert.equal(this.fileText, undefined);
    await until("the file", () => {
      if (isOpen()) claude.press("Enter");
      return this.fileText === "x";
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

withLab(
  import.meta.url,
  "a gated tool runs once the human has allowed it on another surface",
  async () => {
    await using fixture = new ApprovalFixture();
    const claude = await fixture.start();
    const item = await fixture.callGatedTool(claude);
    assert.match(item.text, /wants to use Write: file_path: ".*made\.txt", content: "x"$/);
    assert.equal(fixture.fileText, undefined);
    await fixture.call(replyInboxItem, { params: { id: item.item_id }, body: { text: "allow" } });
    await until("the file", () => fixture.fileText === "x");
    await until("the end of the turn", () => claude.isIdle);
  },
);

withLab(
  import.meta.url,
  "a gated tool that the human denies on another surface does not run",
  async () => {
    await using fixture = new ApprovalFixture();
    const claude = await fixture.start();
    const { correlation_id } = await fixture.callGatedTool(claude);
    const decision = { option_id: "deny", message: "Use the trash" };
    await fixture.call(answerAsk, { body: { correlation_id: correlation_id ?? "", ...decision } });
    await until("the model hears why", () => {
      return fixture.lab.model.requests.some(({ results }) =>
        results.join().includes("Use the trash")
      );
    });
    await until("the end of the turn", () => claude.isIdle);
    assert.equal(fixture.fileText, undefined);
  },
);

withLab(
  import.meta.url,
  "a decision in the pane ends the question everywhere within two seconds, with its outcome",
  async () => {
    await using fixture = new ApprovalFixture();
    const claude = await fixture.start();
    for (
      const [key, outcome, written] of [
        ["Escape", "denied_there", undefined],
        ["Enter", "allowed_there", "x"],
      ] as const
    ) {
      const question = await fixture.callGatedTool(claude);
      await mustEndThere(fixture.call, question, outcome, () => fixture.decideInPane(claude, key));
      await until("the end of the turn", () => claude.isIdle);
      assert.equal(fixture.fileText, written);
    }
  },
);

inLongForm(withLab)(
  import.meta.url,
  "a command that was allowed in the pane is over while it runs",
  async () => {
    await using fixture = new ApprovalFixture({ gated_tools: ["Bash"] });
    const claude = await fixture.start();
    const command = { command: `touch ${fixture.file}; sleep 30`, description: "Waits" };
    await claude.sendPrompt(`@@TOOL Bash ${JSON.stringify(command)}`);
    const question = await fixture.question();
    const decide = () => fixture.decideInPane(claude, "Enter", "Do you want to");
    await mustEndThere(fixture.call, question, "allowed_there", decide);
    assert.equal(claude.session?.status, "busy");
  },
);

inLongForm(withLab)(
  import.meta.url,
  "a permission stays open when its session is resumed in another process",
  async () => {
    await using fixture = new ApprovalFixture();
    const claude = await fixture.start();
    const question = await fixture.callGatedTool(claude);
    await until("the dialog", () => claude.session?.status === "waiting");
    const { lab } = fixture;
    const id = claude.session?.sessionId ?? "";
    const output = await new Deno.Command("claude", {
      args: ["--resume", id, "-p", "@@SAY hello"],
      cwd: `${lab.dir}/api`,
      env: { ...lab.env },
      clearEnv: true,
      stdin: "null",
    }).output();
    assert(output.success, new TextDecoder().decode(output.stderr));
    const params = { id: question.correlation_id ?? "" };
    assert.equal((await fixture.call(getAsk, { params })).state, "open");
    const decide = () => fixture.decideInPane(claude, "Enter");
    await mustEndThere(fixture.call, question, "allowed_there", decide);
    assert.equal(fixture.fileText, "x");
  },
);

withLab(import.meta.url, "a permission whose agent is killed is over", async () => {
  await using fixture = new ApprovalFixture();
  const claude = await fixture.start();
  const question = await fixture.callGatedTool(claude);
  const kill = () => Deno.kill(claude.pid, "SIGKILL");
  await mustEndThere(fixture.call, question, "ended_there", kill);
});

inLongForm(withLab)(import.meta.url, "a question of the agent itself is not gated", async () => {
  await using fixture = new ApprovalFixture({ gated_tools: ["*"] });
  const claude = await fixture.start();
  const options = ["A", "B"].map((label) => ({ label, description: label }));
  const questions = [{ question: "Which?", header: "H", multiSelect: false, options }];
  await claude.sendPrompt(`@@TOOL AskUserQuestion ${JSON.stringify({ questions })}`);
  await until("its dialog", () => claude.session?.status === "waiting");
  await until("the state", async () => {
    const { peers } = await fixture.call(listPeers, { query: {} });
    return peers.some(({ turn_state }) => turn_state === "awaiting_input");
  });
  assert.deepEqual((await fixture.call(listInbox, { query: {} })).items, []);
  await until("the answer", () => {
    if (claude.session?.status === "waiting") claude.press("Enter");
    return claude.isIdle;
  });
  assert(fixture.lab.model.requests.some(({ results }) => results.join().includes('"A"')));
});

inLongForm(withLab)(
  import.meta.url,
  "when the daemon dies, the dialog in the pane stays",
  async () => {
    await using fixture = new ApprovalFixture();
    const claude = await fixture.start();
    await fixture.callGatedTool(claude);
    await fixture.lab.mesh.crash();
    await fixture.allowedInPane(claude);
  },
);

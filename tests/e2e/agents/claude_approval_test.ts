/** Real Claude Code asks the human before it runs a gated tool, on every surface. */

import assert from "node:assert/strict";
import { getAsk } from "../../../daemon/features/asks/contract.ts";
import { answerAsk } from "../../../daemon/features/asks/questions/contract.ts";
import { listInbox, replyInboxItem } from "../../../daemon/features/inbox/contract.ts";
import { readTextOrNothing } from "../../../daemon/host/paths.ts";
import { type Claude, Lab, withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";

const CONFIG = {
  human: { name: "sam" },
  approvals: { gated_tools: ["Write"], timeout_seconds: 60 },
};

/** A session after `mesh setup`, and a daemon that gates what it writes. */
class ApprovalFixture implements AsyncDisposable {
  readonly lab = new Lab({ bare: true });

  async start(): Promise<Claude> {
    await this.lab.mesh.setUp({ config: CONFIG });
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
  get written(): string | undefined {
    return readTextOrNothing(this.file);
  }

  /** Lets the model call a gated tool; returns the question in the human's inbox. */
  async asked(claude: Claude) {
    await claude.sendPrompt(`@@TOOL Write {"file_path":"${this.file}","content":"x"}`);
    return await until("the question", async () => {
      const { items } = await this.call(listInbox, { query: { unread: "1" } });
      return items.find(({ question }) => question?.scope === "tool_permission");
    });
  }

  /** Presses Enter as the human, repeatedly: a dialog ignores keys at the moment it appears. */
  async allowedInPane(claude: Claude): Promise<void> {
    const isOpen = () => claude.screen.includes("Do you want to create");
    await until("the dialog", isOpen);
    assert.equal(this.written, undefined);
    await until("the file", () => {
      if (isOpen()) claude.press("Enter");
      return this.written === "x";
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
    const item = await fixture.asked(claude);
    assert.match(item.text, /wants to use Write: file_path: ".*made\.txt", content: "x"$/);
    assert.equal(fixture.written, undefined);
    await fixture.call(replyInboxItem, { params: { id: item.item_id }, body: { text: "allow" } });
    await until("the file", () => fixture.written === "x");
    await until("the end of the turn", () => claude.isIdle);
  },
);

withLab(
  import.meta.url,
  "a gated tool that the human denies on another surface does not run",
  async () => {
    await using fixture = new ApprovalFixture();
    const claude = await fixture.start();
    const { correlation_id } = await fixture.asked(claude);
    const decision = { option_id: "deny", message: "Use the trash" };
    await fixture.call(answerAsk, { body: { correlation_id: correlation_id ?? "", ...decision } });
    await until("the model hears why", () => {
      return fixture.lab.model.requests.some(({ results }) =>
        results.join().includes("Use the trash")
      );
    });
    await until("the end of the turn", () => claude.isIdle);
    assert.equal(fixture.written, undefined);
  },
);

withLab(import.meta.url, "an answer in the pane ends the question", async () => {
  await using fixture = new ApprovalFixture();
  const claude = await fixture.start();
  const { correlation_id } = await fixture.asked(claude);
  await fixture.allowedInPane(claude);
  await until("the end of the question", async () => {
    const params = { id: correlation_id ?? "" };
    return (await fixture.call(getAsk, { params })).close_reason === "cancelled";
  });
});

withLab(import.meta.url, "when the daemon dies, the dialog in the pane stays", async () => {
  await using fixture = new ApprovalFixture();
  const claude = await fixture.start();
  await fixture.asked(claude);
  await fixture.lab.mesh.crash();
  await fixture.allowedInPane(claude);
});

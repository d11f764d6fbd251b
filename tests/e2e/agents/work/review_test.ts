/** Real Claude Code repairs a line that a person has commented on, and the person accepts it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { getAsk } from "protocol/asks/contract.ts";
import { getTrace } from "protocol/messages/contract.ts";
import { listPeers } from "protocol/peers/contract.ts";
import type { ReviewDetail } from "protocol/reviews/contract.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { jsonAtTerminal, runAtTerminal } from "../../../support/e2e/person_terminal.ts";
import { makeWorkTrees } from "../../../support/e2e/work_trees.ts";
import { until } from "../../../support/waiting.ts";

const LINE = "export const port = 80;";

const bash = (command: string): ScriptedReply["steps"][number] => ({
  tool: "Bash",
  args: { command, description: "Changes the file" },
});

const RULES: readonly ScriptedReply[] = [
  {
    match: /: Review comment[^]*correlation_id="(ask-[0-9a-f]+)"/,
    steps: [
      bash("sed -i s/80/8080/ port.ts"),
      { tool: "ack", args: { correlation_id: "$1", message: "A typo. It is 8080 now" } },
      { say: "Repaired" },
    ],
  },
  {
    match: /: Write the port[^]*correlation_id="(ask-[0-9a-f]+)"/,
    steps: [
      bash(`echo '${LINE}' >> port.ts`),
      { tool: "ack", args: { correlation_id: "$1", message: "It is written" } },
      { say: "Written" },
    ],
  },
];

/** Claude Code in a work tree of its own, and a person at a terminal. */
class ReviewFixture implements AsyncDisposable {
  readonly lab = new Lab({
    rules: RULES,
    bare: true,
    permissions: ["mcp__mesh", "Bash"],
    projects: ["api", "web"],
  });
  #name = "";

  async up(): Promise<void> {
    const { lab } = this;
    makeWorkTrees(lab.dir, { "port.ts": "export const host = 'localhost';\n" });
    await lab.mesh.setUp({
      config: { human: { name: "sam" }, spawn: { allowed_paths: [lab.dir] } },
    });
    await lab.mesh.up();
    await (await lab.claude("web")).waitForTools();
    this.#name = (await until("Claude Code among the peers", () => this.#peer("online"))).name;
  }

  async #peer(status: string) {
    const { peers } = await this.lab.mesh.call(listPeers, { query: {} });
    return peers.find((peer) => peer.backend === "claude-code" && peer.status === status);
  }

  async answered(id: string) {
    return await until(`the answer of ${id}`, async () => {
      const found = await this.lab.mesh.call(getAsk, { params: { id } });
      return found.state === "closed" && found;
    });
  }

  /** The review, once the agent is not at work any more. */
  async ready(): Promise<ReviewDetail> {
    return await until("a review that is ready", async () => {
      const found: ReviewDetail = await this.review();
      return found.review.state === "ready" && found;
    });
  }

  /** `mesh review` of the agent, with further arguments, at the person's terminal. */
  review(...args: string[]) {
    return jsonAtTerminal(this.lab, ["review", this.#name, ...args]);
  }

  /** `mesh review --accept` of the diff with a digest. */
  accept(digest: string | null) {
    return runAtTerminal(this.lab, ["review", `${this.#name}:${digest}`, "--accept"]);
  }

  async ask(text: string): Promise<string> {
    return (await jsonAtTerminal(this.lab, ["ask", this.#name, text])).correlation_id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

withLab(
  import.meta.url,
  "Claude Code reads a comment on a line and repairs it, and the new diff alone is accepted",
  async () => {
    await using fixture = new ReviewFixture();
    const { lab } = fixture;
    await fixture.up();
    const task = await fixture.ask("Write the port");
    await fixture.answered(task);
    const before = await fixture.ready();
    assert.equal(before.review.task?.id, task);
    assert.deepEqual(before.changes.files[0]?.hunks?.[0]?.lines.at(-1), `+${LINE}`);

    const sent = await fixture.review("--comment", "port.ts:2", "Why 80?");
    const [id = ""] = sent.correlation_ids;
    assert.equal((await fixture.answered(id)).reply, "A typo. It is 8080 now");
    const { stages } = await lab.mesh.call(getTrace, { params: { trace_id: id } });
    assert(stages.some(({ stage }) => stage === "seen"), JSON.stringify(stages));
    const [prompt] = lab.model.asked(`id="${id}"`);
    assert.match(prompt?.prompt ?? "", /port\.ts line 2:\s+> export const port = 80;\s+Why 80\?/);
    const repaired = Deno.readTextFileSync(join(lab.dir, "web", "port.ts"));
    assert.match(repaired, /port = 8080;\n$/);

    const after = await fixture.ready();
    assert.equal(after.changes.files[0]?.hunks?.[0]?.lines.at(-1), "+export const port = 8080;");
    const [comment] = after.comments;
    assert.deepEqual(
      [comment?.line_text, comment?.now.state, comment?.ask_state, comment?.reply],
      [LINE, "gone", "closed", "A typo. It is 8080 now"],
    );
    assert(comment?.seen_at, "the proof that the agent has read it");
    assert.deepEqual(after.review.comments, { sent: 1, answered: 1 });
    assert.notEqual(after.review.digest, before.review.digest);
    const old = await fixture.accept(before.review.digest);
    assert.equal(old.code, 1);
    assert.match(old.text, /not accepted: The changes of .* are others now/);
    const accept = await fixture.accept(after.review.digest);
    assert.equal(accept.code, 0, accept.text);
    const accepted: ReviewDetail = await fixture.review();
    assert.deepEqual(
      [accepted.review.state, accepted.review.decision?.by, accepted.review.decision?.is_current],
      ["accepted", "sam", true],
    );
    assert.equal(accepted.review.digest, after.review.digest);
  },
);

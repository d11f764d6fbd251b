/**
 * Real agents: an app at a relay asks Claude Code, which asks Codex, which writes a line and
 * commits it. `mesh blame` leads from the line back to the app.
 */

import assert from "node:assert/strict";
import { getAsk } from "protocol/asks/contract.ts";
import { replyInboxItem } from "protocol/inbox.ts";
import type { Blame } from "protocol/origins/blame.ts";
import type { ScriptedReply } from "../../../../daemon/features/agents/selftest/fixture.ts";
import { codexCli } from "../../../support/e2e/installed_agents.ts";
import { inLongForm, withLab } from "../../../support/e2e/lab.ts";
import { jsonAtTerminal } from "../../../support/e2e/person_terminal.ts";
import { waitForQuestion } from "../../../support/e2e/question_ends.ts";
import { connectApp, WholeRelay } from "../../../support/e2e/relay_apps_lab.ts";
import { NAMESPACE, SECRET } from "../../../support/e2e/relay_lab.ts";
import { TwoAgents } from "../../../support/e2e/two_agents.ts";
import { until } from "../../../support/waiting.ts";

const ASK = /<peer-message type="ask" id="(ask-[0-9a-f]+)"/;
/** Outside of its sandbox Codex asks for permission, and the sandbox protects `.git`. */
const ESCALATED = { sandbox_permissions: "require_escalated", justification: "may I commit" };

const CLAUDE_RULES: readonly ScriptedReply[] = [{
  match: ASK,
  steps: [
    { tool: "ask", args: { peer: "api", message: "Write the port", prove: ["written"] } },
    { tool: "ack", args: { correlation_id: "$1", message: "Codex writes it" } },
    { say: "Passed on" },
  ],
}];
const CODEX_RULES: readonly ScriptedReply[] = [{
  match: ASK,
  steps: [
    {
      tool: "exec_command",
      args: {
        cmd: "echo 'export const port = 8080;' >> port.ts && git commit -am 'Add the port'",
        ...ESCALATED,
      },
    },
    { tool: "ack", args: { correlation_id: "$1", message: "It is committed" } },
    { say: "Written" },
  ],
}];

/** An app that has asked an agent at a real relay; returns the id of its ask. */
async function askAsApp(relay: WholeRelay, name: string): Promise<string> {
  const daemon_id = await until("the tunnel", () => {
    return relay.relay.machines.list(NAMESPACE)[0]?.daemon_id;
  });
  await using app = await connectApp(relay.issuer, "Builder");
  const { agents } = (await app.call("list_agents", { daemon_id })).data;
  assert(Array.isArray(agents));
  const { peer_id } = agents.find((agent) => agent.display_name === name);
  const asked = await app.call("ask_agent", { daemon_id, peer_id, message: "Build the port" });
  return String(asked.data["request_id"]);
}

inLongForm(withLab)(
  import.meta.url,
  "a line of Codex leads over Claude Code back to the app that asked for it",
  async () => {
    await using relay = new WholeRelay();
    const files = { "port.ts": "export const host = 'localhost';\n" };
    await using fixture = new TwoAgents({ claude: CLAUDE_RULES, codex: CODEX_RULES, files });
    const { lab } = fixture;
    await fixture.up({
      human: { name: "sam" },
      approvals: { gated_tools: ["Bash"] },
      jobs: { checks: { written: { argv: ["grep", "-q", "8080", "port.ts"], files: [] } } },
      relay: { enabled: true, url: relay.issuer, secret: SECRET },
    });
    await fixture.work("web", "@@SAY ready");
    await fixture.work("api", "@@SAY ready");
    const first = await askAsApp(relay, "web");
    const item = await waitForQuestion(fixture.call);
    assert.match(item.text, /git commit/);
    await fixture.call(replyInboxItem, { params: { id: item.item_id }, body: { text: "allow" } });
    const second = await until("the ask at Codex's model", () => {
      return ASK.exec(fixture.codex.model.model.asked('type="ask"')[0]?.prompt ?? "")?.[1];
    });
    await until("the checked answer", async () => {
      return (await fixture.call(getAsk, { params: { id: second } })).state === "closed";
    });
    const found: Blame = await jsonAtTerminal(lab, ["blame", "port.ts:2"], "api");
    const links = found.lines[0]?.links ?? [];
    assert.deepEqual(
      links.map(({ kind, how, name, id }) => [kind, how, kind === "message" ? id : name]),
      [
        ["commit", "git", "sam"],
        ["agent", "reported", "api"],
        ["approval", "recorded", "sam"],
        ["message", "reported", second],
        ["check", "recorded", "written"],
        ["message", "recorded", first],
        ["origin", "recorded", links.at(-1)?.name],
      ],
      JSON.stringify(found, null, 1),
    );
    assert.match(links.at(-1)?.text ?? "", /^app mcp-/);
    assert.match(links[1]?.text ?? "", /, in its session [0-9a-f-]{36} \(codex\)$/);
    const said = links.filter(({ kind }) => kind === "approval" || kind === "check");
    assert.deepEqual(said.map(({ text }) => text), [
      "Bash: allowed",
      "check: verified; its author changed files that define it",
    ]);
  },
  codexCli,
);

/** Real Codex on its shared server: it asks, is asked in every state, answers, and is resumed. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { codexAdapter } from "../../../daemon/features/agents/codex/codex.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { getPeer } from "protocol/peers/contract.ts";
import { openAsk } from "protocol/asks/contract.ts";
import { TmuxServers } from "../../../daemon/host/tmux/tmux.ts";
import { SEARCH_PATH, silent } from "../../support/host/private_tmux.ts";
import { codexCli } from "../../support/e2e/installed_agents.ts";
import { CodexLab, sessionIds } from "../../support/e2e/codex_lab.ts";
import { inLongForm, withLab } from "../../support/e2e/lab.ts";
import { ANSWERS, ASKS } from "../../support/e2e/model_rules.ts";
import { until } from "../../support/waiting.ts";

const DELEGATED: ScriptedReply = {
  match: /^Delegate it/,
  steps: [{ tool: "spawn_agent", args: { message: "Look inside" } }, { say: "Delegated" }],
};
const RULES = [ASKS, ANSWERS, DELEGATED];

function test(name: string, body: () => Promise<void>): void {
  withLab(import.meta.url, name, body, codexCli);
}

/** A program asks a session; returns the id. */
async function askFor(lab: CodexLab, to_peer: string): Promise<string> {
  const body = { from_peer: "script", to_peer, text: "Which port?", bypass_circle: true };
  const { correlation_id } = await lab.call(openAsk, { body });
  return correlation_id ?? "";
}

/** Waits until the model has a prompt: its hook, which hands over what waits, has run before. */
async function atWork(lab: CodexLab, prompt: string): Promise<void> {
  await until("the prompt at the model", () => lab.model.asked(prompt).length > 0);
  await until("the turn", async () => (await lab.peer("api-codex"))?.turn_state === "working");
}

async function reaches(lab: CodexLab, id: string, ...stages: string[]): Promise<void> {
  for (const stage of stages) {
    await until(`${stage} of ${id}`, () => lab.has(id, stage)).catch(async (error) => {
      throw new Error(`${error.message}: ${JSON.stringify(await lab.stages(id))}`);
    });
  }
}

test("a Codex asks, another on the same server answers, each by its own name", async () => {
  await using lab = await new CodexLab(RULES, ["web", "api"]).open();
  const web = await lab.startCodex("web");
  await lab.startCodex("api");
  const [asker, asked] = [await lab.peer("web-codex"), await lab.peer("api-codex")];
  assert.deepEqual([asker?.pane_id, asked?.pane_id], [null, null], "the first pane is no proof");
  assert.deepEqual([asker?.transport, asked?.model], ["native", "scripted"]);
  await web.sendPrompt("Ask api-codex: Which port do you listen on?");
  const prompt = await until("the ask at the other's model", () => {
    return lab.model.asked('<peer-message type="ask"').at(0)?.prompt;
  });
  assert.match(prompt, /from="@web-codex"/);
  const id = /id="(ask-[0-9a-f]+)"/.exec(prompt)?.[1] ?? "";
  const answer = await until("the answer at the asker's model", () => {
    return lab.model.asked('<peer-message type="ack"').at(0)?.prompt;
  });
  assert(answer.includes("Port 8080") && answer.includes('from="@api-codex"'), answer);
  await reaches(lab, id, "accepted", "seen", "acked", "closed");
  const tried = (await lab.stages(id)).filter(({ stage }) => stage === "attempting");
  assert.deepEqual(tried, [{ stage: "attempting", detail: "native" }]);
});

inLongForm(test)("a busy Codex queues an ask, and reads it after the turn", async () => {
  await using lab = await new CodexLab(RULES, ["api"]).open();
  const api = await lab.startCodex("api");
  await api.sendPrompt("@@SLEEP 3000");
  await atWork(lab, "@@SLEEP 3000");
  const id = await askFor(lab, "api-codex");
  await reaches(lab, id, "accepted");
  assert(!await lab.has(id, "seen"), "the turn goes on");
  await reaches(lab, id, "seen", "acked");
});

test("Codex reads what it has queued after its human interrupts the turn", async () => {
  await using lab = await new CodexLab(RULES, ["api"]).open();
  const api = await lab.startCodex("api");
  await api.sendPrompt("@@SLEEP 8000");
  await atWork(lab, "@@SLEEP 8000");
  const id = await askFor(lab, "api-codex");
  await reaches(lab, id, "accepted");
  api.press("Escape");
  await reaches(lab, id, "seen", "acked");
});

test("at a dialog an ask waits in our queue, and no dialog is answered", async () => {
  await using lab = await new CodexLab(RULES, ["api"]).open();
  const api = await lab.startCodex("api");
  const file = `${lab.dir}/made`;
  const escalated = { sandbox_permissions: "require_escalated", justification: "may I" };
  await api.sendPrompt(
    `@@TOOL exec_command ${JSON.stringify({ cmd: `touch ${file}`, ...escalated })}`,
  );
  await until("the dialog", () => api.screen.includes("Would you like to run"));
  await until("its news", async () => {
    return (await lab.peer("api-codex"))?.turn_state === "awaiting_input";
  });
  const id = await askFor(lab, "api-codex");
  const refusal = await until("a refusal", async () => {
    return (await lab.stages(id)).find(({ detail }) => detail?.includes("dialog_open"));
  });
  assert(refusal);
  assert(api.screen.includes("Would you like to run"));
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
  api.press("Escape");
  await reaches(lab, id, "accepted", "seen", "acked");
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
});

inLongForm(test)("a draft stays as it is", async () => {
  await using lab = await new CodexLab(RULES, ["api"]).open();
  const api = await lab.startCodex("api");
  lab.cli("send-keys", "-t", api.pane_id, "-l", "half a thought");
  await until("the draft", () => api.screen.includes("› half a thought"));
  await reaches(lab, await askFor(lab, "api-codex"), "seen", "acked");
  await until("the draft, still", () => api.screen.includes("› half a thought"));
  assert(!lab.model.requests.some(({ raw }) => raw.includes("half a thought")));
});

// Codex unloads a session a minute after its last terminal left.
inLongForm(test)(
  "a session that was left is offline, and is the same peer once it is resumed",
  async () => {
    await using lab = await new CodexLab(RULES, ["api"]).open();
    const api = await lab.startCodex("api");
    const before = await lab.peer("api-codex");
    await using tmuxServers = new TmuxServers({
      clock: systemClock,
      ids: randomIds,
      log: silent,
      state_dir: lab.dir,
      search_path: SEARCH_PATH,
    });
    const ctx = { clock: systemClock, log: silent };
    const options = {
      ...ctx,
      terminalServers: tmuxServers,
      env: lab.env,
    };
    const adapter = codexAdapter({ ...options, codex_home: lab.codex_home });
    const path = `${lab.dir}/api`;
    const [runtime_session_id = ""] = sessionIds(lab);
    const resume = await adapter.resume?.({ runtime_session_id, path });
    assert(resume?.ok, JSON.stringify(resume));
    await api.sendPrompt("/quit");
    const timeout_ms = 120_000; // Codex unloads a session a minute after its last terminal left.
    const offline = async () => (await lab.peer("api-codex"))?.status === "offline";
    await until("its end", offline, timeout_ms);
    const id = await askFor(lab, "api-codex");
    await lab.start("api", ...resume.args);
    await reaches(lab, id, "accepted", "seen", "acked");
    assert.equal((await lab.peer("api-codex"))?.peer_id, before?.peer_id);
  },
);

inLongForm(test)(
  "without the shared server an ask is typed into the session's own pane",
  async () => {
    await using lab = await new CodexLab(RULES, ["api"]).open();
    const api = await lab.startCodex("api", "--no-daemon");
    const peer = await lab.peer("api-codex");
    assert.deepEqual([peer?.pane_id, peer?.transport], [api.pane_id, "pane"]);
    const id = await askFor(lab, "api-codex");
    await reaches(lab, id, "seen", "acked");
    const tried = (await lab.stages(id)).filter(({ stage }) => stage === "attempting");
    assert.equal(tried.at(-1)?.detail, "pane");
    await until("the end of the turn", async () => {
      return (await lab.peer("api-codex"))?.turn_state === "idle";
    });
    await api.sendPrompt("Delegate it");
    const child = await until("the end of a subagent", async () => {
      const { children } = await lab.call(getPeer, { params: { id: "api-codex" }, query: {} });
      return children[0]?.status === "offline" && children[0];
    });
    assert.equal(child.name, "api-codex.default-1");
    await until("the end of the turn", async () => {
      return (await lab.peer("api-codex"))?.turn_state === "idle";
    });
    await api.sendPrompt("/quit");
    await until("its end", async () => (await lab.peer("api-codex"))?.status === "offline");
  },
);

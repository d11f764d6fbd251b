/** Real Claude Code in a private tmux: the native transport delivers, and touches nothing else. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { AgentPeer, OutgoingMessage } from "../../../daemon/features/agents/adapter.ts";
import { claudeCodeAdapter } from "../../../daemon/features/agents/claude_code/claude_code.ts";
import { startTimeOf } from "../../../daemon/host/processes.ts";
import { TmuxServers } from "../../../daemon/host/tmux/tmux.ts";
import { SEARCH_PATH, silent } from "../../support/host/private_tmux.ts";
import { type Claude, Lab, withLab } from "../../support/e2e/lab.ts";
import { until } from "../../support/waiting.ts";

const ID = "ask-3f9c04d1a2b7";
const FRAME = `[mesh] <peer-message type="ask" id="${ID}" from="@web-codex" circle="main">`;

function outgoingMessage(text: string, human = false): OutgoingMessage {
  const framed = human ? `[mesh] @sam → @api: ${text} (${ID})` : `${FRAME}${text}</peer-message>`;
  return { delivery_id: "dlv-1", proof_id: ID, kind: "ask", human, framed };
}

function addressee({ tmux_socket }: Lab, { pane_id, pid, session }: Claude): AgentPeer {
  return {
    peer_id: "peer-1",
    backend: "claude-code",
    tmux_socket,
    pane_id,
    agent_pid: pid,
    agent_started: startTimeOf(pid) ?? null,
    runtime_session_id: session?.sessionId ?? null,
    turn_state: null,
    metadata: {},
  };
}

/** An adapter as the daemon builds it; its tmux connections end with it. */
function adapterOf({ config_dir, dir }: Lab) {
  const ctx = { clock: systemClock, log: silent };
  const tmuxServers = new TmuxServers({
    ...ctx,
    ids: randomIds,
    state_dir: dir,
    search_path: SEARCH_PATH,
  });
  const adapter = claudeCodeAdapter({
    ...ctx,
    terminalServers: tmuxServers,
    config_dirs: [config_dir],
    tested_version: "2.1.329",
  });
  return { adapter, [Symbol.asyncDispose]: () => tmuxServers[Symbol.asyncDispose]() };
}

/** Sends by the first ready transport, as the dispatcher does. */
async function send(lab: Lab, claude: Claude, outgoing: OutgoingMessage) {
  await using adapterFixture = adapterOf(lab);
  const peer = addressee(lab, claude);
  const refusals: string[] = [];
  for (const transport of adapterFixture.adapter.transports(peer, outgoing)) {
    const readiness = await transport.check(peer, outgoing);
    if (!readiness.ready) {
      refusals.push(`${transport.name}: ${readiness.reason}`);
      continue;
    }
    const receipt = await transport.deliver(peer, outgoing);
    return { transport: transport.name, receipt, refusals };
  }
  return { transport: undefined, receipt: undefined, refusals };
}

withLab(import.meta.url, "the native transport reaches an idle session, text intact", async () => {
  await using lab = new Lab();
  const claude = await lab.claude("api");
  const text = "Tabs\tstay,\n\n  so do blank lines, !bang and ümläute ⏎";
  const sent = await send(lab, claude, outgoingMessage(text));
  assert.deepEqual(sent, { transport: "native", receipt: { state: "sent" }, refusals: [] });
  const [request] = await until("the model's turn", () => {
    const asked = lab.model.asked(ID);
    return asked.length > 0 && asked;
  });
  assert(request?.prompt.includes(outgoingMessage(text).framed));
  await until("the end of the turn", () => claude.isIdle);
  assert.doesNotMatch(claude.screen, /hook/i, "our hooks are silent, though no daemon is up");
});

withLab(import.meta.url, "the native transport leaves a draft where it is", async () => {
  await using lab = new Lab();
  const claude = await lab.claude("api");
  claude.type("half a thought");
  await until("the draft", () => claude.composer === "half a thought");
  const { transport, receipt } = await send(lab, claude, outgoingMessage("Which port?"));
  assert.deepEqual({ transport, receipt }, { transport: "native", receipt: { state: "sent" } });
  await until("the model's turn", () => lab.model.asked(ID).length > 0);
  await until("the end of the turn", () => claude.isIdle);
  assert.equal(claude.composer, "half a thought");
  assert(!lab.model.asked(ID).some(({ raw }) => raw.includes("half a thought")));
});

withLab(import.meta.url, "the native transport answers no open permission dialog", async () => {
  await using lab = new Lab();
  const claude = await lab.claude("api");
  const file = `${lab.dir}/api/made.txt`;
  await claude.sendPrompt(`@@TOOL Write {"file_path":"${file}","content":"x"}`);
  await until("the dialog", () => claude.session?.status === "waiting");
  await until("its screen", () => claude.screen.includes("Do you want to create"));
  const human = await send(lab, claude, outgoingMessage("Which port?", true));
  assert.deepEqual(human.refusals, ["pane: dialog_open"]);
  assert.deepEqual(human.receipt, { state: "sent" });
  await using adapterFixture = adapterOf(lab);
  const observation = await adapterFixture.adapter.observe(addressee(lab, claude));
  assert.deepEqual(observation, {
    alive: true,
    turn_state: "awaiting_input",
    waits_for: { kind: "permission" },
    source: "session registry",
  });
  assert.equal(claude.session?.status, "waiting");
  assert(claude.screen.includes("Do you want to create"));
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
  claude.press("Escape");
  await until("the message after the dialog", () => lab.model.asked(ID).length > 0);
  assert.throws(() => Deno.statSync(file), Deno.errors.NotFound);
});

withLab(import.meta.url, "a human's words are typed into an empty composer", async () => {
  await using lab = new Lab();
  const claude = await lab.claude("api");
  const { transport, receipt } = await send(lab, claude, outgoingMessage("Please stop", true));
  assert.deepEqual({ transport, receipt }, { transport: "pane", receipt: { state: "sent" } });
  const [request] = await until("the model's turn", () => {
    const asked = lab.model.asked(ID);
    return asked.length > 0 && asked;
  });
  assert(!request?.prompt.includes("Another Claude session"));
});

withLab(import.meta.url, "after /clear the registry names the new conversation", async () => {
  await using lab = new Lab();
  const claude = await lab.claude("api");
  const before = addressee(lab, claude);
  await claude.sendPrompt("/clear");
  await until("a new id", () => claude.session?.sessionId !== before.runtime_session_id);
  await using adapterFixture = adapterOf(lab);
  const [native] = adapterFixture.adapter.transports(before, outgoingMessage("x"));
  const stale = await native?.check(before, outgoingMessage("x"));
  assert.deepEqual(stale, { ready: false, reason: "session_changed" });
  const { receipt } = await send(lab, claude, outgoingMessage("Which port?"));
  assert.deepEqual(receipt, { state: "sent" });
  await until("the model's turn", () => lab.model.asked(ID).length > 0);
});

withLab(import.meta.url, "a killed session is neither observed nor written to", async () => {
  await using lab = new Lab();
  const claude = await lab.claude("api");
  const peer = addressee(lab, claude);
  Deno.kill(claude.pid, "SIGKILL");
  await until("its end", () => claude.session === undefined);
  await using adapterFixture = adapterOf(lab);
  const [native] = adapterFixture.adapter.transports(peer, outgoingMessage("x"));
  assert.deepEqual(await native?.deliver(peer, outgoingMessage("x")), {
    state: "refused",
    reason: "no_session",
  });
  assert.equal((await adapterFixture.adapter.observe(peer))?.alive, false);
});

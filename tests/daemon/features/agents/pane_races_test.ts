/** What happens when the agent, its human or its tmux changes during a delivery to a pane. */

import assert from "node:assert/strict";
import { claudeScreen } from "../../../../daemon/features/agents/claude_code/screen.ts";
import {
  Agent,
  type Terminal,
  until,
  waitSync,
  withTmux,
} from "../../../support/host/private_tmux.ts";
import {
  addressee,
  assertNothingTyped,
  outgoing,
  paneTransport,
  respawn,
  swappedBeforeEnter,
  swappedBeforePaste,
  UNCLEAR,
} from "../../../support/agents/pane_fixture.ts";

withTmux(
  "an agent suspended with a shell in front refuses, back in front it is reached",
  async (t) => {
    const pane = t.start("bash --norc --noprofile");
    t.cli("send-keys", "-t", pane, Agent.command(t), "Enter");
    const agent = await Agent.find(t, pane);
    const peer = addressee(t, agent);
    Deno.kill(agent.pid, "SIGTSTP");
    await until("the shell", () => t.format(pane, "#{pane_current_command}") === "bash");
    const receipt = await paneTransport(t).deliver(peer, outgoing("x"));
    assert.deepEqual(receipt, { state: "refused", reason: "not_foreground" });
    t.cli("send-keys", "-t", pane, "fg", "Enter");
    await until("the agent", () => t.format(pane, "#{pane_current_command}") === "deno");
  },
);

withTmux("an agent that exited to its shell refuses, though its screen still stands", async (t) => {
  const pane = t.start("PS1= bash --norc --noprofile");
  t.cli("send-keys", "-t", pane, Agent.command(t), "Enter");
  const agent = await Agent.find(t, pane);
  const peer = addressee(t, agent);
  Deno.kill(agent.pid, "SIGKILL");
  await until("the shell", () => t.screen(pane).includes("Killed"));
  const before = t.screen(pane);
  const receipt = await paneTransport(t).deliver(peer, outgoing("x"));
  assert.deepEqual(receipt, { state: "refused", reason: "agent_gone" });
  assert.equal(t.screen(pane), before);
});

/** What may happen between the last look and the paste: the server must see each by itself. */
const BEFORE_PASTE: [string, (terminal: Terminal, agent: Agent) => void][] = [
  ["the program is swapped", (t, { pane }) => respawn(t, pane)],
  ["a dialog opens", (_, agent) => agent.openDialog()],
  ["the human begins to scroll", (t, { pane }) => void t.cli("copy-mode", "-t", pane)],
  ["the pane goes", (t, { pane }) => {
    t.cli("new-window", "-d", "-t", "work", "cat");
    t.cli("kill-pane", "-t", pane);
  }],
];

for (const [what, swap] of BEFORE_PASTE) {
  withTmux(`when ${what} between check and paste, nothing enters`, async (terminal) => {
    const agent = await Agent.start(terminal);
    const late = swappedBeforePaste(terminal, () => swap(terminal, agent));
    const receipt = await late.deliver(addressee(terminal, agent), outgoing("x"));
    assert.deepEqual(receipt, { state: "refused", reason: "changed" });
    assertNothingTyped(terminal, agent);
  });
}

withTmux(
  "when the human begins to type between check and paste, the draft stays alone",
  async (t) => {
    const agent = await Agent.start(t);
    const late = swappedBeforePaste(t, () => {
      t.cli("send-keys", "-t", agent.pane, "my draft");
      waitSync("the draft", () => t.screen(agent.pane).includes("my draft"));
    });
    const receipt = await late.deliver(addressee(t, agent), outgoing("x"));
    assert.deepEqual(receipt, { state: "refused", reason: "changed" });
    assert.equal(agent.input, "my draft");
  },
);

withTmux("when the agent dies between check and paste, its shell gets nothing", async (t) => {
  const pane = t.start("PS1= bash --norc --noprofile");
  t.cli("send-keys", "-t", pane, Agent.command(t), "Enter");
  const agent = await Agent.find(t, pane);
  let before = "";
  const late = swappedBeforePaste(t, () => {
    Deno.kill(agent.pid, "SIGKILL");
    waitSync("the shell", () => t.screen(pane).includes("Killed"));
    before = t.screen(pane);
  });
  const receipt = await late.deliver(addressee(t, agent), outgoing("x"));
  assert.deepEqual(receipt, { state: "refused", reason: "changed" });
  assert.equal(t.screen(pane), before);
});

/** What may happen between the paste and Enter: the text is in, and must not be submitted. */
const BEFORE_ENTER: [string, (terminal: Terminal, agent: Agent) => void][] = [
  ["the program is swapped", (t, { pane }) => respawn(t, pane)],
  ["a dialog opens", (_, agent) => agent.openDialog()],
  ["the human begins to scroll", (t, { pane }) => void t.cli("copy-mode", "-t", pane)],
];

for (const [what, swap] of BEFORE_ENTER) {
  withTmux(`when ${what} between paste and Enter, no Enter is sent`, async (terminal) => {
    const agent = await Agent.start(terminal);
    const late = swappedBeforeEnter(terminal, agent, () => swap(terminal, agent));
    assert.deepEqual(await late.deliver(addressee(terminal, agent), outgoing("x")), UNCLEAR);
    assert.equal(agent.input, `\x1b[200~${outgoing("x").framed}\x1b[201~`);
    assert.deepEqual(agent.submitted, []);
    assert.ok(!agent.events.some(({ approved }) => approved));
    assert.equal(terminal.read("other"), "");
  });
}

withTmux("when the human types between paste and Enter, both stay for the human", async (t) => {
  const agent = await Agent.start(t);
  const late = swappedBeforeEnter(t, agent, () => {
    t.cli("send-keys", "-t", agent.pane, "my words");
    waitSync("the words", () => t.screen(agent.pane).includes("my words"));
  });
  assert.deepEqual(await late.deliver(addressee(t, agent), outgoing("x")), UNCLEAR);
  assert.deepEqual(agent.submitted, []);
});

withTmux(
  "an agent's own word that a dialog is open refuses, whatever its screen shows",
  async (t) => {
    const agent = await Agent.start(t);
    const warned = paneTransport(t, { hasOpenDialog: () => Promise.resolve(true) });
    const receipt = await warned.deliver(addressee(t, agent), outgoing("x"));
    assert.deepEqual(receipt, { state: "refused", reason: "dialog_open" });
    assertNothingTyped(t, agent);
  },
);

withTmux("a paste that the composer does not show is not submitted", async (terminal) => {
  const agent = await Agent.start(terminal);
  const blindTransport = paneTransport(terminal, {
    settle_ms: 1,
    screen: { ...claudeScreen, composerHolds: () => false, collapsedPaste: () => false },
  });
  assert.deepEqual(
    await blindTransport.deliver(addressee(terminal, agent), outgoing("x")),
    UNCLEAR,
  );
  await until("the paste", () => agent.input.endsWith("\x1b[201~"));
  assert.deepEqual(agent.submitted, []);
});

withTmux("a server that dies before the paste refuses; a new one is delivered to", async (t) => {
  const agent = await Agent.start(t);
  const late = swappedBeforePaste(t, () => t.killServer());
  const receipt = await late.deliver(addressee(t, agent), outgoing("x"));
  assert.ok(receipt.state === "refused" || receipt.state === "unclear", JSON.stringify(receipt));
  await Deno.remove(`${t.dir}/agent.log`);
  const next = await Agent.start(t);
  const peer = addressee(t, next);
  assert.deepEqual(await paneTransport(t).deliver(peer, outgoing("x")), { state: "sent" });
});

withTmux("a server that dies between paste and Enter leaves it unclear", async (terminal) => {
  const agent = await Agent.start(terminal);
  const late = swappedBeforeEnter(terminal, agent, () => terminal.killServer());
  assert.deepEqual(await late.deliver(addressee(terminal, agent), outgoing("x")), UNCLEAR);
});

withTmux(
  "ten messages at once for one pane arrive one after the other, whole",
  async (terminal) => {
    const agent = await Agent.start(terminal);
    const peer = addressee(terminal, agent);
    const texts = Array.from({ length: 10 }, (_, at) => `message ${at}`);
    const receipts = await Promise.all(
      texts.map((text) => paneTransport(terminal).deliver(peer, outgoing(text))),
    );
    const sent = texts.filter((_, at) => receipts[at]?.state === "sent");
    await until("all", () => agent.submitted.length === sent.length);
    assert.deepEqual(agent.submitted, sent.map((text) => outgoing(text).framed));
    for (const receipt of receipts) assert.ok(["sent", "refused"].includes(receipt.state));
  },
);

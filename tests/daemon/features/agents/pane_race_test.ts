/** The pane transport when a pane changes in the middle of a delivery, against real tmux. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "kit/core/clock.ts";
import type { Receipt } from "../../../../daemon/features/agents/adapter.ts";
import { claudeScreen } from "../../../../daemon/features/agents/claude_code/claude_code.ts";
import {
  addressee,
  assertNothingTyped,
  outgoingMessage,
  paneTransport,
  respawn,
} from "../../../support/agents/pane_delivery.ts";
import {
  Agent,
  type Terminal,
  until,
  waitSync,
  withTmux,
} from "../../../support/host/private_tmux.ts";

const UNCLEAR: Receipt = { state: "unclear", reason: "typed_not_submitted" };

/** A transport that runs `swap` after its last check, before the server pastes. */
function swappedBeforePaste(terminal: Terminal, swap: () => void) {
  let captures = 0;
  return paneTransport(terminal, {
    screen: {
      ...claudeScreen,
      composerEmpty(view) {
        const empty = claudeScreen.composerEmpty(view);
        if (++captures === 2) swap();
        return empty;
      },
    },
  });
}

/** A transport that runs `swap` once, after the paste and before Enter. */
function swappedBeforeEnter(terminal: Terminal, agent: Agent, swap: () => void) {
  let swapped = false;
  const clock: Clock = {
    ...systemClock,
    async sleep(ms, signal) {
      if (!swapped) await until("the paste", () => agent.input.endsWith("\x1b[201~"));
      if (!swapped) swap();
      swapped = true;
      await systemClock.sleep(ms, signal);
    },
  };
  return paneTransport(terminal, { clock });
}

/** Changes between the last check and the paste: the server itself must notice each of them. */
const BEFORE_PASTE: [string, (terminal: Terminal, agent: Agent) => void][] = [
  ["the program is replaced", (t, { pane }) => respawn(t, pane)],
  ["a dialog opens", (_, agent) => agent.openDialog()],
  ["the human begins to scroll", (t, { pane }) => void t.cli("copy-mode", "-t", pane)],
  ["the pane goes", (t, { pane }) => {
    t.cli("new-window", "-d", "-t", "work", "cat");
    t.cli("kill-pane", "-t", pane);
  }],
];

for (const [what, swap] of BEFORE_PASTE) {
  withTmux(`when ${what} between check and paste, nothing is typed`, async (terminal) => {
    const agent = await Agent.start(terminal);
    const late = swappedBeforePaste(terminal, () => swap(terminal, agent));
    const receipt = await late.deliver(addressee(terminal, agent), outgoingMessage("x"));
    assert.deepEqual(receipt, { state: "refused", reason: "changed" });
    assertNothingTyped(terminal, agent);
  });
}

withTmux(
  "when the human begins to type between check and paste, only the draft stays",
  async (t) => {
    const agent = await Agent.start(t);
    const late = swappedBeforePaste(t, () => {
      t.cli("send-keys", "-t", agent.pane, "my draft");
      waitSync("the draft", () => t.screen(agent.pane).includes("my draft"));
    });
    const receipt = await late.deliver(addressee(t, agent), outgoingMessage("x"));
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
  const receipt = await late.deliver(addressee(t, agent), outgoingMessage("x"));
  assert.deepEqual(receipt, { state: "refused", reason: "changed" });
  assert.equal(t.screen(pane), before);
});

/** Changes between the paste and Enter: the text is in, and must not be submitted. */
const BEFORE_ENTER: [string, (terminal: Terminal, agent: Agent) => void][] = [
  ["the program is replaced", (t, { pane }) => respawn(t, pane)],
  ["a dialog opens", (_, agent) => agent.openDialog()],
  ["the human begins to scroll", (t, { pane }) => void t.cli("copy-mode", "-t", pane)],
];

for (const [what, swap] of BEFORE_ENTER) {
  withTmux(`when ${what} between paste and Enter, no Enter is sent`, async (terminal) => {
    const agent = await Agent.start(terminal);
    const late = swappedBeforeEnter(terminal, agent, () => swap(terminal, agent));
    assert.deepEqual(await late.deliver(addressee(terminal, agent), outgoingMessage("x")), UNCLEAR);
    assert.equal(agent.input, `\x1b[200~${outgoingMessage("x").framed}\x1b[201~`);
    assert.deepEqual(agent.submittedTexts, []);
    assert.ok(!agent.events.some(({ approved }) => approved));
    assert.equal(terminal.read("other"), "");
  });
}

withTmux(
  "when the human types between paste and Enter, both texts stay for the human",
  async (t) => {
    const agent = await Agent.start(t);
    const late = swappedBeforeEnter(t, agent, () => {
      t.cli("send-keys", "-t", agent.pane, "my words");
      waitSync("the words", () => t.screen(agent.pane).includes("my words"));
    });
    assert.deepEqual(await late.deliver(addressee(t, agent), outgoingMessage("x")), UNCLEAR);
    assert.deepEqual(agent.submittedTexts, []);
  },
);

withTmux("a paste that the composer does not show is not submitted", async (terminal) => {
  const agent = await Agent.start(terminal);
  const blindTransport = paneTransport(terminal, {
    settle_ms: 1,
    screen: { ...claudeScreen, composerHolds: () => false, collapsedPaste: () => false },
  });
  assert.deepEqual(
    await blindTransport.deliver(addressee(terminal, agent), outgoingMessage("x")),
    UNCLEAR,
  );
  await until("the paste", () => agent.input.endsWith("\x1b[201~"));
  assert.deepEqual(agent.submittedTexts, []);
});

withTmux("a server that dies before the paste refuses; a new one gets the message", async (t) => {
  const agent = await Agent.start(t);
  const late = swappedBeforePaste(t, () => t.killServer());
  const receipt = await late.deliver(addressee(t, agent), outgoingMessage("x"));
  assert.ok(receipt.state === "refused" || receipt.state === "unclear", JSON.stringify(receipt));
  await Deno.remove(`${t.dir}/agent.log`);
  const next = await Agent.start(t);
  const peer = addressee(t, next);
  assert.deepEqual(await paneTransport(t).deliver(peer, outgoingMessage("x")), { state: "sent" });
});

withTmux(
  "a server that dies between paste and Enter leaves the message unclear",
  async (terminal) => {
    const agent = await Agent.start(terminal);
    const late = swappedBeforeEnter(terminal, agent, () => terminal.killServer());
    assert.deepEqual(await late.deliver(addressee(terminal, agent), outgoingMessage("x")), UNCLEAR);
  },
);

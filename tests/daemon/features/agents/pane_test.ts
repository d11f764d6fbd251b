/** The pane transport against real tmux and a scripted agent: what arrives, and what never does. */

import assert from "node:assert/strict";
import { type Monotonic, systemClock } from "kit/core/clock.ts";
import type { AgentPeer } from "../../../../daemon/features/agents/adapter.ts";
import { claudeScreen } from "../../../../daemon/features/agents/claude_code/claude_code.ts";
import { foregroundOf, startTimeOf } from "../../../../daemon/host/processes.ts";
import {
  addressee,
  assertNothingTyped,
  ID,
  outgoingMessage,
  paneTransport,
  replaceProgram,
} from "../../../support/agents/pane_delivery.ts";
import {
  Agent,
  type Terminal,
  until,
  waitSync,
  withTmux,
} from "../../../support/host/private_tmux.ts";

const ARRIVES = {
  "a short message": "hello",
  "a message that wraps": "a word and another ".repeat(15).trim(),
  "a message of two lines": "first\nsecond",
  "a message of many lines": Array.from({ length: 60 }, (_, at) => `line ${at}`).join("\n"),
  "a message of 8,000 bytes": "0123456789abcdef".repeat(500).slice(0, 7_900),
  "a message in many scripts": "héllo 你好 🙂 👩‍👩‍👧 שלום עולם مرحبا e\u0301",
  "a message full of shell signs": "$(id) `id` ${HOME} ; | \\ \" ' # ~ {} %1 #{pane_id} !x @y /z",
};

for (const [what, text] of Object.entries(ARRIVES)) {
  withTmux(`${what} arrives exactly, and is submitted once`, async (terminal) => {
    const agent = await Agent.start(terminal);
    const peer = addressee(terminal, agent);
    assert.deepEqual(await paneTransport(terminal).check(peer, outgoingMessage(text)), {
      ready: true,
    });
    assert.deepEqual(await paneTransport(terminal).deliver(peer, outgoingMessage(text)), {
      state: "sent",
    });
    await until("the message", () => agent.submittedTexts.length > 0);
    assert.deepEqual(agent.submittedTexts, [outgoingMessage(text).framed]);
    assert.equal(terminal.cli("list-buffers"), "");
  });
}

withTmux(
  "over 8 kB the pane gets the head, the closed frame and `mesh show` [c5.long]",
  async (terminal) => {
    const agent = await Agent.start(terminal);
    const text = "🙂é&amp;".repeat(1_000);
    await paneTransport(terminal).deliver(addressee(terminal, agent), outgoingMessage(text));
    const got = await until("the message", () => agent.submittedTexts[0]);
    const bytes = new TextEncoder().encode(got).length;
    assert.ok(bytes <= 8_192 && bytes > 8_170, String(bytes));
    const tail = `…</peer-message>\n[mesh] cut here; the whole text: mesh show ${ID}`;
    assert.ok(got.endsWith(tail));
    assert.ok(outgoingMessage(text).framed.startsWith(got.slice(0, -tail.length)));
    assert.match(got.slice(0, -tail.length), /(🙂|é|&amp;)$/);
  },
);

for (const first of ["!", "/", "@", " ", "[mesh]", "mesh "]) {
  withTmux(`a text that begins with "${first}" is not typed`, async (terminal) => {
    const agent = await Agent.start(terminal);
    const bad = outgoingMessage("", `${first}${ID} and more`);
    const peer = addressee(terminal, agent);
    const refusal = { reason: "bad_frame" };
    assert.deepEqual(await paneTransport(terminal).check(peer, bad), { ready: false, ...refusal });
    assert.deepEqual(await paneTransport(terminal).deliver(peer, bad), {
      state: "refused",
      ...refusal,
    });
    assertNothingTyped(terminal, agent);
  });
}

withTmux("control characters are stripped, tabs become spaces, newlines stay", async (terminal) => {
  const agent = await Agent.start(terminal);
  const text = "a\x1b[201~\rb\tc\x07\x00\x9bd\x7f\u0085e\r\nf";
  await paneTransport(terminal).deliver(addressee(terminal, agent), outgoingMessage(text));
  const got = await until("the message", () => agent.submittedTexts[0]);
  assert.equal(got, outgoingMessage("a[201~\nb    cde\nf").framed);
});

/** Situations in which nothing may be typed: the reason, and how each comes about. */
const REFUSED: [string, string, (terminal: Terminal, agent: Agent) => void | Promise<void>][] = [
  ["a pane in copy mode", "copy_mode", (t, { pane }) => void t.cli("copy-mode", "-t", pane)],
  ["an open dialog", "dialog_open", (_, agent) => agent.openDialog()],
  ["a pane whose program was replaced", "agent_gone", replaceProgram],
  ["a pane that is gone", "pane_missing", (t, { pane }) => {
    t.start("cat", "other");
    t.cli("kill-pane", "-t", pane);
  }],
  ["a dead pane", "pane_dead", (t, { pane, pid }) => {
    t.cli("set-option", "-g", "remain-on-exit", "on");
    Deno.kill(pid, "SIGKILL");
    waitSync("the end", () => t.format(pane, "#{pane_dead}") === "1");
  }],
];

for (const [what, reason, arrange] of REFUSED) {
  withTmux(`${what} refuses with ${reason}, and nothing is typed`, async (terminal) => {
    const agent = await Agent.start(terminal);
    const peer = addressee(terminal, agent);
    await arrange(terminal, agent);
    assert.deepEqual(await paneTransport(terminal).check(peer, outgoingMessage("x")), {
      ready: false,
      reason,
      ...(reason === "dialog_open" && { waits_for: { kind: "permission" } }),
    });
    const receipt = await paneTransport(terminal).deliver(peer, outgoingMessage("x"));
    assert.deepEqual(receipt, { state: "refused", reason });
    assertNothingTyped(terminal, agent);
  });
}

withTmux("a screen without a composer refuses, and nothing is typed", async (terminal) => {
  const pane = terminal.start("cat");
  const pid = Number(terminal.format(pane, "#{pane_pid}"));
  await until("cat in the foreground", () => foregroundOf(pid) === pid);
  const receipt = await paneTransport(terminal).deliver(
    addressee(terminal, { pane, pid }),
    outgoingMessage("x"),
  );
  assert.deepEqual(receipt, { state: "refused", reason: "screen_unknown" });
  assert.equal(terminal.screen(pane), "");
});

withTmux(
  "an agent that warms up gets messages once it has been ready for a while",
  async (terminal) => {
    const agent = await Agent.start(terminal);
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now as Monotonic };
    const pane = paneTransport(terminal, { clock, warm_up_ms: 2_000 });
    const deliver = () => pane.deliver(addressee(terminal, agent), outgoingMessage("hello"));
    assert.deepEqual(await deliver(), { state: "refused", reason: "starting" });
    now = 1_999;
    assert.deepEqual(await deliver(), { state: "refused", reason: "starting" });
    assertNothingTyped(terminal, agent);
    now = 2_000;
    assert.deepEqual(await deliver(), { state: "sent" });
  },
);

withTmux(
  "an agent whose screen says that it starts gets no message, for a minute at most",
  async (terminal) => {
    const agent = await Agent.start(terminal);
    let now = 0;
    let starts = true;
    const clock = { ...systemClock, monotonic: () => now as Monotonic };
    const screen = { ...claudeScreen, isStarting: () => starts };
    const options = { clock, screen, warm_up_ms: 2_000 };
    const refused = { state: "refused", reason: "starting" };
    const pane = paneTransport(terminal, options);
    const deliver = (at: number, to = pane) => {
      now = at;
      return to.deliver(addressee(terminal, agent), outgoingMessage("hello"));
    };
    for (const at of [0, 3_000, 59_999]) assert.deepEqual(await deliver(at), refused);
    starts = false;
    assert.deepEqual(await deliver(60_000), refused, "it warms up");
    assertNothingTyped(terminal, agent);
    assert.deepEqual(await deliver(62_000), { state: "sent" });
    await until("the message", () => agent.submittedTexts.length > 0);
    starts = true;
    const other = paneTransport(terminal, options);
    assert.deepEqual(await deliver(100_000, other), refused);
    assert.deepEqual(await deliver(160_000, other), { state: "sent" });
  },
);

withTmux("a human's draft refuses delivery, and stays unchanged", async (terminal) => {
  const agent = await Agent.start(terminal);
  terminal.cli("send-keys", "-t", agent.pane, "my draft");
  await until("the draft", () => terminal.screen(agent.pane).includes("my draft"));
  const receipt = await paneTransport(terminal).deliver(
    addressee(terminal, agent),
    outgoingMessage("x"),
  );
  assert.deepEqual(receipt, { state: "refused", reason: "draft_present" });
  assert.equal(agent.input, "my draft");
});

withTmux(
  "a registration that is incomplete, outdated or for another pane refuses",
  async (terminal) => {
    const agent = await Agent.start(terminal);
    const peer = addressee(terminal, agent);
    const other = terminal.start("cat", "other");
    const cases: [Partial<AgentPeer>, string][] = [
      [{ tmux_socket: null }, "no_pane"],
      [{ pane_id: null }, "no_pane"],
      [{ pane_id: "work" }, "no_pane"],
      [{ pane_id: "%999" }, "pane_missing"],
      [{ agent_pid: null }, "no_process"],
      [{ agent_started: null }, "no_process"],
      [{ agent_started: "1" }, "agent_gone"],
      [{ agent_pid: Deno.pid, agent_started: startTimeOf(Deno.pid) ?? null }, "agent_elsewhere"],
      [{ tmux_socket: `${terminal.dir}/none` }, "tmux_unreachable"],
    ];
    for (const [change, reason] of cases) {
      const receipt = await paneTransport(terminal).deliver(
        { ...peer, ...change },
        outgoingMessage("x"),
      );
      assert.deepEqual(receipt, { state: "refused", reason }, JSON.stringify(change));
    }
    const elsewhere = await paneTransport(terminal).check(
      { ...peer, pane_id: other },
      outgoingMessage("x"),
    );
    assert.equal(elsewhere.ready, false);
    assertNothingTyped(terminal, agent);
  },
);

withTmux(
  "a suspended agent behind its shell refuses, and is reached again in the foreground",
  async (t) => {
    const pane = t.start("bash --norc --noprofile");
    t.cli("send-keys", "-t", pane, Agent.command(t), "Enter");
    const agent = await Agent.find(t, pane);
    const peer = addressee(t, agent);
    Deno.kill(agent.pid, "SIGTSTP");
    await until("the shell", () => t.format(pane, "#{pane_current_command}") === "bash");
    const receipt = await paneTransport(t).deliver(peer, outgoingMessage("x"));
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
  const receipt = await paneTransport(t).deliver(peer, outgoingMessage("x"));
  assert.deepEqual(receipt, { state: "refused", reason: "agent_gone" });
  assert.equal(t.screen(pane), before);
});

withTmux(
  "an open dialog in the agent's own registry refuses, whatever its screen shows",
  async (t) => {
    const agent = await Agent.start(t);
    const warned = paneTransport(t, { hasOpenDialog: () => Promise.resolve(true) });
    const receipt = await warned.deliver(addressee(t, agent), outgoingMessage("x"));
    assert.deepEqual(receipt, { state: "refused", reason: "dialog_open" });
    assertNothingTyped(t, agent);
  },
);

withTmux(
  "ten concurrent messages for one pane arrive one after the other, complete",
  async (terminal) => {
    const agent = await Agent.start(terminal);
    const peer = addressee(terminal, agent);
    const texts = Array.from({ length: 10 }, (_, at) => `message ${at}`);
    const receipts = await Promise.all(
      texts.map((text) => paneTransport(terminal).deliver(peer, outgoingMessage(text))),
    );
    const sent = texts.filter((_, at) => receipts[at]?.state === "sent");
    await until("all", () => agent.submittedTexts.length === sent.length);
    assert.deepEqual(agent.submittedTexts, sent.map((text) => outgoingMessage(text).framed));
    for (const receipt of receipts) assert.ok(["sent", "refused"].includes(receipt.state));
  },
);

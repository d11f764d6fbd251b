/** The pane transport for any program, and how its screens are read: prompts, drafts, dialogs. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import type { AgentPeer, OutgoingMessage } from "../../../../../daemon/features/agents/adapter.ts";
import {
  genericAdapter,
  genericScreen,
} from "../../../../../daemon/features/agents/generic/generic.ts";
import type { PaneOptions } from "../../../../../daemon/features/agents/pane_transport.ts";
import { claudeScreen } from "../../../../../daemon/features/agents/claude_code/claude_code.ts";
import type { View } from "../../../../../daemon/features/agents/screens.ts";
import { foregroundOf, startTimeOf } from "../../../../../daemon/host/processes.ts";
import { silent, type Terminal, until, withTmux } from "../../../../support/host/private_tmux.ts";

const ID = "ask-3f9c04d1a2b7";

function outgoingMessage(text: string): OutgoingMessage {
  const framed = `[mesh] <peer-message type="ask" id="${ID}" from="@a">${text}</peer-message>`;
  return { delivery_id: "dlv-1", proof_id: ID, kind: "ask", human: false, framed };
}

function adapter(
  { tmuxServers: terminalServers }: Terminal,
  shells: PaneOptions["shells"] = "refused",
) {
  return genericAdapter({
    terminalServers,
    clock: systemClock,
    log: silent,
    settle_ms: 40,
    shells,
  });
}

function addressee(terminal: Terminal, pane: string): AgentPeer {
  const pid = Number(terminal.format(pane, "#{pane_pid}"));
  return {
    peer_id: "peer-1",
    backend: "generic",
    tmux_socket: terminal.socket,
    pane_id: pane,
    agent_pid: pid,
    agent_started: startTimeOf(pid) ?? null,
    runtime_session_id: null,
    turn_state: null,
    metadata: {},
  };
}

async function deliver(terminal: Terminal, pane: string, text: string, ...shells: ["typed"?]) {
  const peer = addressee(terminal, pane);
  const [transport] = adapter(terminal, ...shells).transports(peer, outgoingMessage(text));
  return await (transport ?? assert.fail("no transport")).deliver(peer, outgoingMessage(text));
}

async function cat(terminal: Terminal): Promise<string> {
  const pane = terminal.start(`printf ready; echo; exec cat > ${terminal.dir}/got`);
  await until("cat", () => terminal.format(pane, "#{pane_current_command}") === "cat");
  return pane;
}

async function bash(terminal: Terminal): Promise<string> {
  const pane = terminal.start("PS1='you@here:~$ ' bash --norc --noprofile");
  const shell = Number(terminal.format(pane, "#{pane_pid}"));
  await until("the prompt", () => foregroundOf(shell) && terminal.screen(pane) === "you@here:~$");
  return pane;
}

withTmux("a program that reads lines gets each message as one line", async (terminal) => {
  const pane = await cat(terminal);
  assert.deepEqual(await deliver(terminal, pane, "first\n\n second 你好 🙂"), { state: "sent" });
  const got = await until("the line", () => terminal.read("got"));
  assert.equal(got, outgoingMessage("first ⏎ second 你好 🙂").framed + "\n");
});

withTmux("a program whose name has a meaning for tmux is reached", async (terminal) => {
  const name = "a,b}#{c}(d;";
  Deno.copyFileSync("/bin/cat", `${terminal.dir}/${name}`);
  const pane = terminal.start(`exec '${terminal.dir}/${name}' > ${terminal.dir}/got`);
  await until("the program", () => terminal.format(pane, "#{pane_current_command}") === name);
  assert.deepEqual(await deliver(terminal, pane, "x"), { state: "sent" });
  assert.equal(
    await until("the line", () => terminal.read("got")),
    outgoingMessage("x").framed + "\n",
  );
});

withTmux("a long message is cut to a terminal's limit for a line", async (terminal) => {
  const pane = await cat(terminal);
  assert.deepEqual(await deliver(terminal, pane, "0123456789 ".repeat(900)), { state: "sent" });
  const got = await until("the line", () => terminal.read("got"));
  assert.ok(got.length > 3_400 && got.endsWith(`mesh show ${ID}\n`));
});

withTmux("a human's draft in a program without a prompt refuses delivery", async (terminal) => {
  const pane = await cat(terminal);
  terminal.cli("send-keys", "-t", pane, "my draft");
  await until("the draft", () => terminal.screen(pane).includes("my draft"));
  const receipt = await deliver(terminal, pane, "x");
  assert.deepEqual(receipt, { state: "refused", reason: "draft_present" });
  terminal.cli("send-keys", "-t", pane, "Enter");
  assert.equal(await until("the draft alone", () => terminal.read("got")), "my draft\n");
});

withTmux("a shell's prompt refuses, because a shell would execute the message", async (t) => {
  const pane = await bash(t);
  const receipt = await deliver(t, pane, `$(touch ${t.dir}/executed)`);
  assert.deepEqual(receipt, { state: "refused", reason: "shell_prompt" });
  assert.equal(t.screen(pane), "you@here:~$");
});

withTmux(
  "a shell's prompt is typed at if the options allow it, and never on a draft",
  async (t) => {
    const pane = await bash(t);
    t.cli("send-keys", "-t", pane, "echo half");
    await until("the draft", () => t.screen(pane).endsWith("echo half"));
    const receipt = await deliver(t, pane, "x", "typed");
    assert.deepEqual(receipt, { state: "refused", reason: "draft_present" });
    t.cli("send-keys", "-t", pane, "C-u");
    await until("no draft", () => t.screen(pane) === "you@here:~$");
    assert.deepEqual(await deliver(t, pane, "x", "typed"), { state: "sent" });
  },
);

withTmux("a question, a password prompt or a dialog on the screen refuses", async (terminal) => {
  const screens: [string, string][] = [
    ["Proceed? [Y/n] ", "draft_present"],
    ["Password: ", "draft_present"],
    ["42% ", "draft_present"],
    ["› 1. Yes, proceed (y)\\n\\n", "dialog_open"],
    ["Allow execution of [Shell]?\\n> ", "dialog_open"],
  ];
  for (const [at, [shown, reason]] of screens.entries()) {
    const pane = terminal.start(`printf '${shown.replace("%", "%%")}'; exec cat`, `s${at}`);
    await until("the screen", () => /\S/.test(terminal.screen(pane)));
    await until("cat", () => terminal.format(pane, "#{pane_current_command}") === "cat");
    assert.deepEqual(await deliver(terminal, pane, "x"), { state: "refused", reason }, shown);
  }
});

withTmux("a program that does not echo gets no Enter", async (terminal) => {
  const pane = terminal.start(`stty -echo; exec cat > ${terminal.dir}/got`);
  await until("cat", () => terminal.format(pane, "#{pane_current_command}") === "cat");
  const receipt = await deliver(terminal, pane, "x");
  assert.deepEqual(receipt, { state: "unclear", reason: "typed_not_submitted" });
  assert.equal(terminal.read("got"), "");
});

withTmux("a generic agent is observed by its process and by its pane", async (terminal) => {
  const pane = await cat(terminal);
  const peer = addressee(terminal, pane);
  const observe = (change: Partial<AgentPeer>) => adapter(terminal).observe({ ...peer, ...change });
  assert.deepEqual(await observe({}), { alive: true, turn_state: null, source: "tmux pane" });
  assert.partialDeepStrictEqual(await observe({ pane_id: null }), { source: "process table" });
  assert.partialDeepStrictEqual(await observe({ agent_started: "1" }), { alive: false });
  assert.equal(await observe({ agent_pid: null, pane_id: null }), undefined);
  terminal.cli("set-option", "-g", "remain-on-exit", "on");
  terminal.cli("send-keys", "-t", pane, "C-d");
  await until("the end", () => terminal.format(pane, "#{pane_dead}") === "1");
  assert.partialDeepStrictEqual(await observe({ agent_pid: null }), { alive: false });
});

function view(screen: string, cursor_y = 0): View {
  return { above: [], lines: screen.split("\n"), cursor_x: 0, cursor_y };
}

const RULE = "\x1b[38;5;244m" + "─".repeat(100);

/**
 * Claude Code 2.1.329 as captured with its colours; `dialog` and `empty` are the expected results.
 */
const CLAUDE_COMMAND: [
  string,
  string,
  { dialog: boolean | undefined; empty: boolean | undefined },
][] = [
  ["idle", `${RULE}\n\x1b[39m❯\u00a0\x1b[7m \x1b[0m\n${RULE}\n  ⏸ manual mode on`, {
    dialog: false,
    empty: true,
  }],
  ["busy", `${RULE}\n\x1b[38;5;246m❯\u00a0\x1b[7m\x1b[39m \x1b[0m\n${RULE}\n  esc to interrupt`, {
    dialog: false,
    empty: true,
  }],
  ["with a draft", `${RULE}\n\x1b[39m❯\u00a0hello draft\x1b[7m\n\x1b[0m${RULE}\n  auto mode on`, {
    dialog: false,
    empty: false,
  }],
  ["with a placeholder", `${RULE}\n\x1b[39m❯\u00a0\x1b[2mTry something\x1b[22m\n${RULE}\n`, {
    dialog: false,
    empty: true,
  }],
  [
    "with a placeholder under the cursor",
    `${RULE}\n\x1b[38;5;246m❯\u00a0\x1b[7m\x1b[39mP\x1b[0;2m\x1b[39mress up\x1b[0m\n${RULE}\n`,
    { dialog: false, empty: true },
  ],
  ["with a draft and the cursor on it", `${RULE}\n❯\u00a0\x1b[7mP\x1b[0mress up\n${RULE}\n`, {
    dialog: false,
    empty: false,
  }],
  ["with a slash command", `  ❯ /add-dir   Add\n${RULE}\n❯\u00a0/\x1b[7m\n${RULE}\n  manual`, {
    dialog: false,
    empty: false,
  }],
  ["in shell mode", `${RULE}\n!\u00a0\x1b[7m \n${RULE}\n  ! for shell mode`, {
    dialog: undefined,
    empty: undefined,
  }],
  ["that mentions a dialog", `● Do you want to proceed?\n${RULE}\n❯\u00a0\n${RULE}\n`, {
    dialog: false,
    empty: true,
  }],
  [
    "with a permission dialog",
    `❯ hi\n${RULE}\n Create file\n \x1b[38;5;153m❯\x1b[39m 1. Yes\n 3. No`,
    {
      dialog: true,
      empty: undefined,
    },
  ],
  ["with the trust dialog", " Quick safety check\n ❯ No, exit\n   Yes, I trust this folder", {
    dialog: true,
    empty: undefined,
  }],
  ["that has not started", "", { dialog: undefined, empty: undefined }],
];

for (const [what, screen, { dialog, empty }] of CLAUDE_COMMAND) {
  Deno.test(`a Claude Code screen ${what} is read correctly`, () => {
    assert.equal(claudeScreen.dialogOpen(view(screen)), dialog);
    assert.equal(claudeScreen.composerEmpty(view(screen)), empty);
  });
}

Deno.test("a paste is found in Claude Code's composer: complete, wrapped or collapsed, and alone", () => {
  const box = (text: string) => view(`❯ old ${ID} x\n${RULE}\n❯\u00a0${text}\n${RULE}\n`);
  const text = `[mesh] ${ID} 你好 x`;
  assert.equal(claudeScreen.composerHolds(box(text), text), true);
  assert.equal(claudeScreen.composerHolds(box("[mesh] ask-3f9c\n  04d1a2b7 你好 x"), text), true);
  assert.equal(claudeScreen.composerHolds(box(`${text}and a draft`), text), false);
  assert.equal(claudeScreen.composerHolds(box(""), text), false);
  assert.equal(claudeScreen.collapsedPaste?.(box("[Pasted text #3 +200 lines]")), true);
  assert.equal(claudeScreen.collapsedPaste?.(box("[Pasted text #3 +200 lines] and")), false);
  assert.equal(claudeScreen.collapsedPaste?.(box("")), false);
});

// deno-fmt-ignore
const DIALOGS = [
  " Do you want to create perm.txt?",
  "  Would you like to run the following command?",
  "  Press enter to confirm or esc to cancel",
  "  Hooks need review",
  "│ ● 1. Allow once",
  "Allow once   Allow always   Reject",
  "│ ❯ 1. Yes",
  "   Yes, I trust this folder",
];

for (const row of DIALOGS) {
  Deno.test(`any program's screen with "${row}" counts as a dialog`, () => {
    assert.equal(genericScreen.dialogOpen(view(`\n${row}\n`)), true);
  });
}

const PROMPT_LINES = ["", "$ ", "root@box:/tmp# ", ">>> ", "host% ", "❯ ", "   "];
const DRAFT_LINES = [
  "$ ls",
  "a > b $",
  ">>> x = 1",
  "draft",
  "$ echo >",
  "Sure? ",
  "login: ",
  "❯ a",
  "50% ",
];

for (const [rows, empty] of [[PROMPT_LINES, true], [DRAFT_LINES, false]] as const) {
  for (const row of rows) {
    Deno.test(`a cursor line "${row}" is ${empty ? "free" : "taken"}`, () => {
      assert.equal(genericScreen.composerEmpty(view(row)), empty);
    });
  }
}

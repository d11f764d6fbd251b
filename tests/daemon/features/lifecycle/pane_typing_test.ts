/** Typing into a peer's pane: only for a person, only if configured, only into that very pane. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { paneAdapter } from "../../../../daemon/features/agents/pane_adapter.ts";
import { claudeScreen } from "../../../../daemon/features/agents/claude_code/claude_code.ts";
import { genericScreen } from "../../../../daemon/features/agents/generic/generic.ts";
import { PaneTransport } from "../../../../daemon/features/agents/pane_transport.ts";
import type { Screen } from "../../../../daemon/features/agents/screens.ts";
import { paneObserverOf } from "../../../../daemon/host/tmux/pane_observer.ts";
import { replaceProgram, respawn } from "../../../support/agents/pane_delivery.ts";
import { addPeer, post, signIn } from "../../../support/daemon/peer_clients.ts";
import {
  Agent,
  recorder,
  silent,
  type Terminal,
  until,
  waitSync,
  withTmux,
} from "../../../support/host/private_tmux.ts";
import { RealProcesses } from "../../../support/host/real_processes.ts";
import { BASE, FakeSockets, type World, world } from "../../../support/world.ts";

const TERMINAL = { "x-mesh-terminal": "77" };

interface Options {
  readonly screen?: Screen;
  readonly allow?: boolean;
  readonly at_terminal?: boolean;
  readonly sockets?: FakeSockets;
}

/** A daemon on this tmux, whose caller is the person unless an option says otherwise. */
function typingWorld(
  { tmuxServers: terminalServers, socket }: Terminal,
  options: Options = {},
): World {
  const { screen = genericScreen, allow = true, at_terminal = true, sockets } = options;
  const pane = new PaneTransport({ terminalServers, clock: systemClock, log: silent, screen });
  const settings = { "human.name": "sam", "panes.allow_typing": String(allow) };
  return world({
    adapters: [
      paneAdapter(pane, { backend: "generic", observe: () => Promise.resolve(undefined) }),
    ],
    processes: new RealProcesses(),
    paneObserver: paneObserverOf(terminalServers, socket),
    settings: allow ? settings : { "human.name": "sam" },
    at_terminal,
    ...(sockets && { sockets }),
  });
}

/** A program that records what it reads, as the peer ada. */
async function typist(terminal: Terminal, w: World, session = "work") {
  const pane_id = terminal.start(recorder(`${terminal.dir}/got`), session);
  waitSync("the program", () => terminal.screen(pane_id).includes("ready"));
  await until("cat", () => terminal.format(pane_id, "#{pane_current_command}") === "cat");
  const agent_pid = Number(terminal.format(pane_id, "#{pane_pid}"));
  await addPeer(w, "ada", {
    backend: "generic",
    pane_id,
    tmux_socket: terminal.socket,
    agent_pid,
  });
  return { pane_id, agent_pid };
}

/** The recorder shows `ready` where a composer would be, which counts as a draft. */
const DRAFT = ["draft_present"];

function type(
  w: World,
  keys: unknown,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = TERMINAL,
) {
  return post(w, "/peers/ada/keys", { keys, accept: DRAFT, ...more }, headers);
}

withTmux("a person types texts, keys and pastes into a pane, in their order", async (t) => {
  await using w = typingWorld(t);
  const { pane_id } = await typist(t, w);
  const keys = [{ text: "ls é{}#'\"; ~" }, { key: "Enter" }, { key: "Up" }, { key: "Ctrl-c" }, {
    paste: "two\nlines",
  }, { key: "Tab" }];
  const answer = await type(w, keys);
  assert.partialDeepStrictEqual(answer, { status: 200, pane_id, keys: 6, overruled: DRAFT });
  const expected = "ls é{}#'\"; ~\r\x1b[A\x03\x1b[200~two\rlines\x1b[201~\t";
  await until("the keys", () => t.read("got") === expected);
});

withTmux("typed text is neither in tmux's log nor in its buffers", async (t) => {
  await using w = typingWorld(t);
  await typist(t, w);
  assert.equal((await type(w, [{ text: "a secret" }])).status, 200);
  await until("the keys", () => t.read("got") === "a secret");
  assert.equal(t.cli("list-buffers"), "");
  assert.doesNotMatch(t.cli("show-messages"), /a secret/);
});

withTmux("typing is off unless the configuration allows it", async (t) => {
  await using w = typingWorld(t, { allow: false });
  await typist(t, w);
  const refused = await type(w, [{ text: "x" }]);
  assert.deepEqual([refused.status, refused.error], [403, "typing_off"]);
  assert.match(String(refused.hint), /mesh config set panes\.allow_typing true/);
  assert.equal(t.read("got"), "");
});

withTmux("a program, an agent and a page without a ticket cannot type", async (t) => {
  const sockets = new FakeSockets();
  await using w = typingWorld(t, { at_terminal: false, sockets });
  const { agent_pid } = await typist(t, w);
  sockets.holders = [];
  const page = await signIn(w);
  const plain = { "sec-fetch-site": "same-origin", origin: BASE };
  for (const headers of [{}, TERMINAL, plain]) {
    const refused = await type(w, [{ text: "x" }], {}, headers);
    assert.deepEqual([refused.status, refused.error], [403, "human_not_proven"]);
  }
  // The agent's own process holds the socket, and has got hold of the page's cookie.
  sockets.holders = [agent_pid];
  const stolen = await type(w, [{ text: "x" }], {}, page);
  assert.deepEqual([stolen.status, stolen.error], [403, "human_not_proven"]);
  sockets.holders = [];
  const typed = await type(w, [{ text: "mine" }], {}, page);
  assert.equal(typed.status, 200, JSON.stringify(typed));
  await until("the keys", () => t.read("got") === "mine");
});

withTmux("nothing is typed once another program runs in the pane", async (t) => {
  await using w = typingWorld(t);
  const { pane_id, agent_pid } = await typist(t, w);
  replaceProgram(t, { pane: pane_id, pid: agent_pid });
  const refused = await type(w, [{ text: "x" }, { key: "Enter" }]);
  assert.deepEqual([refused.status, refused.error], [409, "pane_unverified"]);
  assert.deepEqual([t.read("got"), t.read("other")], ["", ""]);
});

withTmux("nothing is typed if the program is replaced right before the keys", async (t) => {
  let swap = () => {};
  let checks = 0;
  const screen: Screen = {
    ...genericScreen,
    composerEmpty(view) {
      // The first check is made before the text goes to tmux, the second right before the keys.
      if (++checks === 2) swap();
      return genericScreen.composerEmpty(view);
    },
  };
  await using w = typingWorld(t, { screen });
  const { pane_id } = await typist(t, w);
  swap = () => respawn(t, pane_id);
  const refused = await type(w, [{ text: "x" }, { key: "Enter" }]);
  assert.partialDeepStrictEqual(refused, { status: 409, error: "not_typed" });
  assert.deepEqual([t.read("got"), t.read("other"), t.cli("list-buffers")], ["", "", ""]);
});

withTmux("a draft and a dialog hold keys back until the person accepts them", async (t) => {
  await using w = typingWorld(t, { screen: claudeScreen });
  const agent = await Agent.start(t);
  const { pane: pane_id, pid: agent_pid } = agent;
  const tmux_socket = t.socket;
  await addPeer(w, "ada", { backend: "generic", pane_id, tmux_socket, agent_pid });
  const keys = [{ text: "1" }];
  const typed = await type(w, keys, { accept: [] });
  assert.deepEqual([typed.status, typed.overruled], [200, []]);
  await until("the draft", () => /❯\s1$/m.test(t.screen(pane_id)));
  assert.equal((await type(w, keys, { accept: [] })).reason, "draft_present");
  assert.deepEqual((await type(w, keys)).overruled, DRAFT);
  await until("the draft", () => /❯\s11$/m.test(t.screen(pane_id)));
  agent.openDialog();
  const held = await type(w, [{ key: "Enter" }]);
  assert.partialDeepStrictEqual(held, { status: 409, error: "not_typed", reason: "dialog_open" });
  assert.equal(agent.input, "11");
  const accept = [...DRAFT, "screen_unknown", "dialog_open"];
  const answered = await type(w, [{ key: "Enter" }], { accept });
  assert.ok(answered.overruled.includes("dialog_open"), JSON.stringify(answered));
  await until("the approval", () => agent.events.some(({ approved }) => approved));
});

withTmux("nothing is typed into panes that tmux keeps in step", async (t) => {
  await using w = typingWorld(t);
  const { pane_id } = await typist(t, w);
  t.cli("split-window", "-t", pane_id, recorder(`${t.dir}/other`));
  t.cli("set-option", "-w", "-t", pane_id, "synchronize-panes", "on");
  const refused = await type(w, [{ key: "Enter" }]);
  assert.partialDeepStrictEqual(refused, { status: 409, reason: "synchronized" });
  assert.deepEqual([t.read("got"), t.read("other")], ["", ""]);
});

withTmux("an empty list of keys only checks", async (t) => {
  await using w = typingWorld(t);
  const { pane_id } = await typist(t, w);
  assert.partialDeepStrictEqual(await type(w, []), { status: 200, keys: 0 });
  t.cli("copy-mode", "-t", pane_id);
  assert.partialDeepStrictEqual(await type(w, []), { status: 409, reason: "copy_mode" });
  assert.equal(t.read("got"), "");
});

Deno.test("keys have limits, and a text has no control characters", async () => {
  await using w = world({ at_terminal: true, settings: { "human.name": "sam" } });
  const refused = [
    [{ text: "\x1b[A" }],
    [{ text: "two\nlines" }],
    [{ text: "" }],
    [{ key: "F1" }],
    [{ key: "Ctrl-cc" }],
    [{ paste: "\x07" }],
    [{ text: "x", key: "Enter" }],
    [{ text: "x".repeat(8193) }],
    [{ text: "x".repeat(5000) }, { text: "x".repeat(5000) }],
    Array.from({ length: 65 }, () => ({ key: "Enter" })),
  ];
  for (const keys of refused) {
    const answer = await post(w, "/peers/ada/keys", { keys }, TERMINAL);
    assert.deepEqual([answer.status, answer.error], [422, "invalid_request"], JSON.stringify(keys));
  }
});

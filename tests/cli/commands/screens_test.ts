/** `mesh screen` and `mesh type`: a peer's pane as text, and a person's keys for it. */

import assert from "node:assert/strict";
import { answeringDaemon, PEER, refusal } from "../../support/cli/answering_daemon.ts";

const SCREEN = {
  peer_id: PEER.peer_id,
  pane_id: "%3",
  width: 20,
  height: 4,
  cursor: null,
  in_mode: false,
  rows: ["\x1b[32m  ready\x1b[0m  ", "> \x1b]0;title\x07go\u202e", "", ""],
};

Deno.test("screen prints the pane's rows as plain text, without blank rows at the end", async () => {
  await using p = answeringDaemon({ "GET /peers/api/pane": () => SCREEN });
  const { out, code } = await p.mesh(["screen", "api"]);
  assert.deepEqual([code, out], [0, "  ready\n> ]0;titlego\n"]);
});

Deno.test("screen --color keeps colours, and no other control character", async () => {
  await using p = answeringDaemon({ "GET /peers/api/pane": () => SCREEN });
  const { out } = await p.mesh(["screen", "api", "--color"]);
  assert.equal(out, "\x1b[32m  ready\x1b[0m\n> ]0;titlego\n\x1b[0m");
});

Deno.test("screen --json prints the whole answer", async () => {
  await using p = answeringDaemon({ "GET /peers/api/pane": () => SCREEN });
  const { out } = await p.mesh(["screen", "api", "--json"]);
  assert.deepEqual(JSON.parse(out), SCREEN);
});

const TYPED = { peer_id: PEER.peer_id, pane_id: "%3", keys: 1, overruled: [] };

/** The body that a command sends. */
async function sentBody(...args: string[]): Promise<unknown> {
  await using p = answeringDaemon({ "POST /peers/api/keys": () => TYPED });
  const { code, err } = await p.mesh(["type", "api", ...args]);
  assert.equal(code, 0, err);
  return p.received.find(({ route }) => route.startsWith("POST /peers/api/keys"))?.body;
}

Deno.test("type sends the text, then the keys, then Enter, and accepts nothing", async () => {
  const keys = [{ text: "Go on" }, { key: "Up" }, { key: "Ctrl-c" }, { key: "Enter" }];
  const args = ["Go on", "--key", "Up", "--key", "ctrl-c", "--enter"];
  assert.deepEqual(await sentBody(...args), { keys, accept: [] });
});

Deno.test("a text of several lines is pasted", async () => {
  assert.deepEqual(await sentBody("one\ntwo"), { keys: [{ paste: "one\ntwo" }], accept: [] });
});

Deno.test("type --force accepts everything that a person may overrule", async () => {
  const accept = ["draft_present", "dialog_open", "screen_unknown", "not_foreground"];
  const body = { keys: [{ key: "Enter" }], accept: [...accept, "shell_prompt"] };
  assert.deepEqual(await sentBody("--enter", "--force"), body);
});

Deno.test("type says what --force has overruled", async () => {
  const overruled = { ...TYPED, overruled: ["draft_present"] };
  await using p = answeringDaemon({ "POST /peers/api/keys": () => overruled });
  const { err } = await p.mesh(["type", "api", "yes", "--force"]);
  assert.match(err, /overruled: draft_present/);
});

Deno.test("type refuses an unknown key, and a call without input", async () => {
  await using p = answeringDaemon();
  const unknown = await p.mesh(["type", "api", "--key", "Hyper"]);
  assert.match(unknown.err, /"Hyper" is no key; allowed: Enter, .*Ctrl-a to Ctrl-z/);
  const nothing = await p.mesh(["type", "api"]);
  assert.match(nothing.err, /Nothing to type: give a text, --key or --enter/);
  assert.deepEqual([unknown.code, nothing.code], [2, 2]);
  assert.deepEqual(p.received, []);
});

Deno.test("a refusal of the daemon is printed with its hint", async () => {
  const body = { error: "typing_off", detail: "Typing into panes is off", hint: "switch it on" };
  await using p = answeringDaemon({ "POST /peers/api/keys": () => refusal(403, body) });
  const { code, err } = await p.mesh(["type", "api", "yes"]);
  assert.equal(code, 1);
  assert.match(err, /Typing into panes is off/);
});

/** The pane that an environment names, also where one terminal runs inside of the other. */

import assert from "node:assert/strict";
import {
  addressFor,
  kindOf,
  paneOf,
  socketPathOf,
} from "../../../daemon/host/terminal_addresses.ts";

const TMUX = { TMUX: "/missing/tmux,0/default,12,0", TMUX_PANE: "%4" };
const KITTY = { KITTY_LISTEN_ON: "unix:/run/user/1/kitty-9", KITTY_WINDOW_ID: "3" };
const IN_TMUX = { pane_id: "%4", tmux_socket: "/missing/tmux,0/default" };
const IN_KITTY = { pane_id: "3", tmux_socket: "kitty:/run/user/1/kitty-9" };

// deno-fmt-ignore
const CASES: [string, Record<string, string>, unknown][] = [
  ["a tmux pane",                        TMUX,                                                                IN_TMUX],
  ["a kitty window",                     { ...KITTY, TERM: "xterm-kitty" },                                   IN_KITTY],
  ["a program that kitty gave no TERM",  KITTY,                                                               IN_KITTY],
  ["tmux inside of kitty",               { ...TMUX, ...KITTY, TERM: "tmux-256color", TERM_PROGRAM: "tmux" },  IN_TMUX],
  ["a tmux that calls itself kitty",     { ...TMUX, ...KITTY, TERM: "xterm-kitty", TERM_PROGRAM: "tmux" },    IN_TMUX],
  ["kitty that was started in tmux",     { ...TMUX, ...KITTY, TERM: "xterm-kitty" },                          IN_KITTY],
  ["kitty without remote control",       { KITTY_WINDOW_ID: "3" },                                            undefined],
  ["kitty at an abstract socket",        { ...KITTY, KITTY_LISTEN_ON: "unix:@kitty" },                        undefined],
  ["kitty at a network port",            { ...KITTY, KITTY_LISTEN_ON: "tcp:localhost:1" },                    undefined],
  ["neither",                            {},                                                                  undefined],
];

for (const [what, env, pane] of CASES) {
  Deno.test(`the pane of ${what}`, () => assert.deepEqual(paneOf(env), pane));
}

Deno.test("an address names its terminal and the path of its socket", () => {
  const addresses = ["/missing/s", "kitty:/missing/s"];
  assert.deepEqual(addresses.map(kindOf), ["tmux", "kitty"]);
  assert.deepEqual(addresses.map(socketPathOf), ["/missing/s", "/missing/s"]);
});

Deno.test("a window's id is looked up in the kitty around it, and a pane's is not", () => {
  assert.equal(addressFor("3", KITTY), "kitty:/run/user/1/kitty-9");
  assert.equal(addressFor("%3", KITTY), undefined);
  assert.equal(addressFor("3", TMUX), undefined);
});

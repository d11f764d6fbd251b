/** The control-mode connection leaves no trace in the user's tmux server. */

import assert from "node:assert/strict";
import { type Terminal, until, withTmux } from "../../../support/host/private_tmux.ts";

/** Everything in a server that its user could notice. */
function traces(terminal: Terminal): string {
  return [
    terminal.cli("list-sessions", "-F", "#{session_name} #{session_attached} #{session_group}"),
    terminal.cli("list-windows", "-a", "-F", "#{window_id} #{window_layout} #{window_flags}"),
    terminal.cli("list-panes", "-a", "-F", "#{pane_id} #{pane_width}x#{pane_height}"),
    terminal.cli("list-clients"),
    terminal.cli("list-buffers"),
    terminal.cli("show-options", "-g"),
    terminal.cli("show-environment", "-t", "one"),
    terminal.cli("show-environment", "-g"),
  ].join("\n--\n");
}

withTmux("the connection leaves no session, client, buffer, size or variable behind", async (t) => {
  const pane = t.start("cat", "one");
  t.start("cat", "two");
  t.cli("set-environment", "-t", "one", "DISPLAY", "mine");
  const before = traces(t);
  const loaded = await t.tmux.load("x");
  assert.ok(loaded.ok);
  const paste = ["paste-buffer", "-p", "-d", "-b", loaded.buffer, "-t", pane];
  assert.ok((await t.tmux.run(paste)).ok);
  assert.ok((await t.tmux.load("never pasted")).ok);
  assert.ok((await t.tmux.panes()).ok);
  const sizes = t.cli("list-windows", "-a", "-F", "#{window_id} #{window_layout} #{window_flags}");
  assert.ok(before.includes(sizes));
  await t.tmux.close();
  await until("the client to leave", () => t.cli("list-clients") === "");
  assert.equal(traces(t), before);
});

withTmux("a buffer left by a lost connection is cleared by the next one", async (terminal) => {
  terminal.start("cat", "one");
  const before = traces(terminal);
  assert.ok((await terminal.tmux.load("never pasted")).ok);
  terminal.cli("detach-client", "-s", terminal.cli("list-clients", "-F", "#{session_name}"));
  assert.ok((await terminal.tmux.query(["display-message", "-p", "x"])).ok);
  await until("the buffer to go", () => terminal.cli("list-buffers") === "");
  await terminal.tmux.close();
  await until("the client to leave", () => terminal.cli("list-clients") === "");
  assert.equal(traces(terminal), before);
});

/** Users attached to sessions: clients that run in the panes of another tmux server. */
class AttachedUsers implements Disposable {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  async attach(session: string, width: number): Promise<void> {
    const command = `env TMUX= tmux -S ${this.#terminal.socket} attach -t ${session}`;
    this.#tmux("new-session", "-d", "-x", String(width), "-y", "15", command);
    const widths = () => this.#terminal.cli("list-clients", "-F", "#{client_width}").split("\n");
    await until("the user", () => widths().includes(String(width)));
  }

  [Symbol.dispose](): void {
    this.#tmux("kill-server");
  }

  #tmux(...args: string[]): void {
    const server = ["-S", `${this.#terminal.dir}/outer`, "-f", "/dev/null"];
    new Deno.Command("tmux", { args: [...server, ...args], env: { TMUX: "" } }).outputSync();
  }
}

withTmux("two users attached to one session keep their window sizes", async (terminal) => {
  const pane = terminal.start("cat", "one");
  using users = new AttachedUsers(terminal);
  await users.attach("one", 70);
  await users.attach("one", 60);
  const size = () => terminal.format(pane, "#{window_width}x#{window_height}");
  const before = await until("a size", () => /^60x/.test(size()) && size());
  assert.ok((await terminal.tmux.run(["refresh-client"])).ok);
  assert.ok((await terminal.tmux.panes()).ok);
  assert.equal(size(), before);
  await terminal.tmux.close();
  await until("our client to leave", () => terminal.cli("list-clients").split("\n").length === 2);
  assert.equal(size(), before);
});

withTmux(
  "the connection joins a session that a user is attached to, and leaves others unmarked",
  async (t) => {
    for (const session of ["one", "two", "three", "four"]) t.start("cat", session);
    using users = new AttachedUsers(t);
    await users.attach("three", 70);
    await users.attach("two", 60);
    assert.ok((await t.tmux.panes()).ok);
    const attached = t.cli("list-sessions", "-F", "#{session_name} #{session_attached}").split(
      "\n",
    );
    assert.deepEqual(attached, ["four 0", "one 0", "three 2", "two 1"]);
  },
);

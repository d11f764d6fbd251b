/** What a connection to tmux leaves behind: nothing, also for users of the same session. */

import assert from "node:assert/strict";
import { type Terminal, until, withTmux } from "../../../support/host/private_tmux.ts";
import { linesOf, pasteInto } from "../../../support/host/private_tmux.ts";

/** All that a user could notice of a server. */
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
  await pasteInto(t, pane, "x");
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
  assert.deepEqual(await linesOf(terminal.tmux.query(["display-message", "-p", "x"])), ["x"]);
  await until("the buffer to go", () => terminal.cli("list-buffers") === "");
  await terminal.tmux.close();
  await until("the client to leave", () => terminal.cli("list-clients") === "");
  assert.equal(traces(terminal), before);
});

/** Users who look at sessions: clients in the panes of another tmux server. */
class Users implements Disposable {
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

withTmux("two users who look at one session keep their sizes", async (terminal) => {
  const pane = terminal.start("cat", "one");
  using users = new Users(terminal);
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

withTmux("the connection joins a session that a user looks at, and marks no other", async (t) => {
  for (const session of ["one", "two", "three", "four"]) t.start("cat", session);
  using users = new Users(t);
  await users.attach("three", 70);
  await users.attach("two", 60);
  assert.ok((await t.tmux.panes()).ok);
  const attached = t.cli("list-sessions", "-F", "#{session_name} #{session_attached}").split("\n");
  assert.deepEqual(attached, ["four 0", "one 0", "three 2", "two 1"]);
});

withTmux(
  "work for one pane takes turns, even after a fault; panes do not wait for each other",
  async (t) => {
    const order: string[] = [];
    const { promise: barrier, resolve: open } = Promise.withResolvers<void>();
    const first = t.tmux.runExclusive("%1", async () => {
      await barrier;
      order.push("first");
      throw new Error("a fault");
    });
    const second = t.tmux.runExclusive("%1", () => Promise.resolve(order.push("second")));
    await t.tmux.runExclusive("%2", () => Promise.resolve(order.push("other")));
    open();
    await assert.rejects(first, /a fault/);
    await second;
    assert.deepEqual(order, ["other", "first", "second"]);
  },
);

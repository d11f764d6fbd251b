/** Looks at panes: one question for all of them, and screens only after something was written. */

import assert from "node:assert/strict";
import { PaneCache } from "../../../../daemon/host/tmux/pane_cache.ts";
import { FakeClock } from "../../../support/clock.ts";
import { paneRecord } from "../../../support/host/fake_panes.ts";
import { withTmux } from "../../../support/host/private_tmux.ts";

/** Many more looks than a second has room for. */
const LOOKS_MAX = 2000;

/** A server with one pane, `%1`, that tells what it was asked. */
function fixture() {
  const clock = new FakeClock();
  const server = { asked: [] as string[], lists: true, wrote_at: clock.now(), text: "" };
  const looks = new PaneCache({
    panes() {
      server.asked.push("list-panes");
      if (!server.lists) return Promise.resolve({ ok: false, reason: "no_server", message: "" });
      const pane = paneRecord({ pane_id: "%1", written_s: Math.floor(server.wrote_at / 1000) });
      return Promise.resolve({ ok: true, panes: [pane] });
    },
    capture() {
      server.asked.push("capture-pane");
      return Promise.resolve({ ok: true, lines: [server.text] });
    },
  }, clock);
  return {
    clock,
    looks,
    server,
    write(text: string) {
      server.text = text;
      server.wrote_at = clock.now();
    },
    /** What the pane shows, and what the server was asked to learn it. */
    async shown() {
      server.asked = [];
      const screen = await looks.screen("%1");
      return [screen.ok ? screen.lines[0] : screen.reason, server.asked.length];
    },
  };
}

Deno.test("those who look at panes at once share one answer, later ones get a new one", async () => {
  const { looks, server } = fixture();
  const [one, other] = await Promise.all([looks.panes(), looks.panes()]);
  assert.equal(one, other);
  assert.ok(one?.ok && one.panes.get("%1")?.dead === false);
  await looks.panes();
  assert.deepEqual(server.asked, ["list-panes", "list-panes"]);
});

Deno.test("a screen is read again only once something was written to it", async () => {
  const { clock, write, shown } = fixture();
  write("one");
  await clock.advance(2000);
  assert.deepEqual(await shown(), ["one", 2]);
  await clock.advance(2000);
  assert.deepEqual(await shown(), ["one", 1]);
  write("two");
  await clock.advance(2000);
  assert.deepEqual(await shown(), ["two", 2]);
  assert.deepEqual(await shown(), ["two", 1]);
});

Deno.test("what is written in the second that a screen was read in is not missed", async () => {
  const { clock, write, shown } = fixture();
  await clock.advance(2000);
  write("one");
  await clock.advance(400);
  assert.deepEqual(await shown(), ["one", 2]);
  write("two");
  await clock.advance(2000);
  assert.deepEqual(await shown(), ["two", 2]);
});

Deno.test("a server that is gone, or has lost a pane, is not answered for", async () => {
  const { clock, server, shown, looks } = fixture();
  await clock.advance(2000);
  assert.deepEqual(await shown(), ["", 2]);
  server.lists = false;
  assert.deepEqual(await shown(), ["no_server", 1]);
  server.lists = true;
  server.asked = [];
  await looks.screen("%2");
  assert.deepEqual(server.asked, ["list-panes", "capture-pane"], "tmux says that it is missing");
});

withTmux("tmux counts what a program writes, so that a look finds it", async (terminal) => {
  const pane = terminal.start("cat");
  const looks = new PaneCache(terminal.tmux, new FakeClock()); // For it all seconds are over.
  const shown = async () => {
    const screen = await looks.screen(pane);
    return screen.ok ? screen.lines.join("\n") : screen.message;
  };
  assert.doesNotMatch(await shown(), /hello/);
  let text = "";
  for (let look = 0; look < LOOKS_MAX && !text.includes("hello"); look++) {
    terminal.cli("send-keys", "-t", pane, "hello", "Enter");
    text = await shown();
  }
  assert.match(text, /hello/);
});

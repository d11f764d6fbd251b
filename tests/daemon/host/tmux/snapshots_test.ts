/** PaneCache: one query for concurrent callers, and screens read only after new output. */

import assert from "node:assert/strict";
import { PaneCache } from "../../../../daemon/host/tmux/pane_cache.ts";
import { FakeClock } from "../../../support/clock.ts";
import { paneRecord } from "../../../support/host/fake_panes.ts";
import { withTmux } from "../../../support/host/private_tmux.ts";

/** Many more reads than fit into a second. */
const LOOKS_MAX = 2000;

/** A server with one pane, `%1`, that records its queries. */
function fixture() {
  const clock = new FakeClock();
  const server = { asked: [] as string[], lists: true, wrote_at: clock.now(), text: "" };
  const cache = new PaneCache({
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
    cache,
    server,
    write(text: string) {
      server.text = text;
      server.wrote_at = clock.now();
    },
    /** The pane's text, and the number of queries that the read caused. */
    async readScreen() {
      server.asked = [];
      const screen = await cache.screen("%1");
      return [screen.ok ? screen.lines[0] : screen.reason, server.asked.length];
    },
  };
}

Deno.test("concurrent callers share one query, later ones get a new one", async () => {
  const { cache, server } = fixture();
  const [first, second] = await Promise.all([cache.panes(), cache.panes()]);
  assert.equal(first, second);
  assert.ok(first?.ok && first.panes.get("%1")?.dead === false);
  await cache.panes();
  assert.deepEqual(server.asked, ["list-panes", "list-panes"]);
});

Deno.test("a screen is read again only after new output", async () => {
  const { clock, write, readScreen: shown } = fixture();
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

Deno.test("output in the second in which a screen was read is not missed", async () => {
  const { clock, write, readScreen: shown } = fixture();
  await clock.advance(2000);
  write("one");
  await clock.advance(400);
  assert.deepEqual(await shown(), ["one", 2]);
  write("two");
  await clock.advance(2000);
  assert.deepEqual(await shown(), ["two", 2]);
});

Deno.test("a server that is gone, or has lost a pane, gives no cached result", async () => {
  const { clock, server, readScreen: shown, cache } = fixture();
  await clock.advance(2000);
  assert.deepEqual(await shown(), ["", 2]);
  server.lists = false;
  assert.deepEqual(await shown(), ["no_server", 1]);
  server.lists = true;
  server.asked = [];
  await cache.screen("%2");
  assert.deepEqual(server.asked, ["list-panes", "capture-pane"], "tmux reports it missing");
});

withTmux("tmux reports a program's output, so that the next read finds it", async (terminal) => {
  const pane = terminal.start("cat");
  // A clock far in the future: output of any second counts as settled.
  const cache = new PaneCache(terminal.tmux, new FakeClock());
  const shown = async () => {
    const screen = await cache.screen(pane);
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

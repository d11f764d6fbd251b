/** Known tmux servers: their maximum number, their expiry, and the checks before each connect. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { randomIds } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";
import { paneObserverOf } from "../../../../daemon/host/tmux/pane_observer.ts";
import { IDLE_MS_MAX, SERVERS_MAX, TmuxServers } from "../../../../daemon/host/tmux/tmux.ts";
import { FakeClock } from "../../../support/clock.ts";
import { SEARCH_PATH, silent, until, withTmux } from "../../../support/host/private_tmux.ts";

/** A clock that only the test moves; no server answers in time by it. */
const LONG_TIMEOUTS = { answer_ms_max: 10 * IDLE_MS_MAX };

function clients(log: Log = silent) {
  const clock = new FakeClock();
  const ctx = { clock, ids: randomIds, log, search_path: SEARCH_PATH };
  const dir = Deno.makeTempDirSync();
  const tmuxServers = new TmuxServers({ ...ctx, ...LONG_TIMEOUTS, state_dir: dir });
  return {
    clock,
    tmuxServers,
    async pass(ms: number): Promise<void> {
      await clock.advance(ms);
      tmuxServers.tick(clock.monotonic());
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await tmuxServers[Symbol.asyncDispose]();
      Deno.removeSync(dir, { recursive: true });
    },
  };
}

const ASK = ["display-message", "-p", "x"];

withTmux(
  "a client that is idle for ten minutes is ended, and comes back on the next command",
  async (t) => {
    t.start("cat");
    await using at = clients();
    assert.ok((await at.tmuxServers.at(t.socket).run(ASK)).ok);
    await at.pass(IDLE_MS_MAX - 1);
    assert.ok((await at.tmuxServers.at(t.socket).run(ASK)).ok);
    await at.pass(IDLE_MS_MAX - 1);
    assert.deepEqual([at.tmuxServers.size, t.cli("list-clients").split("\n").length], [1, 1]);
    await at.pass(1);
    assert.equal(at.tmuxServers.size, 0);
    await until("the client to leave", () => t.cli("list-clients") === "");
    assert.ok((await at.tmuxServers.at(t.socket).run(ASK)).ok);
  },
);

withTmux("a client is kept while a command waits or an exclusive operation runs", async (t) => {
  t.start("cat");
  await using at = clients();
  const tmux = at.tmuxServers.at(t.socket);
  const waiting = tmux.run(["wait-for", "gate"]);
  await at.pass(2 * IDLE_MS_MAX);
  assert.equal(at.tmuxServers.at(t.socket), tmux);
  t.cli("wait-for", "-S", "gate");
  assert.ok((await waiting).ok);
  const barrier = Promise.withResolvers<void>();
  const turn = tmux.runExclusive("%0", () => barrier.promise);
  const next = tmux.runExclusive("%0", () => tmux.run(ASK));
  await at.pass(2 * IDLE_MS_MAX);
  assert.equal(at.tmuxServers.at(t.socket), tmux);
  barrier.resolve();
  await turn;
  assert.ok((await next).ok);
});

Deno.test("callers cannot make more servers known than the limit", async () => {
  await using at = clients();
  for (let number = 0; number < 10 * SERVERS_MAX; number++) {
    const answer = await at.tmuxServers.at(`/nowhere/${number}`).run(ASK);
    assert.partialDeepStrictEqual(answer, { ok: false, reason: "no_server" });
  }
  assert.equal(at.tmuxServers.size, SERVERS_MAX);
});

withTmux("a server in use is kept, however many others are named", async (t) => {
  t.start("cat");
  await using at = clients();
  const tmux = at.tmuxServers.at(t.socket);
  assert.ok((await tmux.run(ASK)).ok);
  for (let number = 0; number < 2 * SERVERS_MAX; number++) at.tmuxServers.at(`/nowhere/${number}`);
  assert.equal(at.tmuxServers.at(t.socket), tmux);
});

Deno.test("if all servers are in use, another one is refused until one is free", async () => {
  await using at = clients();
  const barrier = Promise.withResolvers<void>();
  const sockets = Array.from({ length: SERVERS_MAX }, (_, number) => `/nowhere/${number}`);
  const turns = sockets.map((socket) =>
    at.tmuxServers.at(socket).runExclusive("%0", () => barrier.promise)
  );
  const refused = await at.tmuxServers.at("/nowhere/more").run(ASK);
  const message = "Too many tmux servers are in use";
  assert.deepEqual(refused, { ok: false, reason: "closed", message });
  barrier.resolve();
  await Promise.all(turns);
  const answer = await at.tmuxServers.at("/nowhere/more").run(ASK);
  assert.partialDeepStrictEqual(answer, { ok: false, reason: "no_server" });
});

withTmux("a socket is checked at each connect, and a refusal is logged once", async (t) => {
  t.start("cat");
  const warned: unknown[] = [];
  await using at = clients({ ...silent, warn: (_, fields) => void warned.push(fields) });
  const tmux = at.tmuxServers.at(t.socket);
  Deno.chmodSync(t.dir, 0o777);
  for (let round = 0; round < 3; round++) {
    assert.partialDeepStrictEqual(await tmux.query(ASK), { ok: false, reason: "untrusted" });
  }
  assert.equal(warned.length, 1);
  Deno.chmodSync(t.dir, 0o700);
  assert.ok((await tmux.run(ASK)).ok);
  Deno.chmodSync(t.dir, 0o777);
  assert.ok((await tmux.run(ASK)).ok, "an open connection stays open");
  t.cli("detach-client", "-s", t.cli("list-clients", "-F", "#{session_name}"));
  const lost = (result: { ok: boolean }) => !result.ok;
  assert.ok(lost(await tmux.query(ASK)));
  assert.partialDeepStrictEqual(await tmux.run(ASK), { ok: false, reason: "untrusted" });
});

withTmux("panes are found on every server whose socket is beside the user's own", async (t) => {
  const pane_id = t.start("cat");
  await using at = clients();
  const folder = dirname(t.socket);
  const paneObserver = paneObserverOf(at.tmuxServers, join(folder, "default"));
  Deno.writeTextFileSync(join(folder, "notes.txt"), "not a socket");
  assert.deepEqual(await paneObserver.all([]), []);
  const found = await paneObserver.everywhere([]);
  assert.deepEqual(found.map((pane) => [pane.tmux_socket, pane.pane_id]), [[t.socket, pane_id]]);
});

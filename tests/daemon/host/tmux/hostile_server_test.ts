/** Attacks by another user's tmux server, in every way in which a caller can name one. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { loadAgents } from "../../../../daemon/app/platform.ts";
import { TmuxServers } from "../../../../daemon/host/tmux/tmux.ts";
import { world } from "../../../support/world.ts";
import { addPeer, get, post } from "../../../support/daemon/peer_clients.ts";
import { HostileTmux } from "../../../support/host/hostile_tmux.ts";
import { SEARCH_PATH, silent, withTmux } from "../../../support/host/private_tmux.ts";

const NOBODY_UID = 65_534;
const PANE = "%0";
const SECRETS = { MESH_DAEMON__AUTH_TOKEN: "s3cret", HARMLESS: "1" };

/** Ways in which a socket may have been created by another user. */
const KINDS: Readonly<Record<string, (socket: string) => void>> = {
  "in a folder that others may write to": (socket) => Deno.chmodSync(dirname(socket), 0o777),
  "of another user": (socket) => Deno.chownSync(socket, NOBODY_UID, NOBODY_UID),
  "in a folder of another user": (socket) =>
    Deno.chownSync(dirname(socket), NOBODY_UID, NOBODY_UID),
};

interface AttackFixture {
  readonly w: ReturnType<typeof world>;
  readonly hostile: HostileTmux;
  readonly dir: string;
}

/** A daemon with the machine's real tmux in a directory, which is also `TMUX_TMPDIR`. */
async function withDaemon(
  dir: string,
  work: (w: AttackFixture["w"]) => Promise<void>,
): Promise<void> {
  const ctx = { clock: systemClock, ids: randomIds, log: silent };
  const env = { PATH: SEARCH_PATH, HOME: dir, TMUX_TMPDIR: dir, ...SECRETS };
  await using platform = await loadAgents({ ...ctx, state: join(dir, "state"), env });
  await using w = world({
    adapters: platform.adapters,
    hooks: platform.hooks,
    paneObserver: platform.paneObserver,
    terminals: platform.terminals,
    paneOf: (socket, pane_id) => platform.paneOf(socket, pane_id),
    settings: {
      "spawn.commands": '{"codex":["cat"]}',
      "spawn.allowed_paths": JSON.stringify([dir]),
    },
  });
  await work(w);
}

/** The same attack with a hostile server of each kind. */
function testAttack(
  name: string,
  by: (testAttack: AttackFixture) => Promise<void>,
  { in_own_folder = false }: { in_own_folder?: boolean } = {},
): void {
  for (const [kind, spoil] of Object.entries(KINDS)) {
    withTmux(`${name}, by a socket ${kind}`, async () => {
      const dir = Deno.makeTempDirSync({ prefix: "mesh-hostile-" });
      const own = join(dir, `tmux-${Deno.uid()}`), other = join(dir, "other");
      for (const folder of [own, other]) Deno.mkdirSync(folder, { mode: 0o700 });
      await using hostile = new HostileTmux(in_own_folder ? own : other, "default");
      spoil(hostile.socket);
      try {
        await withDaemon(dir, (w) => by({ w, hostile, dir }));
      } finally { // Whether anything was run matters more than the answer.
        assert.deepEqual({ clients: hostile.clients, ran: hostile.hasRun }, {
          clients: 0,
          ran: false,
        });
        Deno.removeSync(dir, { recursive: true });
      }
    }, { root: kind.includes("another user") });
  }
}

/** Queries every server that the daemon knows, its own included. */
const listOrphans = ({ w }: AttackFixture) => get(w, "/panes/orphans");

const refusal = { status: 422, error: "invalid_request" };
const issuePaths = ({ issues }: { issues?: { path: string }[] }) => issues?.map(({ path }) => path);

testAttack("a registration is refused, and runs nothing", async (testAttack) => {
  const { w, hostile } = testAttack;
  const location = { pane_id: PANE, tmux_socket: hostile.socket };
  const said = await post(w, "/peers", { name: "a", path: "/", backend: "generic", ...location });
  await listOrphans(testAttack);
  assert.partialDeepStrictEqual(said, refusal);
  assert.deepEqual(issuePaths(said), ["tmux_socket"]);
});

testAttack("a connect is closed with 4002, and runs nothing", async (testAttack) => {
  const { w, hostile } = testAttack;
  const socket = w.socket();
  await socket.connect({ display_name: "a", pane_id: PANE, tmux_socket: hostile.socket });
  await listOrphans(testAttack);
  assert.equal(socket.closed?.code, 4002);
});

testAttack("an agent's plugin connects without its pane, and runs nothing", async (testAttack) => {
  const { w, hostile } = testAttack;
  const socket = w.socket();
  w.processes.start(7);
  const connected = await socket.connect({
    display_name: "a",
    backend: "opencode",
    agent_pid: 7,
    capabilities: ["framed_text"],
    pane_id: PANE,
    tmux_socket: hostile.socket,
  });
  await listOrphans(testAttack);
  assert.equal(connected?.type, "connected");
  const { peers } = await get(w, "/peers");
  assert.partialDeepStrictEqual(peers, [{ pane_id: null, tmux_socket: null }]);
});

testAttack("a hook succeeds without its pane, and runs nothing", async (testAttack) => {
  const { w, hostile } = testAttack;
  const hook = { session_id: "s1", hook_event_name: "SessionStart", source: "startup", cwd: "/" };
  const answer = await post(w, "/hooks/claude-code", hook, {
    "x-mesh-pane": PANE,
    "x-mesh-tmux": `${hostile.socket},1,0`,
    authorization: `Bearer ${w.daemon.identity.hook_token}`,
  });
  await listOrphans(testAttack);
  assert.deepEqual(answer, { status: 200 });
  const { peers } = await get(w, "/peers");
  assert.partialDeepStrictEqual(peers, [{ pane_id: null, tmux_socket: null }]);
});

testAttack("a spawn is refused, and runs nothing", async (testAttack) => {
  const { w, hostile, dir } = testAttack;
  const query = `tmux_socket=${encodeURIComponent(hostile.socket)}`;
  const said = await post(w, `/spawn?${query}`, { path: dir, backend: "codex" });
  assert.partialDeepStrictEqual(said, refusal);
  assert.deepEqual(issuePaths(said), ["tmux_socket"]);
});

testAttack("a link is refused, and runs nothing", async ({ w, hostile: { socket } }) => {
  const path = `/panes/${encodeURIComponent(PANE)}/link`;
  const named = await post(w, path, { backend: "generic", tmux_socket: socket });
  assert.partialDeepStrictEqual(named, refusal);
  const query = `?tmux_socket=${encodeURIComponent(socket)}`;
  assert.partialDeepStrictEqual(await post(w, `${path}${query}`, { backend: "generic" }), refusal);
});

testAttack("a row from before is asked nothing, and its messages wait", async (testAttack) => {
  const { w, hostile, dir } = testAttack;
  const location = { pane_id: PANE, tmux_socket: join(dir, "later"), agent_pid: 7 };
  w.processes.start(7);
  const { peer_id } = await addPeer(w, "ada", { backend: "generic", ...location });
  const { db } = w.daemon.ctx;
  const sql = "update peers set tmux_socket = :socket where peer_id = :peer_id";
  db.transact((tx) => tx.run(sql, { socket: hostile.socket, peer_id }));
  await listOrphans(testAttack);
  assert.equal((await get(w, `/peers/${peer_id}`)).status, "online");
  const { checks } = await get(w, `/peers/${peer_id}/doctor`);
  const paneCheck = checks.find(({ name }: { name: string }) => name === "transport pane");
  assert.match(paneCheck.detail, /^tmux_unreachable/);
});

testAttack(
  "the user's own socket is not used if another user created it first",
  async (testAttack) => {
    const { w, dir } = testAttack;
    await listOrphans(testAttack);
    const said = await post(w, "/spawn", { path: dir, backend: "codex" });
    assert.partialDeepStrictEqual(said, { status: 502, error: "spawn_failed" });
  },
  { in_own_folder: true },
);

withTmux("a pane on another machine is not looked up on this one", async ({ dir }) => {
  await using server = new HostileTmux(dir);
  await withDaemon(dir, async (w) => {
    w.processes.start(7);
    const far = { machine: "elsewhere", pane_id: PANE, tmux_socket: server.socket, agent_pid: 7 };
    const path = dir;
    const { peer_id } = await addPeer(w, "far", { backend: "generic", path, ...far });
    await get(w, "/panes/orphans");
    await w.tick(3);
    await post(w, "/notify", { from_peer: "cli", to_peer: "far", text: "hello" });
    await w.tick(3);
    await get(w, `/peers/${peer_id}/doctor`);
    await post(w, `/peers/${peer_id}/rehook`);
    await post(w, "/spawn", { path, backend: "codex", from_peer: "far", source_pane: PANE });
    await post(w, `/peers/${peer_id}/fork-backend`, { backend: "codex" });
  });
  // The daemon started agents in the user's own server.
  const own = join(dir, `tmux-${Deno.uid()}`, "default");
  new Deno.Command("tmux", { args: ["-S", own, "kill-server"], stderr: "null" }).outputSync();
  assert.equal(server.clients, 0);
});

Deno.test("a socket is named by an absolute path without control characters", async () => {
  await using w = world();
  for (const tmux_socket of ["", "default", "./default", "/missing/a\nb", "/missing/a\u001b[0m"]) {
    const said = await post(w, "/peers", { path: "/", backend: "generic", tmux_socket });
    assert.partialDeepStrictEqual(said, refusal);
  }
});

withTmux("a tmux client sends its server nothing of the daemon's environment", async (terminal) => {
  await using server = new HostileTmux(terminal.dir);
  const ctx = { clock: systemClock, ids: randomIds, log: silent };
  const options = { ...ctx, state_dir: terminal.dir, search_path: SEARCH_PATH };
  await using tmuxServers = new TmuxServers(options);
  await tmuxServers.at(server.socket).panes();
  const names = server.environment.map((variable) => variable.split("=")[0]);
  assert.deepEqual(names.sort(), ["LC_ALL", "PATH", "TERM", "TMUX"]);
  assert.ok(server.hasRun, "the fixture's server is hostile");
});

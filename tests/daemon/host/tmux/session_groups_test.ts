/** Session groups, linked windows, renamed sessions and odd names of tmux: a pane is one pane. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { loadAgents } from "../../../../daemon/app/platform.ts";
import { broadcast } from "protocol/notifications.ts";
import { linkPane, listOrphans } from "protocol/lifecycle.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import {
  SEARCH_PATH,
  silent,
  type Terminal,
  until,
  withTmux,
} from "../../../support/host/private_tmux.ts";
import { RealProcesses } from "../../../support/host/real_processes.ts";
import { get, post } from "../../../support/daemon/peer_clients.ts";
import { type World, world } from "../../../support/world.ts";

/** A daemon with the real tmux of a terminal. */
async function withDaemon(
  terminal: Terminal,
  work: (w: World) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  const ctx = { clock: systemClock, ids: randomIds, log: silent };
  const env = { PATH: SEARCH_PATH, HOME: terminal.dir, TMUX: `${terminal.socket},1,0` };
  await using platform = await loadAgents({ ...ctx, state: join(terminal.dir, "state"), env });
  await using w = world({
    adapters: platform.adapters,
    hooks: platform.hooks,
    paneObserver: platform.paneObserver,
    terminals: platform.terminals,
    processes: new RealProcesses(),
    paneOf: (socket, pane_id) => platform.paneOf(socket, pane_id),
    settings,
  });
  await work(w);
}

/** The circle of a peer that registers with its pane and names no circle. */
async function circleIn(w: World, terminal: Terminal, pane_id: string): Promise<string> {
  const place = { pane_id, tmux_socket: terminal.socket };
  const body = { path: "/work", backend: "sdk", name: `p${pane_id.slice(1)}`, ...place } as const;
  return (await w.call(registerPeer, { body })).circle;
}

/** The circle of the program that is linked in a pane. */
async function linkedCircle(w: World, pane_id: string): Promise<string | undefined> {
  const asked = { params: { pane_id }, query: {}, body: { backend: "generic" } } as const;
  const linked = await w.call(linkPane, asked);
  assert.ok(linked.linked, JSON.stringify(linked));
  return w.daemon.agentPeers.getRecord(linked.peer_id)?.circle;
}

/** A window whose program reads already. */
async function open(terminal: Terminal, ...args: string[]): Promise<string> {
  const pane_id = terminal.cli("new-window", "-d", "-P", "-F", "#{pane_id}", ...args, "cat");
  const command = ["display-message", "-p", "-t", pane_id, "#{pane_current_command}"];
  await until("the program of the pane", () => terminal.cli(...command) === "cat");
  return pane_id;
}

withTmux(
  "a pane of a session group is listed once, links, and has the group's circle",
  async (terminal) => {
    const first = terminal.start("cat", "work");
    for (const member of ["a-left", "zz-right"]) {
      terminal.cli("new-session", "-d", "-s", member, "-t", "work");
    }
    const second = await open(terminal, "-t", "a-left:");
    await withDaemon(terminal, async (w) => {
      const { panes } = await w.call(listOrphans, {});
      assert.deepEqual(panes.map(({ pane_id, session }) => [pane_id, session]), [
        [first, "work"],
        [second, "work"],
      ]);
      assert.equal(await linkedCircle(w, first), "work");
      assert.equal(await circleIn(w, terminal, second), "work");
      terminal.cli("rename-session", "-t", "=work", "play");
      terminal.cli("kill-session", "-t", "=a-left");
      const third = await open(terminal, "-t", "zz-right:");
      assert.equal(await linkedCircle(w, third), "work");
      const body = { from_peer: "cli", text: "Hello", circle: "work" };
      const { sent_to } = await w.call(broadcast, { body });
      assert.equal(sent_to.length, 3);
    });
  },
);

withTmux("a linked window's pane belongs to the session in which it was made", async (terminal) => {
  terminal.start("cat", "zebra");
  const made = await open(terminal, "-t", "zebra:", "-n", "shared");
  terminal.cli("new-session", "-d", "-s", "alpha", "cat");
  terminal.cli("link-window", "-s", "zebra:shared", "-t", "alpha:");
  await withDaemon(terminal, async (w) => {
    const { panes } = await w.call(listOrphans, {});
    assert.equal(panes.length, 3);
    assert.equal(await circleIn(w, terminal, made), "zebra");
    assert.equal(await linkedCircle(w, await open(terminal, "-t", "zebra:")), "zebra");
    terminal.cli("kill-session", "-t", "=zebra");
    const left = await w.call(listOrphans, {});
    assert.ok(left.panes.every(({ session }) => session === "alpha"));
  });
});

withTmux(
  "agents that start after a rename are in the circle of those before it",
  async (terminal) => {
    const first = terminal.start("cat", "old");
    await withDaemon(terminal, async (w) => {
      assert.equal(await circleIn(w, terminal, first), "old");
      terminal.cli("rename-session", "-t", "=old", "new");
      terminal.cli("rename-window", "-t", first, "another");
      assert.equal(await circleIn(w, terminal, await open(terminal, "-t", "new:")), "old");
      terminal.cli("new-session", "-d", "-s", "other", "-t", "new");
      assert.equal(await circleIn(w, terminal, await open(terminal, "-t", "other:")), "old");
    });
  },
);

/** Before version 3.8, tmux replaces `.` and `:` in names with `_`. */
const [major = 0, minor = 0] = tmuxVersion();
const isReplaced = major < 3 || (major === 3 && minor < 8);

function tmuxVersion(): number[] {
  try {
    const { stdout } = new Deno.Command("tmux", { args: ["-V"] }).outputSync();
    return /(\d+)\.(\d+)/.exec(new TextDecoder().decode(stdout))?.slice(1).map(Number) ?? [];
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Names as people give them, and the circles that they become. */
const NAMES = [
  ["my project", "my-project"],
  ["a;b", "a-b"],
  ["ends;", "ends"],
  ["c:d", isReplaced ? "c_d" : "c-d"],
  ["e.f", isReplaced ? "e_f" : "e.f"],
  ["100%", "100"],
  ['it\'s "quoted"', "it-s-quoted"],
  ["#{pid}", "pid"],
  ["$HOME", "HOME"],
  ["7", "7"],
  ["-v", "v"],
  ["=x", "x"],
  ["@1", "1"],
  ["Über", "ber"],
  ["n".repeat(200), "n".repeat(64)],
] as const;

withTmux(
  "sessions and windows with odd names are listed and linked, and agents spawn into them",
  async (terminal) => {
    terminal.start("cat", "plain");
    for (const [name] of NAMES) {
      const escaped = name.replace(/;$/, "\\;").replaceAll("#", "##");
      terminal.cli("new-session", "-d", "-s", escaped, "-n", name.replace(/;$/, "\\;"), "cat");
    }
    const settings = {
      "spawn.commands": '{"codex":["cat"]}',
      "spawn.allowed_paths": JSON.stringify([terminal.dir]),
    };
    await withDaemon(terminal, async (w) => {
      const { panes } = await w.call(listOrphans, {});
      assert.equal(panes.length, NAMES.length + 1);
      for (const [index, [name, circle]] of NAMES.entries()) {
        const { pane_id, window } = panes.find((pane) => pane.pane_id === `%${index + 1}`) ??
          assert.fail(name);
        assert.equal(await linkedCircle(w, pane_id), circle, name);
        const spawned = await w.daemon.spawns.launcher.launch(
          { path: terminal.dir, backend: "codex", circle },
          undefined,
        );
        const sessions = terminal.cli("list-windows", "-a", "-F", "#{session_id} #{window_id}");
        const sessionOf = (id: string) => new RegExp(`^(\\S+) ${id}$`, "m").exec(sessions)?.[1];
        assert.equal(sessionOf(spawned.pane.window), sessionOf(window), `${name}: ${sessions}`);
      }
    }, settings);
  },
);

withTmux(
  "a spawn in a folder that ends in a semicolon starts a tmux server, too",
  async (terminal) => {
    const folder = Deno.realPathSync(terminal.dir);
    for (const [index, name] of ["proj;", "a;b\\;", "#S;", "-x ;"].entries()) {
      const path = `${folder}/${name}`;
      Deno.mkdirSync(path);
      const settings = {
        "spawn.commands": '{"codex":["cat"]}',
        "spawn.env": '{"ODD": "ends;"}',
        "spawn.allowed_paths": JSON.stringify([folder]),
      };
      await withDaemon(terminal, async (w) => {
        const spawned = await w.daemon.spawns.launcher.launch(
          { path, backend: "codex" },
          undefined,
        );
        const shown = ["display-message", "-p", "-t", spawned.pane.pane_id, "#{pane_start_path}"];
        assert.equal(terminal.cli(...shown), path, String(index));
      }, settings);
      terminal.killServer();
    }
  },
);

withTmux(
  "a peer on a pane that is not there is reached by nothing, until the pane is there",
  async (terminal) => {
    const pane_id = terminal.start("cat", "work");
    await withDaemon(terminal, async (w) => {
      const reach = async (peer: string) => {
        const { transport, inbound_status } = await get(w, `/peers/${peer}`);
        return [transport, inbound_status];
      };
      const register = (name: string, place: Record<string, string>) =>
        post(w, "/peers", { path: "/work", backend: "generic", name, ...place });
      const tmux_socket = terminal.socket;
      await register("here", { pane_id, tmux_socket });
      await register("gone", { pane_id: "%99", tmux_socket });
      await register("elsewhere", { pane_id, tmux_socket: `${terminal.dir}/no-server` });
      await register("own", { pane_id: "%98", circle: "given" });
      assert.deepEqual(await reach("here"), ["pane", "ok"]);
      for (const name of ["gone", "elsewhere", "own"]) {
        assert.deepEqual(await reach(name), ["none", "no_transport"], name);
      }
      const late = await open(terminal, "-t", "work:");
      await register("closed", { pane_id: late, tmux_socket });
      assert.deepEqual(await reach("closed"), ["pane", "ok"]);
      terminal.cli("kill-pane", "-t", late);
      const isNoticed = async () => (await w.tick(3), (await reach("closed"))[0] === "none");
      await until("the end of the pane is noticed", isNoticed);
    });
  },
);

/** A tmux server is killed with peers in its panes: their messages wait, and go to nobody else. */

import assert from "node:assert/strict";
import { RealDaemon, temporary } from "../support/programs/child.ts";
import { pause } from "../support/programs/process_facts.ts";
import { until } from "../support/waiting.ts";

const PEERS = 3;
const TICKS_MS = 3000;

async function hasTmux(): Promise<boolean> {
  const args = ["-c", "command -v tmux"];
  return (await new Deno.Command("sh", { args, stdout: "null" }).output()).success;
}

/** A daemon that spawns its agents in a tmux server of its own. */
async function start(folder: string) {
  const socket = `${folder}/tmux-${Deno.uid()}/default`;
  const daemon = await RealDaemon.start(folder, {
    settings: {
      TMUX: "",
      TMUX_TMPDIR: folder,
      MESH_SPAWN__COMMANDS: JSON.stringify({ generic: ["cat"] }),
      MESH_SPAWN__ALLOWED_PATHS: JSON.stringify([folder]),
    },
  });
  return {
    daemon,
    tmux(...args: string[]): string {
      const command = new Deno.Command("tmux", {
        args: ["-u", "-S", socket, ...args],
        env: { TMUX: "" },
      });
      const { success, stdout, stderr } = command.outputSync();
      assert.ok(success, `tmux ${args[0]}: ${new TextDecoder().decode(stderr)}`);
      return new TextDecoder().decode(stdout).trim();
    },
    async call(path: string, body?: unknown) {
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const response = await fetch(daemon.base + path, init);
      return { status: response.status, ...await response.json() };
    },
    socket,
  };
}

Deno.test("messages to peers whose tmux was killed wait, and are typed into no other pane", {
  ignore: !await hasTmux(),
}, async () => {
  using folder = temporary();
  const { daemon, tmux, call, socket } = await start(folder.path);
  await using _ = daemon;
  for (let number = 0; number < PEERS; number++) {
    const name = `peer-${number}`;
    const { pane_id } = await call("/spawn", { backend: "generic", path: folder.path, name });
    const agent_pid = Number(tmux("display-message", "-p", "-t", pane_id, "#{pane_pid}"));
    const pane = { pane_id, tmux_socket: socket, agent_pid };
    await call("/peers", { backend: "generic", path: folder.path, name, ...pane });
  }
  const body = (text: string) => ({ from_peer: "ada", to_peer: "peer-0", text });
  assert.equal((await call("/notify", body("before"))).status, 200);
  await until("the first message to be typed", async () => {
    return (await call("/deliveries")).counts.sent === 1;
  });
  const server = Number(tmux("display-message", "-p", "#{pid}"));
  Deno.kill(server, "SIGKILL");
  const statuses = async () => {
    const { peers } = await call("/peers");
    return peers.map(({ status }: { status: string }) => status);
  };
  const areOffline = async () =>
    (await statuses()).every((status: string) => status === "offline" || status === "retired");
  await until("all peers to be offline", areOffline);
  assert.deepEqual(await statuses(), Array(PEERS).fill("offline"));
  const { status, delivery_state } = await call("/notify", body("after"));
  assert.deepEqual([status, delivery_state], [200, "queued"]);
  // A new server gives the same ids to the panes of other programs.
  tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "cat");
  try {
    await pause(TICKS_MS);
    assert.doesNotMatch(tmux("capture-pane", "-p", "-t", "%0"), /mesh|after/);
    const { counts, unaccounted } = await call("/deliveries");
    assert.deepEqual([counts, unaccounted], [{ queued: 1, sent: 1 }, []]);
  } finally {
    tmux("kill-server");
  }
});

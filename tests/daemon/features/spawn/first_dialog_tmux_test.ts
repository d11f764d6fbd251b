/** A program in a real tmux that shows the question of trust before it registers. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { geminiAdapter } from "../../../../daemon/features/agents/gemini/gemini.ts";
import { paneObserverOf } from "../../../../daemon/host/tmux/pane_observer.ts";
import { Panes } from "../../../../daemon/host/tmux/terminals.ts";
import { RealProcesses } from "../../../support/host/real_processes.ts";
import { silent, type Terminal, until, withTmux } from "../../../support/host/private_tmux.ts";
import { get, post } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

/** The question of Gemini CLI 0.61.0, and its composer once Enter answers it. */
const PROGRAM = `#!/bin/bash
cat <<'END'
 ╭──────────────────────────────────────────╮
 │ Do you trust the files in this folder?   │
 │ ● 1. Trust folder (proj)                 │
 │   2. Trust parent folder                 │
 │   3. Don't trust                         │
 ╰──────────────────────────────────────────╯
END
read -r _
clear
printf '%s\\n >   Type your message or @path/to/file' "$(printf '─%.0s' {1..40})"
read -r _
`;

function fixture(terminal: Terminal) {
  const { tmuxServers: terminalServers, socket, dir } = terminal;
  const program = `${dir}/gemini`;
  Deno.writeTextFileSync(program, PROGRAM, { mode: 0o755 });
  const folder = Deno.realPathSync(dir);
  const env = { ...Deno.env.toObject(), TMUX: `${socket},1,0` };
  const options = { clock: systemClock, log: silent, terminalServers, config_dir: `${dir}/none` };
  const w = world({
    adapters: [geminiAdapter(options)],
    terminals: new Panes({ tmuxServers: terminalServers, clock: systemClock, log: silent, env }),
    paneObserver: paneObserverOf(terminalServers, socket, undefined),
    processes: new RealProcesses(),
    settings: {
      "human.name": "sam",
      "spawn.commands": JSON.stringify({ gemini: [program] }),
      "spawn.allowed_paths": JSON.stringify([folder]),
    },
  });
  return { w, folder };
}

withTmux(
  "a spawned program at the question of trust is reported, and its notice ends with the answer",
  async (terminal) => {
    const { w, folder } = fixture(terminal);
    await using _ = w;
    const spawning = post(w, "/spawn", { path: folder, backend: "gemini", name: "gem" });
    const { pane_id, spawn_id } = await w.clock.during(spawning);
    const item = () =>
      until("the notice", async () => {
        await w.tick();
        return (await get(w, "/inbox")).items[0];
      });
    const { text, read } = await item();
    assert.equal(
      text,
      `The spawned agent gem (gemini in ${folder}) waits at a dialog in pane ${pane_id}: it asks if ` +
        `it may trust the folder ${folder}. It goes on once a person has acted there: ` +
        `mesh attach gem (${spawn_id})`,
    );
    assert.equal(read, false);
    assert.equal((await get(w, "/peers/gem")).waits_for.kind, "trust");
    terminal.cli("send-keys", "-t", pane_id, "Enter");
    await until("the end of the notice", async () => (await item()).read);
    assert.deepEqual((await get(w, "/peers/gem")).waits_for, null);
    terminal.killServer();
  },
);

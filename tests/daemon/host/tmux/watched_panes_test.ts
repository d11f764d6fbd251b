/** Panes that a person's terminal shows, as tmux reports them. */

import assert from "node:assert/strict";
import { systemClock } from "kit/core/clock.ts";
import { Panes } from "../../../../daemon/host/tmux/terminals.ts";
import { silent, Terminal, until, withTmux } from "../../../support/host/private_tmux.ts";

withTmux(
  "a pane is watched while a terminal shows its window, and not by a program",
  async (terminal) => {
    const pane_id = terminal.start("cat");
    const other = terminal.cli("new-window", "-d", "-t", "work:", "-P", "-F", "#{pane_id}", "cat");
    const { socket, tmuxServers } = terminal;
    const panes = new Panes({ tmuxServers, clock: systemClock, log: silent, env: {} });
    // The connection of the daemon is a client, too.
    assert.deepEqual(
      [await panes.isWatched(socket, pane_id), await panes.isWatched(socket, other)],
      [false, false],
    );
    await using person = new Terminal();
    person.start(`env -u TMUX tmux -S ${socket} attach -t work`, "person");
    await until("the person's terminal", () => panes.isWatched(socket, pane_id));
    assert.equal(await panes.isWatched(socket, other), false);
    terminal.cli("select-window", "-t", other);
    await until("the other window", () => panes.isWatched(socket, other));
    assert.equal(await panes.isWatched(socket, pane_id), false);
    assert.equal(await panes.isWatched(socket, "%99"), false);
  },
);

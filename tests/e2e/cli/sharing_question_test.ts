/** The question of `mesh machines join` in a real terminal: which circles the others may see. */

import assert from "node:assert/strict";
import { answeringDaemon, HEALTH, PEER } from "../../support/cli/answering_daemon.ts";
import { until, withTmux } from "../../support/host/private_tmux.ts";
import { DENO_DIR } from "../../support/programs/child.ts";
import { programArguments } from "../../support/programs/program.ts";

withTmux(
  "at a terminal a machine that joins is asked which circles it shares",
  async (terminal) => {
    await using daemon = answeringDaemon({
      "GET /health": () => HEALTH,
      "GET /peers": () => ({ peers: [{ ...PEER, circle: "work" }, { ...PEER, circle: "home" }] }),
    });
    const variables = Object.entries({ ...daemon.env, HOME: daemon.dir, DENO_DIR, NO_COLOR: "1" });
    const program = [Deno.execPath(), ...programArguments("", []).slice(0, -1)].map((word) =>
      `'${word}'`
    );
    const join = `machines join nats://127.0.0.1:4222 --secret new --name desk --no-restart`;
    const environment = variables.map(([name, value]) => `${name}='${value}'`).join(" ");
    const pane = terminal.start(
      terminal.program("join.sh", `${environment} ${program.join(" ")} ${join}; exec cat`),
    );
    const shows = (text: RegExp) => until(String(text), () => text.test(terminal.screen(pane)));
    await shows(/Which circles may the other machines see\? Circles here: home, work\./);
    terminal.cli("send-keys", "-t", pane, "work", "Enter");
    await shows(/shares +work/);
    assert.match(Deno.readTextFileSync(daemon.env.MESH_CONFIG), /allow:\n? *(?:- |\[ ?)work/);
  },
);

/** The live view in a real tmux, against a real daemon that is restarted under it. */

import assert from "node:assert/strict";
import { SocketPeer } from "../../support/dashboard/socket_peer.ts";
import { until, withTmux } from "../../support/host/private_tmux.ts";
import { RealDaemon } from "../../support/programs/child.ts";
import { meshArguments } from "../../support/programs/program.ts";

const DENO_DIR = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME") ?? ""}/.cache/deno`;

withTmux(
  "the live view shows, answers, survives a restart and gives the terminal back",
  async (terminal) => {
    const settings = { MESH_HUMAN__NAME: "sam" };
    const state = `${terminal.dir}/state`;
    Deno.mkdirSync(state, { mode: 0o700 });
    const first = await RealDaemon.start(state, { settings });
    const env = `MESH_STATE='${state}' MESH_CONFIG=/none DENO_DIR='${DENO_DIR}'`;
    const mesh = meshArguments([]).map((word) => `'${word}'`).join(" ");
    const script = `echo before; ${env} '${Deno.execPath()}' ${mesh}; echo "code $?"; exec cat`;
    const pane = terminal.start(terminal.program("live.sh", script));
    const shows = (text: RegExp) => until(String(text), () => text.test(terminal.screen(pane)));
    const type = (...keys: string[]) => terminal.cli("send-keys", "-t", pane, ...keys);

    await shows(/No peers yet/);
    let api = await SocketPeer.connect(first.base, { name: "api", circle: "shop" });
    await shows(/api +online/);
    const asked = await api.request("ask", { to_peer: "sam", text: "Ship \u001b[31mit\u202e?" });
    await shows(/ask +api +Ship it\?/);
    type("a");
    await shows(/Answer api/);
    type("-l", "Yes, ship it");
    type("Enter");
    await shows(/Answered api/);
    const answer = await api.waitForEnd(String(asked.correlation_id));
    assert.match(JSON.stringify(answer), /Yes, ship it/);

    type("1"); // The keys are shown in place of what just happened.
    terminal.cli("resize-window", "-t", pane, "-x", "60", "-y", "12");
    await until("the new size", () => {
      const lines = terminal.screen(pane).split("\n");
      return lines.length === 12 && lines.every((line) => line.length <= 60) &&
        lines.at(-1)?.includes("q quit");
    });

    await first.kill();
    await shows(/disconnected since \d\d:\d\d:\d\d, reconnecting/);
    const port = { MESH_DAEMON__PORT: String(first.port) };
    await using second = await RealDaemon.start(state, { settings: { ...settings, ...port } });
    api = await SocketPeer.connect(second.base, { name: "other", circle: "shop" });
    await api.request("ask", { to_peer: "sam", text: "Still there?" });
    await shows(/1 for you[^]*Still there\?/);

    type("q");
    await shows(/before\ncode 0/);
    assert.doesNotMatch(terminal.screen(pane), /Attention/);
    assert.equal(terminal.format(pane, "#{alternate_on} #{cursor_flag}"), "0 1");
    api.close();
  },
);

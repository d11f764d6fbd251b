/** `mesh attach`: the tmux command that shows a peer's pane. */

import assert from "node:assert/strict";
import { backKey } from "../../../cli/commands/attach.ts";
import { withTmux } from "../../support/host/private_tmux.ts";
import { answeringDaemon, PEER } from "../../support/cli/answering_daemon.ts";

const SOCKET = "/missing/tmux-1/default";
const IN_PANE = { ...PEER, pane_id: "%3", tmux_socket: SOCKET };

Deno.test("attach selects the peer's pane, and switches the client of the same tmux server", async () => {
  await using p = answeringDaemon({ "GET /peers/api": () => IN_PANE });
  const { out } = await p.mesh(["attach", "api", "--print"]);
  const select = `tmux -S ${SOCKET} select-window -t %3 ';' select-pane -t %3 ';'`;
  assert.equal(out, `${select} attach-session -t %3\n`);
  const inside = await p.mesh(["attach", "api", "--print"], {}, { TMUX: `${SOCKET},1,0` });
  assert.equal(inside.out, `${select} switch-client -t %3\n`);
  const { pane_id, command } = JSON.parse((await p.mesh(["attach", "api", "--json"])).out);
  assert.deepEqual([pane_id, command.at(-3)], ["%3", "attach-session"]);
});

Deno.test("attach lets tmux show how to get back, and prints the command without it", async () => {
  await using p = answeringDaemon({ "GET /peers/api": () => IN_PANE });
  const tmux = `#!/bin/sh\nprintf '%s\\n' "$@" > ${p.dir}/args\n`;
  Deno.writeTextFileSync(`${p.dir}/tmux`, tmux, { mode: 0o755 });
  const hint = async (more: Record<string, string>) => {
    const PATH = `${p.dir}:${Deno.env.get("PATH") ?? ""}`;
    assert.equal((await p.mesh(["attach", "api"], {}, { PATH, ...more })).code, 0);
    return Deno.readTextFileSync(`${p.dir}/args`).trimEnd().split("\n").at(-1);
  };
  assert.equal(await hint({}), "To leave: #{prefix} and then d");
  const inside = { TMUX: `${SOCKET},1,0`, TMUX_PANE: "%1" };
  assert.match(await hint(inside) ?? "", /^To go back: #\{prefix\} and then #\{\?/);
});

withTmux(
  "the key that leads back is that of the pane, the window or the session before",
  (t) => {
    const own = t.start("cat");
    const place = t.cli("display-message", "-p", "-t", own, "#{socket_path},#{pid},#{session_id}");
    const format = backKey({ TMUX: place.replace("$", ""), TMUX_PANE: own });
    const made = ["-d", "-P", "-F", "#{pane_id}", "cat"];
    const beside = t.cli("split-window", "-t", own, ...made);
    const window = t.cli("new-window", ...made);
    const session = t.cli("new-session", "-s", "other", ...made);
    const keys = [beside, window, session].map((pane) =>
      t.cli("display-message", "-p", "-t", pane, format)
    );
    assert.deepEqual(keys, [";", "l", "L"]);
    return Promise.resolve();
  },
);

Deno.test("attach refuses a peer without a pane, and from within another tmux server", async () => {
  await using p = answeringDaemon({
    "GET /peers/api": () => IN_PANE,
    "GET /peers/web": () => ({ ...PEER, name: "web", pane_id: null, tmux_socket: null }),
  });
  const none = await p.mesh(["attach", "web"]);
  assert.deepEqual([none.code, /web has no pane/.test(none.err)], [1, true]);
  const other = await p.mesh(["attach", "api"], {}, { TMUX: "/missing/tmux-1/other,1,0" });
  assert.deepEqual([other.code, /runs on another tmux server/.test(other.err)], [1, true]);
});

Deno.test("attach brings the window of a peer in kitty to the front", async () => {
  const tmux_socket = "kitty:/run/user/1/kitty-9";
  const peer = { ...PEER, terminal: "kitty", pane_id: "3", tmux_socket };
  await using p = answeringDaemon({ "GET /peers/api": () => peer });
  const command = "kitty @ --to unix:/run/user/1/kitty-9 focus-window --match id:3";
  assert.equal((await p.mesh(["attach", "api", "--print"])).out, `${command}\n`);
});

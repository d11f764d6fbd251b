/** The start of a tmux server has a deadline, like every other command of tmux. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { readTextOrNothing } from "../../../../daemon/host/paths.ts";
import { isAlive } from "../../../../daemon/host/processes.ts";
import { ANSWER_MS_MAX } from "../../../../daemon/host/tmux/connection.ts";
import { Panes } from "../../../../daemon/host/tmux/terminals.ts";
import { TmuxServers } from "../../../../daemon/host/tmux/tmux.ts";
import { FakeClock } from "../../../support/clock.ts";
import { silent, until } from "../../../support/host/private_tmux.ts";

Deno.test("a tmux that does not start its server in time is ended, and the window refused", async () => {
  const dir = Deno.makeTempDirSync();
  const script = `#!/bin/sh\necho $$ > ${dir}/pid\nexec /bin/sleep 600\n`;
  Deno.writeTextFileSync(`${dir}/tmux`, script, { mode: 0o755 });
  const shared = { clock: new FakeClock(), log: silent };
  await using tmuxServers = new TmuxServers({
    ...shared,
    ids: randomIds,
    search_path: dir,
    state_dir: dir,
  });
  const env = { PATH: dir, TMUX: `${dir}/socket,1,0` };
  const panes = new Panes({ ...shared, env, tmuxServers });
  const opening = panes.openWindow(panes.socket, "mesh", { argv: ["cat"], cwd: dir, env: {} });
  const pid = Number(
    await until("the program to run", () => readTextOrNothing(`${dir}/pid`)?.trim()),
  );
  await shared.clock.advance(ANSWER_MS_MAX - 1);
  assert.ok(isAlive(pid));
  await shared.clock.advance(1);
  assert.deepEqual(await opening, { ok: false, reason: "tmux did not answer in 5000 ms" });
  await until("the program to end", () => !isAlive(pid));
  Deno.removeSync(dir, { recursive: true });
});

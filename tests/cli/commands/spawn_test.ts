/** `mesh spawn`, `mesh peer restart` and `mesh peer fork`, with a fake tmux. */

import assert from "node:assert/strict";
import { serveDaemon } from "../../support/cli/listening_daemon.ts";
import { agentInPane, restartAndRegister } from "../../support/daemon/restarts.ts";
import { SOCKET, spawningWorld, type WorldSettings } from "../../support/daemon/spawns.ts";
import { until } from "../../support/waiting.ts";

async function fixture(settings: WorldSettings = {}) {
  const inner = await spawningWorld({ settings });
  const { mesh, stop } = serveDaemon(inner.w);
  return {
    ...inner,
    mesh,
    async [Symbol.asyncDispose]() {
      await inner[Symbol.asyncDispose]();
      await stop();
    },
  };
}

Deno.test("mesh spawn starts an agent and prints its pane", async () => {
  await using at = await fixture();
  const { mesh, folder, terminals } = at;
  const args = ["spawn", folder, "--backend", "codex", "--name", "api", "--circle", "red"];
  const { code, out, err } = await mesh([...args, "--message", "Begin"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^api {2}awaiting, tmux red %1 {2}spawn-[0-9a-f]{12}\nmessage: awaiting_reg/);
  assert.equal(terminals.launches[0]?.cwd, folder);
  const refused = await mesh(["spawn", "/", "--backend", "codex"]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /spawn\.allowed_paths/);
  assert.equal((await mesh(["spawn", folder, "--backend", "rm"])).code, 2);
  assert.equal((await mesh(["spawn", folder])).code, 2);
});

Deno.test("mesh spawn sends its own pane, so that the daemon can split its window", async () => {
  await using at = await fixture({ "daemon.circle_boundary": "window" });
  const { mesh, folder, terminals } = at;
  const { pane_id } = terminals.userPane();
  const inside = { TMUX: `${SOCKET},123,0`, TMUX_PANE: pane_id };
  const { code, err } = await mesh(["spawn", folder, "--backend", "codex"], inside);
  assert.deepEqual([code, err], [0, ""]);
  assert.equal(terminals.launches[0]?.how, `split ${pane_id}`);
});

Deno.test("mesh peer restart prints the stages, and with --dry-run the command", async () => {
  await using at = await fixture();
  const { mesh } = at;
  await agentInPane(at);
  const dry = await mesh(["peer", "restart", "api", "--dry-run"]);
  assert.equal(dry.code, 0);
  assert.match(dry.out, /^would_restart {2}preflight {2}restart-/);
  assert.match(dry.out, /resumed: codex .*--key \[redacted\] resume s-1$/m);
  const begun = await mesh(["peer", "restart", "api", "--no-wait", "--json"]);
  assert.equal(JSON.parse(begun.out).outcome, "in_progress");
  const failed = await mesh(["peer", "restart", "api"]);
  assert.equal(failed.code, 1);
  assert.match(failed.out, /preflight: restart_in_progress/);
  assert.equal((await mesh(["peer", "restart", "nobody"])).code, 1);
});

Deno.test("mesh peer fork starts another agent and keeps the source", async () => {
  await using at = await fixture();
  const { mesh, terminals } = at;
  await agentInPane(at);
  const { code, out, err } = await mesh(["peer", "fork", "api", "--backend", "generic"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /generic has no hooks here/);
  assert.equal(terminals.launches.length, 1);
  assert.equal((await mesh(["peer", "fork", "api", "--backend", "codex"])).code, 1);
  assert.equal((await restartAndRegister(at)).answer.outcome, "restarted");
});

Deno.test("mesh spawn --wait ends as soon as the pane of the agent has ended, and says so", async () => {
  await using at = await fixture();
  const { mesh, folder, terminals, w } = at;
  const started = w.clock.monotonic();
  let ended: Awaited<ReturnType<typeof mesh>> | undefined;
  void mesh(["spawn", folder, "--backend", "codex", "--name", "api", "--wait"])
    .then((result) => ended = result);
  const { code, err } = await until("the end of the command", async () => {
    if (terminals.launches.length > 0) terminals.panes.clear();
    await w.tick();
    return ended;
  });
  assert.equal(code, 1);
  assert.match(err, /api has ended without connecting to mesh; start it yourself in .* to see why/);
  assert.ok(w.clock.monotonic() - started < 30_000);
});

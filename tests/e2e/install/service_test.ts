/** `mesh setup --service` and `mesh uninstall`, run as a person does, beside a running daemon. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { runningDaemon } from "../../../daemon/host/runtime_file.ts";
import { DENO_DIR } from "../../support/programs/child.ts";
import { running } from "../../support/programs/program.ts";

/** Records its arguments, and the daemon that runs at that moment. */
const SYSTEMCTL = `#!/bin/sh
running=$(test -e "$MESH_STATE/daemon.json" && echo " beside a daemon")
echo "$*$running" >> "$HOME/systemctl.log"
`;

/** A home with Claude Code's folder and a fake systemd. */
class Home implements AsyncDisposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-service-" });
  readonly unit = join(this.dir, ".config/systemd/user/mesh.service");
  readonly settings = join(this.dir, ".claude/settings.json");
  readonly env = {
    HOME: this.dir,
    PATH: `${this.dir}/bin:/usr/bin:/bin`,
    MESH_STATE: join(this.dir, "state"),
    MESH_DAEMON__PORT: "0",
    DENO_DIR,
  };

  constructor() {
    for (const folder of [".claude", "bin"]) Deno.mkdirSync(join(this.dir, folder));
    Deno.writeTextFileSync(join(this.dir, "bin/systemctl"), SYSTEMCTL, { mode: 0o755 });
  }

  mesh(...args: string[]): string {
    const command = [...running("", []).slice(0, -1), ...args];
    const { success, stdout, stderr } = new Deno.Command(Deno.execPath(), {
      args: command,
      env: this.env,
      clearEnv: true,
      stdin: "null",
    }).outputSync();
    const decoder = new TextDecoder();
    assert.ok(success, decoder.decode(stderr) + decoder.decode(stdout));
    return decoder.decode(stdout);
  }

  /** The commands that systemd got since the last call. */
  takeCalls(): string[] {
    const path = join(this.dir, "systemctl.log");
    const lines = Deno.readTextFileSync(path).trimEnd().split("\n");
    Deno.removeSync(path);
    return lines;
  }

  has(path: string): boolean {
    try {
      return Deno.statSync(path).isFile;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (runningDaemon(this.env)) this.mesh("down");
    await Deno.remove(this.dir, { recursive: true });
  }
}

const ignore = Deno.build.os !== "linux";

Deno.test(
  "setup --service stops a running daemon, then starts the service",
  { ignore },
  async () => {
    await using home = new Home();
    home.mesh("setup", "--yes");
    assert.equal(home.has(home.unit), false, "without --service there is none, also with --yes");
    home.mesh("up");
    assert.match(home.mesh("setup", "--service"), /starts again at every login/);
    assert.ok(home.has(home.unit));
    assert.deepEqual(home.takeCalls(), [
      "--user daemon-reload",
      "--user enable --now mesh.service",
    ]);
    assert.equal(runningDaemon(home.env), undefined);

    home.mesh("setup", "--service", "--uninstall");
    assert.deepEqual([home.has(home.unit), home.has(home.settings)], [false, false]);
    assert.ok(home.takeCalls().includes("--user disable --now mesh.service"));
  },
);

Deno.test("uninstall removes the service and stops the daemon", { ignore }, async () => {
  await using home = new Home();
  home.mesh("setup", "--service");
  home.mesh("up");
  const pid = runningDaemon(home.env)?.pid;
  const { service, daemon_stopped, kept } = JSON.parse(home.mesh("uninstall", "--yes", "--json"));
  assert.deepEqual([service, daemon_stopped], [home.unit, pid]);
  assert.deepEqual([home.has(home.unit), home.has(home.settings)], [false, false]);
  assert.equal(kept.length, 2);
  assert.equal(runningDaemon(home.env), undefined);
});

/** `mesh setup --service` and `mesh uninstall`, run as a person does, beside a running daemon. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "kit/core/clock.ts";
import { waitForExit } from "../../../daemon/host/processes.ts";
import { runningDaemon } from "../../../daemon/host/runtime_file.ts";
import { DENO_DIR } from "../../support/programs/child.ts";
import { meshArguments } from "../../support/programs/program.ts";
import { until } from "../../support/waiting.ts";

/**
 * Records its arguments, and the daemon that runs at that moment. Runs the unit's command with the
 * unit's environment, and again when it fails, as systemd does.
 */
const SYSTEMCTL = `#!/bin/sh
running=$(test -e "$MESH_STATE/daemon.json" && echo " beside a daemon")
echo "$*$running" >> "$HOME/systemctl.log"
if [ -e "$HOME/no-bus" ]; then echo "Failed to connect to bus" >&2; exit 1; fi
unit="$HOME/.config/systemd/user/mesh.service"
supervise() {
  eval "set -- $(sed -n 's/^Environment=//p' "$unit" | tr '\\n' ' ') $(sed -n 's/^ExecStart=//p' "$unit")"
  while :; do
    env -i HOME="$HOME" DENO_DIR="$DENO_DIR" "$@" &
    echo $! > "$HOME/main.pid"
    wait $! && break
  done
}
case "$*" in
  *" start "*|*"enable --now"*) supervise < /dev/null > "$HOME/unit.log" 2>&1 & ;;
  *" stop "*|*"disable --now"*) kill "$(cat "$HOME/main.pid")" 2> /dev/null ;;
  *" show "*) echo "MainPID=$(cat "$HOME/main.pid" 2> /dev/null || echo 0)" ;;
esac
exit 0
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
    DENO_DIR,
  };

  constructor() {
    for (const folder of [".claude", "bin", ".config/mesh"]) {
      Deno.mkdirSync(join(this.dir, folder), { recursive: true });
    }
    const config = join(this.dir, ".config/mesh/config.yaml");
    Deno.writeTextFileSync(config, "daemon:\n  port: 0\n", { mode: 0o600 });
    Deno.writeTextFileSync(join(this.dir, "bin/systemctl"), SYSTEMCTL, { mode: 0o755 });
  }

  mesh(...args: string[]): string {
    return this.meshWith({}, ...args);
  }

  meshWith(variables: Readonly<Record<string, string>>, ...args: string[]): string {
    const command = meshArguments(args);
    const { success, stdout, stderr } = new Deno.Command(Deno.execPath(), {
      args: command,
      env: { ...this.env, ...variables },
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

  /** The pid of the running daemon, once it is another than before. */
  pid(before?: number): Promise<number> {
    return until("a running daemon", () => {
      const pid = runningDaemon(this.env)?.pid;
      return pid !== before && pid;
    });
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
      "--user show --property=Version beside a daemon",
      "--user daemon-reload",
      "--user enable --now mesh.service",
    ]);
    const pid = await home.pid();
    home.mesh("setup", "--service", "--uninstall");
    assert.ok(await waitForExit(10_000, { pid }, { clock: systemClock }));
    assert.deepEqual([home.has(home.unit), home.has(home.settings)], [false, false]);
    assert.ok(home.takeCalls().includes("--user disable --now mesh.service beside a daemon"));
  },
);

Deno.test(
  "a daemon that up or restart started is started again after a crash, where a service is installed",
  { ignore },
  async () => {
    await using home = new Home();
    home.mesh("setup", "--service");
    let pid = await home.pid();
    for (const command of ["restart", "down", "up"]) {
      const text = home.mesh(command);
      assert.match(text, new RegExp(`service.*${home.unit}`), command);
      if (command === "down") {
        assert.equal(runningDaemon(home.env), undefined);
        continue;
      }
      pid = await home.pid(pid);
      Deno.kill(pid, "SIGKILL");
      pid = await home.pid(pid);
    }
    assert.deepEqual(
      home.takeCalls().filter((call) => !call.includes("show")).slice(2),
      ["stop", "start", "stop", "start"].map((verb) =>
        `--user ${verb} mesh.service${verb === "stop" ? " beside a daemon" : ""}`
      ),
    );
  },
);

Deno.test(
  "a service that cannot run the daemon is named, with the reason",
  { ignore },
  async () => {
    await using home = new Home();
    home.mesh("setup", "--service");
    const pid = await home.pid();
    const unused = (text: string) => JSON.parse(text).service_unused;
    assert.match(
      unused(home.meshWith({ MESH_DAEMON__HISTORY_DAYS: "9" }, "restart", "--json")),
      /^it does not have MESH_DAEMON__HISTORY_DAYS, /,
    );
    assert.equal(unused(home.mesh("up", "--json")), "the daemon was started without it");
    assert.equal(JSON.parse(home.mesh("restart", "--json")).service, home.unit);
    await home.pid(pid);
    Deno.writeTextFileSync(join(home.dir, "no-bus"), "");
    assert.match(
      unused(home.mesh("restart", "--json")),
      /start mesh\.service failed: Failed to connect/,
    );
    assert.match(home.mesh("restart"), /not used, so a crash ends the daemon: systemctl/);
    home.mesh("down");
    Deno.removeSync(join(home.dir, "no-bus"));
  },
);

Deno.test("down ends a service that waits to start the daemon again", { ignore }, async () => {
  await using home = new Home();
  home.mesh("setup", "--service");
  await home.pid();
  home.mesh("down");
  home.takeCalls();
  assert.match(home.mesh("down"), /No daemon is running/);
  assert.deepEqual(home.takeCalls(), ["--user stop mesh.service"]);
});

Deno.test("the service of another state directory is left alone", { ignore }, async () => {
  await using home = new Home();
  home.mesh("setup", "--service");
  await home.pid();
  const other = { MESH_STATE: join(home.dir, "other state") };
  const { service, service_unused } = JSON.parse(home.meshWith(other, "up", "--json"));
  assert.deepEqual([service, service_unused], [null, null]);
  home.meshWith(other, "down");
  assert.ok(runningDaemon(home.env));
});

Deno.test("uninstall removes the service and stops the daemon", { ignore }, async () => {
  await using home = new Home();
  home.mesh("setup", "--service");
  const pid = await home.pid();
  const { service, daemon_stopped, kept } = JSON.parse(home.mesh("uninstall", "--yes", "--json"));
  assert.deepEqual([service, daemon_stopped], [home.unit, pid]);
  assert.deepEqual([home.has(home.unit), home.has(home.settings)], [false, false]);
  assert.equal(kept.length, 2);
  assert.equal(runningDaemon(home.env), undefined);
});

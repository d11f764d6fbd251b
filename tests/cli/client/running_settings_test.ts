/** When a command reads the configuration, and when it only asks the running daemon. */

import assert from "node:assert/strict";
import { settingsOfRunning } from "../../../cli/client/daemon_client.ts";
import { writeRuntimeFile } from "../../../daemon/host/runtime_file.ts";

const URL_OF_DAEMON = "http://127.0.0.1:8377";
const STARTED_AT = "2030-01-01T00:00:00.000Z";

/** A state directory of a running daemon, and its configuration of the minute before. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-settings-" });
  readonly env: Record<string, string> = {
    MESH_STATE: this.dir,
    MESH_CONFIG: `${this.dir}/config.yaml`,
  };

  constructor() {
    writeRuntimeFile(this.env, { pid: Deno.pid, url: URL_OF_DAEMON, started_at: STARTED_AT });
  }

  configure(text: string, changed_at = "2029-12-31T23:59:00.000Z"): void {
    Deno.writeTextFileSync(`${this.dir}/config.yaml`, text);
    Deno.utimeSync(`${this.dir}/config.yaml`, new Date(changed_at), new Date(changed_at));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("the configuration is not read while a daemon runs that has checked it", () => {
  using home = new Home();
  const settings = { url: URL_OF_DAEMON, token: undefined };
  assert.deepEqual(settingsOfRunning(home.env), settings);
  home.configure("human: {name: sam}\n");
  assert.deepEqual(settingsOfRunning(home.env), settings);
});

Deno.test("it is read if it may have a token, has changed, or is in the environment", () => {
  using home = new Home();
  for (const text of ["daemon: {auth_token: x}\n", 'daemon: {"auth\\x5ftoken": x}\n']) {
    home.configure(text);
    assert.equal(settingsOfRunning(home.env), undefined, text);
  }
  home.configure("daemon: {port: high}\n", "2030-01-01T00:00:01.000Z");
  assert.equal(settingsOfRunning(home.env), undefined);
  home.configure("");
  assert.equal(settingsOfRunning({ ...home.env, MESH_DAEMON__PORT: "1" }), undefined);
});

Deno.test("it is read if no daemon runs, or the file cannot be read", () => {
  using home = new Home();
  Deno.mkdirSync(`${home.dir}/config.yaml`);
  assert.equal(settingsOfRunning(home.env), undefined);
  Deno.removeSync(`${home.dir}/config.yaml`);
  Deno.removeSync(`${home.dir}/daemon.json`);
  assert.equal(settingsOfRunning(home.env), undefined);
});

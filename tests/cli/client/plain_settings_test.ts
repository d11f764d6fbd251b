/** When a command reads the configuration with all schemas, and when it need not. */

import assert from "node:assert/strict";
import { readPlainSettings } from "../../../cli/client/plain_settings.ts";
import { readClientSettings } from "../../../cli/client/settings.ts";
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

const TOKEN = "0123456789abcdef-0123456789ABCDEF";

Deno.test("the configuration is not read while a daemon runs that has checked it", () => {
  using home = new Home();
  const settings = { url: URL_OF_DAEMON, token: undefined };
  assert.deepEqual(readPlainSettings(home.env), settings);
  home.configure("human: {name: sam}\n");
  assert.deepEqual(readPlainSettings(home.env), settings);
});

Deno.test("a plain token is taken from the checked file, or from the environment before it", () => {
  using home = new Home();
  for (
    const text of [
      `daemon:\n  port: 1\n  auth_token: ${TOKEN}\n`,
      `human:\n  name: sam\n\ndaemon:\n# Secret.\n  auth_token: "${TOKEN}"\n`,
      `daemon.auth_token: '${TOKEN}'\n`,
    ]
  ) {
    home.configure(text);
    assert.deepEqual(readPlainSettings(home.env), { url: URL_OF_DAEMON, token: TOKEN }, text);
    assert.equal(readClientSettings(home.env).token, TOKEN, text);
  }
  const env = { ...home.env, MESH_DAEMON__AUTH_TOKEN: "fedcba9876543210", MESH_DAEMON__PORT: "1" };
  assert.deepEqual(readPlainSettings(env), { url: URL_OF_DAEMON, token: "fedcba9876543210" });
  assert.equal(readClientSettings(env).token, "fedcba9876543210");
});

Deno.test("it is read if it may have another token, or has changed since it was checked", () => {
  using home = new Home();
  for (
    const text of [
      "daemon: {auth_token: x}\n",
      `daemon: {auth_token: ${TOKEN}}\n`,
      'daemon: {"auth\\x5ftoken": x}\n',
      "daemon:\n  auth_token: short\n",
      "daemon:\n  auth_token: 1234567890123456\n",
      `spawn:\n  env:\n    auth_token: ${TOKEN}\n`,
      `daemon:\n  auth_token: ${TOKEN} # old\n`,
      `daemon:\n  # auth_token: other\n  auth_token: ${TOKEN}\n`,
      `daemon:\n  host: |\n    auth_token: ${TOKEN}\n`,
    ]
  ) {
    home.configure(text);
    assert.equal(readPlainSettings(home.env), undefined, text);
  }
  home.configure("daemon: {port: high}\n", "2030-01-01T00:00:01.000Z");
  assert.equal(readPlainSettings(home.env), undefined);
});

Deno.test("it is read if the environment has another setting, or one that may be a mistake", () => {
  using home = new Home();
  for (
    const env of [
      { MESH_DAEMON__PORT: "high" },
      { MESH_DAEMON__PORT: "65536" },
      { MESH_DAEMON__PORT: "08" },
      { MESH_DAEMON__AUTH_TOKEN: "true" },
      { MESH_DAEMON__AUTH_TOKEN: "" },
      { MESH_DAEMON__HISTORY_DAYS: "1" },
      { MESH_daemon__port: "1" },
    ]
  ) {
    const given: Record<string, string> = { ...home.env, ...env };
    assert.equal(readPlainSettings(given), undefined, JSON.stringify(env));
  }
});

Deno.test("without a daemon and without a file, the address is the configured or usual one", () => {
  using home = new Home();
  Deno.removeSync(`${home.dir}/daemon.json`);
  for (const given of [{}, { MESH_DAEMON__PORT: "0" }, { MESH_DAEMON__PORT: "65535" }]) {
    const env: Record<string, string> = { ...home.env, ...given };
    assert.deepEqual(readPlainSettings(env), readClientSettings(env));
  }
});

Deno.test("it is read if no daemon has checked the file, or the file cannot be read", () => {
  using home = new Home();
  Deno.mkdirSync(`${home.dir}/config.yaml`);
  assert.equal(readPlainSettings(home.env), undefined);
  Deno.removeSync(`${home.dir}/config.yaml`);
  Deno.removeSync(`${home.dir}/daemon.json`);
  home.configure("human: {name: sam}\n");
  assert.equal(readPlainSettings(home.env), undefined);
});

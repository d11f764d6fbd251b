/** `mesh config set`: changes one key of a hand-written file. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { runCli } from "../../../../cli.ts";
import type { Device } from "../../../../cli/output/terminal.ts";
import { readConfig } from "../../../../daemon/app/config.ts";
import { capturedTerminal } from "../../../support/cli/captured_output.ts";

/** A home with this configuration file, or without one. */
function home(file?: string) {
  const dir = Deno.makeTempDirSync();
  const path = join(dir, "mesh", "config.yaml");
  if (file !== undefined) {
    Deno.mkdirSync(dirname(path));
    Deno.writeTextFileSync(path, file, { mode: 0o644 });
  }
  const env = { MESH_CONFIG: path, MESH_STATE: dir };
  return {
    path,
    env,
    text: () => Deno.readTextFileSync(path),
    async set(
      args: string[],
      { more = {}, given = {} }: {
        more?: Record<string, string>;
        given?: Partial<Device>;
      } = {},
    ) {
      const { terminal, lines } = capturedTerminal(given);
      const code = await runCli(["config", "set", ...args], { ...env, ...more }, terminal);
      return { code, ...lines };
    },
    [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }),
  };
}

const COMMENTED = `# Mine.

human:
  name: ada # for now
daemon:
  # The usual port is taken.
  port: 9000
`;

Deno.test("a setting is changed in place; comments and other keys stay", async () => {
  using h = home(COMMENTED);
  const { code, out } = await h.set(["daemon.port", "9001"]);
  assert.equal(code, 0);
  assert.match(out, /Set daemon\.port in .*config\.yaml/);
  assert.equal(h.text(), COMMENTED.replace("9000", "9001"));
  assert.equal((await h.set(["human.name", "sam"])).code, 0);
  assert.equal(h.text(), COMMENTED.replace("9000", "9001").replace("ada", "sam"));
});

Deno.test("a missing configuration is created with mode 0600", async () => {
  using h = home();
  const { code, out } = await h.set(["daemon.allowed_hosts", "[a.test, b.test]", "--json"]);
  assert.deepEqual([code, JSON.parse(out)], [
    0,
    { ok: true, key: "daemon.allowed_hosts", path: h.path },
  ]);
  assert.deepEqual(readConfig(h.env, h.text)["daemon.allowed_hosts"], ["a.test", "b.test"]);
  assert.equal((Deno.statSync(h.path).mode ?? 0) & 0o777, 0o600);
});

Deno.test("writing a file that others can read sets its mode to 0600", async () => {
  using h = home("daemon:\n");
  await h.set(["daemon.auth_token", "-"], {
    given: { read: () => Promise.resolve("a-secret-of-enough-letters\n") },
  });
  assert.equal(h.text(), "daemon:\n  auth_token: a-secret-of-enough-letters\n");
  assert.equal((Deno.statSync(h.path).mode ?? 0) & 0o777, 0o600);
});

Deno.test("an invalid value is refused with the allowed ones, and nothing is written", async () => {
  // deno-fmt-ignore
  const wrong: readonly [string[], RegExp][] = [
    [["daemon.port", "high"],              /daemon\.port: found "high" .*allowed: a port .*0 to 65535/],
    [["daemon.port", "70000"],             /allowed: a port/],
    [["daemon.bogus", "1"],                /Unknown setting: "daemon\.bogus"/],
    [["daemon", "{}"],                     /Unknown setting: "daemon"/],
    [["__proto__", "1"],                   /Unknown setting/],
    [["daemon.auth_token", "schlüssel"],   /daemon\.auth_token: found a value/],
    [["daemon.auth_token", "123456"],      /in quotes, if it is all digits/],
    [["daemon.auth_token", "ab"],          /found a text of 2 characters, .*allowed: 16 characters or more/],
    [["daemon.host", "127.0.0.1:8377"],    /daemon\.host: found .*without a port/],
    [["daemon.prot", "1"],                 /Did you mean daemon\.port\?/],
    [["human.name", "telegram"],           /not dashboard, telegram, mcp-/],
    [["human.name", "mcp-me"],             /not dashboard, telegram, mcp-/],
    [["daemon.host", "0.0.0.0"],           /without daemon\.auth_token/],
    [["routing.strategy", "webhook"],      /routing\.webhook: found nothing/],
    [["daemon.port"],                      /missing required argument/],
  ];
  for (const [args, why] of wrong) {
    using h = home(COMMENTED);
    const { code, err } = await h.set(args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, why);
    assert.doesNotMatch(err, /\n\n/);
    assert.equal(h.text(), COMMENTED);
  }
});

Deno.test("a mistake elsewhere in the file does not block the change", async () => {
  using h = home("daemon: {port: high, colour: red}\n");
  assert.equal((await h.set(["daemon.port", "9000"])).code, 0);
  assert.equal(h.text(), "daemon: { port: 9000, colour: red }\n");
});

Deno.test("a file without valid sections is left unchanged", async () => {
  for (const file of ["daemon: [", "just words", "daemon: 5\n"]) {
    using h = home(file);
    const { code, err } = await h.set(["daemon.port", "9000"]);
    assert.equal(code, 1);
    assert.match(err, /Cannot (read|change) /);
    assert.equal(h.text(), file);
  }
});

Deno.test("an overriding variable is named, and is not written to the file", async () => {
  using h = home();
  const { code, err } = await h.set(["daemon.port", "9000"], {
    more: { MESH_DAEMON__PORT: "9999", MESH_DAEMON__QUEUE__TTL_SECONDS: "bogus" },
  });
  assert.equal(code, 0);
  assert.match(err, /MESH_DAEMON__PORT is set and overrides it/);
  assert.equal(h.text(), "daemon:\n  port: 9000\n");
});

Deno.test("a configuration behind a symlink is changed at its target", async () => {
  using h = home(COMMENTED);
  const there = `${h.path}.real`;
  Deno.renameSync(h.path, there);
  Deno.symlinkSync(there, h.path);
  assert.equal((await h.set(["daemon.port", "9001"])).code, 0);
  assert.equal(Deno.lstatSync(h.path).isSymlink, true);
  assert.match(Deno.readTextFileSync(there), /port: 9001/);
});

Deno.test("an unreadable configuration exits 1 in `config set`, and is a mistake elsewhere", async () => {
  using h = home();
  Deno.mkdirSync(h.path, { recursive: true });
  const { code, err } = await h.set(["daemon.port", "9000"]);
  assert.equal(code, 1);
  assert.match(err, /Cannot read .*config\.yaml: /);
  assert.throws(
    () => readConfig(h.env, Deno.readTextFileSync),
    /Cannot read the configuration:\n .*yaml: /,
  );
});

Deno.test("a list may be separated by commas, and a token may be short", async () => {
  const variables = {
    MESH_DAEMON__ALLOWED_HOSTS: "a.test, b.test",
    MESH_DAEMON__AUTH_TOKEN: "s3cret",
  };
  using h = home();
  const config = readConfig({ ...h.env, ...variables }, () => undefined);
  assert.deepEqual(config["daemon.allowed_hosts"], ["a.test", "b.test"]);
  assert.equal(config["daemon.auth_token"]?.reveal(), "s3cret");
  assert.equal((await h.set(["daemon.allowed_hosts", "a.test"])).code, 0);
  assert.equal(h.text(), "daemon:\n  allowed_hosts: a.test\n");
});

/** Commands with unusable files or paths: a refusal that says what to do, and no stack trace. */

import assert from "node:assert/strict";
import { runCli } from "../../../cli.ts";
import { runHook } from "../../../cli/programs/hook.ts";
import { runDaemon } from "../../../daemon/app/main.ts";
import { fileRefusal, onFile } from "kit/host/file_errors.ts";
import { makeDirectory, writePrivately } from "kit/host/durable_files.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";
import { SetupHome } from "../../support/cli/setup_home.ts";

async function run(env: Record<string, string>, ...args: string[]) {
  const { terminal, lines } = capturedTerminal();
  const code = await runCli([...args, "--json"], env, terminal);
  return { code, errors: lines.err, answer: JSON.parse(lines.out || "{}") };
}

Deno.test("every command refuses a relative MESH_STATE or HOME, and says what to set", async () => {
  for (const env of [{ HOME: "/h", MESH_STATE: "x" }, { HOME: "x" }, {}]) {
    for (
      const command of [["peers"], ["status"], ["doctor"], ["up"], ["logs"], ["backup", "/tmp/x"]]
    ) {
      const { code, errors, answer } = await run({ PATH: "", ...env }, ...command);
      assert.equal(code, 2, command.join());
      assert.match(errors, /(MESH_STATE|HOME) (is|is not)/);
      assert.match(`${answer.detail ?? ""} ${answer.hint ?? ""}`, /set (MESH_STATE|HOME) to/);
    }
  }
});

Deno.test("a hook in such an environment stays silent, and the daemon exits with the reason", async () => {
  assert.equal(await runHook(["no-agent", "Stop"], { MESH_STATE: "relative" }), 0);
  using home = new SetupHome();
  assert.equal(await runDaemon({ ...home.env, MESH_STATE: "relative" }), 1);
  assert.equal(await runDaemon({ ...home.env, MESH_STATE: home.write("file", "x") }), 1);
});

Deno.test("commands that need temporary files refuse a TMPDIR that is not there", async () => {
  using home = new SetupHome();
  const before = Deno.env.get("TMPDIR");
  Deno.env.set("TMPDIR", home.at("missing"));
  try {
    const { terminal, lines } = capturedTerminal();
    const env = { ...home.env, PATH: Deno.env.get("PATH") ?? "" };
    assert.equal(await runCli(["demo"], env, terminal), 1);
    assert.match(lines.err, /Cannot create a folder for temporary files: .* does not exist\n/);
    assert.match(lines.err, /or set TMPDIR to a directory of yours\n/);
  } finally {
    if (before === undefined) Deno.env.delete("TMPDIR");
    else Deno.env.set("TMPDIR", before);
  }
});

Deno.test("config set refuses a file that nobody may write, and leaves it", async () => {
  using home = new SetupHome();
  const path = home.write(".config/mesh/config.yaml", "# mine\n", 0o444);
  const { code, answer } = await run(home.env, "config", "set", "human.name", "sam");
  assert.equal(code, 1);
  assert.equal(answer.error, "failed");
  assert.match(answer.detail, /config\.yaml": its mode is 0444/);
  assert.match(answer.hint, /make it writable/);
  assert.equal(Deno.readTextFileSync(path), "# mine\n");
});

Deno.test("a configuration that is a directory or a pipe is named, and nothing waits for it", async () => {
  using home = new SetupHome();
  const path = home.at(".config/mesh/config.yaml");
  Deno.mkdirSync(path, { recursive: true });
  for (const command of [["up"], ["config", "set", "human.name", "sam"], ["peers"]]) {
    const { code, errors } = await run(home.env, ...command);
    assert.notEqual(code, 0);
    assert.match(errors, /config\.yaml": it is a directory; move|it is a directory/);
  }
  Deno.removeSync(path);
  new Deno.Command("mkfifo", { args: [path] }).outputSync();
  const { code, errors } = await run(home.env, "up");
  assert.notEqual(code, 0);
  assert.match(errors, /it is a named pipe/);
});

Deno.test("a write that fails names the file and leaves nothing behind", () => {
  using home = new SetupHome();
  const inside = home.at("file/state.json");
  home.write("file", "x");
  assert.throws(
    () => writePrivately(inside, "x"),
    /Cannot write ".*state\.json": a part of its path/,
  );
  assert.throws(() => makeDirectory(home.at("file")), /a file is there/);
  Deno.mkdirSync(home.at("target"));
  assert.throws(() => writePrivately(home.at("target"), "x"), /it is a directory/);
  assert.deepEqual(Object.keys(home.files), ["file"], "no temporary file");
});

Deno.test("errors of the file system differ from errors of sockets and of the program", () => {
  const full = Object.assign(new Error("No space left (os error 28): write '/x/y'"), {
    code: "ENOSPC",
  });
  assert.deepEqual([fileRefusal(full)?.message, fileRefusal(full)?.code], [
    'Cannot write "/x/y": no space is left on the disk',
    "ENOSPC",
  ]);
  const bare = Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
  assert.equal(fileRefusal(bare)?.message, "Cannot write: no space is left on the disk");
  const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  const denied = Object.assign(new Error("connect"), { code: "EACCES" });
  for (const error of [refused, denied, new TypeError("x"), "x", undefined]) {
    assert.equal(fileRefusal(error), undefined);
  }
  assert.throws(() => onFile("read", "/x", () => assert.fail("a bug")), /a bug/);
});

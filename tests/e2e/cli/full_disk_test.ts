/** The program on a full or read-only disk: refusals say what to do, and show no stack trace. */

import assert from "node:assert/strict";
import { meshCommand } from "../../support/programs/program.ts";
import { SetupHome } from "../../support/cli/setup_home.ts";

const DISK_BYTES = "16384";

interface CommandResult {
  readonly code: number;
  readonly text: string;
}

/** Runs the command where `$HOME/full` is a full disk and `$HOME/fixed` is read-only. */
function onFullDisk(
  home: SetupHome,
  variables: Record<string, string>,
  ...args: string[]
): CommandResult {
  const [full, fixed] = [home.at("full"), home.at("fixed")];
  for (const folder of [full, fixed]) Deno.mkdirSync(folder, { recursive: true });
  const fill = 'dd if=/dev/zero of="$0/big" bs=1024 2>/dev/null; exec "$@"';
  const disks = [
    "--dev-bind",
    "/",
    "/",
    "--size",
    DISK_BYTES,
    "--tmpfs",
    full,
    "--ro-bind",
    fixed,
    fixed,
  ];
  const { code, stdout, stderr } = new Deno.Command("bwrap", {
    args: [...disks, "sh", "-c", fill, full, ...meshCommand(args)],
    env: {
      ...home.env,
      PATH: "/usr/bin:/bin",
      MESH_DAEMON__PORT: "0",
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
      ...variables,
    },
    clearEnv: true,
  }).outputSync();
  const text = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  assert.doesNotMatch(text, /error: Uncaught|^ {4}at .*\.ts:/m);
  return { code, text };
}

function hasBwrap(): boolean {
  try {
    const args = ["--dev-bind", "/", "/", "--size", DISK_BYTES, "--tmpfs", "/tmp", "true"];
    return new Deno.Command("bwrap", { args, stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

const ignore = !hasBwrap();

Deno.test({
  name: "on a full or read-only disk, setup refuses these files and sets up the other agents",
  ignore,
  fn() {
    using home = new SetupHome();
    const variables = { CLAUDE_CONFIG_DIR: home.at("full"), CODEX_HOME: home.at("fixed") };
    const { code, text } = onFullDisk(home, variables, "setup", "--all", "--json");
    assert.equal(code, 1);
    const { agents } = JSON.parse(text.slice(0, text.lastIndexOf("\n}") + 2));
    assert.equal(agents.length, 5);
    const errors = agents.map(({ agent, error = "" }: Record<string, string>) =>
      `${agent}: ${error}`
    );
    assert.match(errors[0], /claude-code: .*full\/settings\.json": no space is left.*; free disk/);
    assert.match(errors[1], /codex: .*fixed\/.*": it is on a read-only file system; make it/);
    assert.deepEqual(errors.slice(2), ["copilot: ", "gemini: ", "opencode: "]);
    assert.match(home.read(".gemini/settings.json"), /hook gemini/);
  },
});

Deno.test({
  name: "on a full or read-only disk, config set and the daemon name the file and what to do",
  ignore,
  fn() {
    using home = new SetupHome();
    const full = { MESH_CONFIG: home.at("full/config.yaml"), MESH_STATE: home.at("full/state") };
    const fixed = { MESH_CONFIG: home.at("fixed/config.yaml"), MESH_STATE: home.at("fixed/state") };
    const set = ["config", "set", "human.name", "sam"];
    assert.match(
      onFullDisk(home, full, ...set).text,
      /config\.yaml": no space is left[^]*free disk/,
    );
    assert.match(onFullDisk(home, fixed, ...set).text, /config\.yaml": it is on a read-only file/);
    const daemon = onFullDisk(home, full, "daemon");
    assert.equal(daemon.code, 1);
    assert.match(daemon.text, /(no space is left|disk is full).*; .*set MESH_STATE to use another/);
    assert.match(onFullDisk(home, fixed, "up").text, /read-only file system[^]*make it writable/);
  },
});

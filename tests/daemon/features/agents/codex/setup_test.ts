/** `mesh setup` for Codex: hooks in its JSON, a server in its TOML, both undone to the byte. */

import assert from "node:assert/strict";
import { parse } from "smol-toml";
import {
  hooks as codexHooks,
  installServer,
  removeServer,
} from "../../../../../daemon/features/agents/codex/setup.ts";
import { Unchangeable } from "../../../../../daemon/features/agents/settings_files/json.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import { runSetup } from "../../../../support/cli/run_setup.ts";

const PLAN = planOf(["/opt/my tools/mesh"]);
const NEWER_PLAN = planOf(["/usr/bin/deno", "run", "-A", "/srv/mesh/main.ts"]);
// Setup learns the program that our mark in the file names.
NEWER_PLAN.programs.add(PLAN.mesh);

/** A user's settings with a layout of their own. */
const USER_CONFIG = `# My Codex
model = "gpt-5"   # the good one
approval_policy   = 'on-request'

[mcp_servers.docs]   # first
command = "npx"
args = [
  "-y", # always
  "docs-server",
]
[mcp_servers.docs.env]
TOKEN = "s3cret"

[projects."/home/sam/api"]
trust_level = "trusted"
  # the end
`;

/** The values of a TOML file, as plain objects. */
function read(text: string): Record<string, unknown> {
  return JSON.parse(JSON.stringify(parse(text)));
}

/** Files with various endings, each of which must be restored. */
const FILES: Record<string, string> = {
  "a whole file": USER_CONFIG,
  "no file, or an empty one": "",
  "a file of one newline": "\n",
  "a file without a last newline": USER_CONFIG.trimEnd(),
  "a file that ends in blank lines": `${USER_CONFIG}\n\n`,
  "a file with the line ends of Windows": USER_CONFIG.replaceAll("\n", "\r\n"),
  "the same without the last of them": USER_CONFIG.replaceAll("\n", "\r\n").trimEnd(),
  "a file of remarks": "# nothing yet",
  "tables below a table of servers": `[mcp_servers]\n\n[mcp_servers.docs]\ncommand = "x"\n`,
  "a text that looks like our table": `note = """\n[mcp_servers.other]\n"""\n`,
};

for (const [what, text] of Object.entries(FILES)) {
  Deno.test(`${what}: our server is added at the end, once, and removed to the byte`, () => {
    const installed = installServer(text, PLAN);
    assert(installed.startsWith(text), "the text before it is unchanged");
    const { mcp_servers, ...rest } = read(installed);
    const { mcp_servers: servers = {}, ...others } = read(text);
    const mesh = {
      command: "/opt/my tools/mesh",
      args: ["mcp"],
      default_tools_approval_mode: "approve",
      env_vars: [
        ...["MESH_STATE", "MESH_CONFIG", "MESH_DAEMON__AUTH_TOKEN"],
        ...["XDG_STATE_HOME", "XDG_CONFIG_HOME"],
      ],
    };
    assert.deepEqual(mcp_servers, { ...Object(servers), mesh });
    assert.deepEqual(rest, others);
    assert.equal(installServer(installed, PLAN), installed);
    assert.equal(removeServer(installed, PLAN), text);
    assert.equal(removeServer(text, PLAN), text);
  });
}

Deno.test("entries that Codex writes after ours stay when ours is removed", () => {
  const trust =
    `\n[hooks.state."/home/sam/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n`;
  const installed = installServer(USER_CONFIG, PLAN) + trust;
  assert.equal(removeServer(installed, PLAN), USER_CONFIG + trust);
  const remarked = installServer(USER_CONFIG, PLAN) + `\n# mine\n${trust}`;
  assert.equal(removeServer(remarked, PLAN), `${USER_CONFIG}\n# mine\n${trust}`);
});

Deno.test("tables that the user added below our server are removed with it", () => {
  const tools = `\n[mcp_servers.mesh.tools.ask]\napproval_mode = "prompt"\n`;
  assert.equal(removeServer(installServer(USER_CONFIG, PLAN) + tools, PLAN), USER_CONFIG);
});

Deno.test("another path of mesh replaces the entry; other settings of the user stay", () => {
  const moved = installServer(installServer(USER_CONFIG, PLAN), NEWER_PLAN);
  assert.equal(moved, installServer(USER_CONFIG, NEWER_PLAN));
  assert.equal(removeServer(moved, NEWER_PLAN), USER_CONFIG);
  const customized = installServer(USER_CONFIG, PLAN).replace('"approve"', '"prompt"');
  assert.equal(installServer(customized, PLAN), customized);
});

// deno-fmt-ignore
const UNCHANGEABLE: [what: string, text: string][] = [
  ["invalid TOML",               "model = \n"],
  ["another program's server",   '[mcp_servers.mesh]\ncommand = "mesh"\nargs = ["render"]\n'],
  ["a server without arguments", '[mcp_servers.mesh]\nurl = "http://127.0.0.1:1"\n'],
  ["servers in an inline table", 'mcp_servers = { docs = { command = "x" } }\n'],
  ["servers that are not a table", 'mcp_servers = "none"\n'],
];

for (const [what, text] of UNCHANGEABLE) {
  Deno.test(`${what} is refused, and named`, () => {
    assert.throws(() => installServer(text, PLAN), Unchangeable);
  });
}

Deno.test("our server in a form that we did not write is not removed", () => {
  const inline = 'mcp_servers.mesh = { command = "/opt/my tools/mesh", args = ["mcp"] }\n';
  assert.throws(() => removeServer(inline, PLAN), Unchangeable);
  const userConfig = '[mcp_servers.mesh]\ncommand = "mesh"\nargs = ["render"]\n';
  assert.equal(removeServer(userConfig, PLAN), userConfig);
});

/** A home with a Codex folder. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-home-" });
  readonly env = { HOME: this.dir, PATH: "", MESH_STATE: `${this.dir}/state` };
  readonly printed: string[] = [];

  constructor() {
    Deno.mkdirSync(`${this.dir}/.codex`);
  }

  /** The exit code. */
  setup(...args: string[]): Promise<number> {
    const note = (text: string) => void this.printed.push(text);
    return runSetup(args, this.env, { out: note, err: note });
  }

  write(name: string, text: string): void {
    Deno.writeTextFileSync(`${this.dir}/.codex/${name}`, text, { mode: 0o640 });
  }

  /** The files of Codex's folder, with their texts. */
  get files(): Record<string, string> {
    const names = Array.from(Deno.readDirSync(`${this.dir}/.codex`), ({ name }) => name).sort();
    const read = (name: string) => Deno.readTextFileSync(`${this.dir}/.codex/${name}`);
    return Object.fromEntries(names.map((name) => [name, read(name)]));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

const USER_HOOKS =
  `{"hooks": {"Stop": [ {"hooks": [{"type": "command", "command": "say done"}]} ]}}`;

Deno.test("setup installs hooks and server, says that hooks need trust, and undoes both", async () => {
  using home = new Home();
  home.write("config.toml", USER_CONFIG);
  home.write("hooks.json", USER_HOOKS);
  const before = home.files;
  assert.equal(await home.setup("--agent", "codex"), 0);
  const { hooks } = JSON.parse(home.files["hooks.json"] ?? "");
  const [userConfig, ours] = hooks.Stop;
  assert.equal(userConfig.hooks[0].command, "say done");
  assert.match(ours.hooks[0].command, /^\/.* hook codex Stop$/);
  assert.deepEqual(Object.keys(hooks), [
    ...["Stop", "SessionStart", "UserPromptSubmit", "PermissionRequest", "Interrupt"],
    ...["SubagentStart", "SubagentStop", "SessionEnd"],
    ...["PostToolUse", "PostModelRequest"],
  ]);
  assert(home.files["config.toml"]?.startsWith(USER_CONFIG));
  assert(home.printed.some((text) => text.includes("trust them")), home.printed.join("\n"));
  const mode = Deno.statSync(`${home.dir}/.codex/config.toml`).mode ?? 0;
  assert.equal(mode & 0o777, 0o640);
  const once = home.files;
  assert.equal(await home.setup("--agent", "codex"), 0);
  assert.deepEqual(home.files, once);
  assert.equal(await home.setup("--agent", "codex", "--uninstall"), 0);
  assert.deepEqual(home.files, before);
});

Deno.test("files that setup created are removed by uninstalling", async () => {
  using home = new Home();
  assert.equal(await home.setup(), 0, "Codex is found by its folder");
  assert.deepEqual(Object.keys(home.files), ["config.toml", "hooks.json"]);
  assert.equal(await home.setup("--uninstall"), 0);
  assert.deepEqual(home.files, {});
});

Deno.test("a dry run, or a malformed second file, leaves everything unchanged", async () => {
  using home = new Home();
  home.write("hooks.json", USER_HOOKS);
  home.write("config.toml", "model = \n");
  const before = home.files;
  assert.equal(await home.setup("--agent", "codex"), 1);
  assert.deepEqual(home.files, before);
  home.write("config.toml", USER_CONFIG);
  const sound = home.files;
  assert.equal(await home.setup("--agent", "codex", "--dry-run"), 0);
  assert.deepEqual(home.files, sound);
});

Deno.test("only the dialog's hook may wait for as long as the human needs", () => {
  const { hooks } = codexHooks.install({}, PLAN) as {
    hooks: Record<string, { hooks: { timeout: number }[] }[]>;
  };
  const limits = Object.entries(hooks).map(([event, groups]) => [
    ...[event, groups[0]?.hooks[0]?.timeout],
  ]);
  assert.deepEqual(limits.filter(([, seconds]) => seconds !== 3), [["PermissionRequest", 3660]]);
});

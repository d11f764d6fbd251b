/** `mesh setup`: the files it changes, the cases it refuses, and its exit codes. */

import assert from "node:assert/strict";
import { runSetup } from "../../../cli/setup/setup_command.ts";

const SETTINGS = ".claude/settings.json";
const CLAUDE_JSON = ".claude.json";
/** Hand-written: four spaces, a Stop hook, an empty list, no newline at the end. */
const USER_SETTINGS = `{
    "model": "opus",
    "hooks": {
        "Stop": [
            {
                "hooks": [
                    { "type": "command", "command": "say done" }
                ]
            }
        ],
        "PreToolUse": []
    },
    "permissions": { "allow": ["Bash(ls:*)"] }
}`;
const USER_JSON = `{
  "numStartups": 5,
  "mcpServers": {},
  "projects": {}
}
`;

const CONFIG = ".config/mesh/config.yaml";

/** A temporary home with Claude Code's folder. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-home-" });
  readonly env = { HOME: this.dir, PATH: "", MESH_STATE: `${this.dir}/state` };

  constructor() {
    Deno.mkdirSync(`${this.dir}/.claude`);
  }

  write(path: string, text: string, mode = 0o644): void {
    Deno.writeTextFileSync(`${this.dir}/${path}`, text, { mode });
  }

  read(path: string): string | undefined {
    try {
      return Deno.readTextFileSync(`${this.dir}/${path}`);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  get files(): string[] {
    const inside = (dir: string): string[] =>
      Array.from(Deno.readDirSync(dir)).flatMap(({ name, isDirectory }) =>
        isDirectory ? inside(`${dir}/${name}`) : [`${dir}/${name}`.slice(this.dir.length + 1)]
      );
    return inside(this.dir).sort();
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

/** Runs setup and returns its exit code. */
async function setup(args: readonly string[], env: Record<string, string>): Promise<number> {
  return (await runSetupCommand(args, env)).code;
}

async function runSetupCommand(args: readonly string[], env: Record<string, string>) {
  const out: string[] = [], errors: string[] = [];
  const output = {
    out: (text: string) => out.push(text),
    err: (text: string) => errors.push(text),
  };
  return { code: await runSetup(args, env, output), out, errors };
}

Deno.test("setup adds its entries once and keeps all others in place", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS, 0o640);
  home.write(CLAUDE_JSON, USER_JSON, 0o600);
  assert.equal(await setup([], home.env), 0);
  const settings = JSON.parse(home.read(SETTINGS) ?? "");
  assert.deepEqual(Object.keys(settings), ["model", "hooks", "permissions"]);
  const [userConfig, ours] = settings.hooks.Stop;
  assert.equal(userConfig.hooks[0].command, "say done");
  assert.match(ours.hooks[0].command, /^\/.* run -A --quiet \/.*main\.ts hook claude-code Stop$/);
  assert.deepEqual(Object.keys(settings.hooks), [
    ...["Stop", "PreToolUse"],
    ...["SessionStart", "UserPromptSubmit", "Notification", "PermissionRequest", "SessionEnd"],
  ]);
  const { mcpServers } = JSON.parse(home.read(CLAUDE_JSON) ?? "");
  const { command, args, alwaysLoad, type } = mcpServers.mesh;
  assert.deepEqual([command, args.at(-1), alwaysLoad, type], [
    ...[Deno.execPath(), "mcp"],
    ...[true, "stdio"],
  ]);
  assert.equal((Deno.statSync(`${home.dir}/${SETTINGS}`).mode ?? 0) & 0o777, 0o640);
  const once = [home.read(SETTINGS), home.read(CLAUDE_JSON), home.files];
  assert.equal(await setup(["--agent", "claude-code"], home.env), 0);
  assert.deepEqual([home.read(SETTINGS), home.read(CLAUDE_JSON), home.files], once);
});

Deno.test("--json prints each agent with the diffs of its files", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  home.write(CLAUDE_JSON, USER_JSON);
  const { code, out } = await runSetupCommand(["--dry-run", "--json"], home.env);
  const { agents, dry_run, uninstall } = JSON.parse(out.join("\n"));
  assert.deepEqual([code, dry_run, uninstall], [0, true, false]);
  assert.deepEqual(agents.map(({ agent }: { agent: string }) => agent), ["claude-code"]);
  assert.equal(agents[0].differences.length, 2);
});

Deno.test("uninstall restores both files byte for byte, and removes the backups", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  home.write(CLAUDE_JSON, USER_JSON);
  const before = home.files;
  await setup([], home.env);
  assert.equal(home.read(`${SETTINGS}.mesh-backup`), USER_SETTINGS);
  assert.equal(await setup(["--uninstall"], home.env), 0);
  assert.equal(home.read(SETTINGS), USER_SETTINGS);
  assert.equal(home.read(CLAUDE_JSON), USER_JSON);
  assert.deepEqual(home.files, [...before, CONFIG].sort(), "the token is kept");
});

Deno.test("missing files are created with mode 0600, and removed by uninstall", async () => {
  using home = new Home();
  assert.equal(await setup([], home.env), 0);
  assert.equal((Deno.statSync(`${home.dir}/${SETTINGS}`).mode ?? 0) & 0o777, 0o600);
  assert.deepEqual(home.files, [CLAUDE_JSON, SETTINGS, CONFIG].sort());
  assert.equal(await setup(["--uninstall"], home.env), 0);
  assert.deepEqual(home.files, [CONFIG]);
});

Deno.test("a dry run changes nothing", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  const { code, out, errors } = await runSetupCommand(["--dry-run"], home.env);
  assert.deepEqual([code, errors], [0, []]);
  assert.match(out.join("\n"), /would change\n.*settings\.json\n[^]*\+ .*hook claude-code Stop/);
  assert.equal(home.read(SETTINGS), USER_SETTINGS);
  assert.deepEqual(home.files, [SETTINGS]);
});

Deno.test("setup refuses a damaged file and changes no file", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  home.write(CLAUDE_JSON, `{"numStartups": 5,`);
  const { code, errors } = await runSetupCommand([], home.env);
  assert.equal(code, 1);
  assert.match(errors.join(), /\.claude\.json": it is not JSON/);
  assert.equal(home.read(SETTINGS), USER_SETTINGS);
  assert.deepEqual(home.files, [CLAUDE_JSON, SETTINGS]);
});

Deno.test("setup refuses to replace another program's MCP server named mesh", async () => {
  using home = new Home();
  const userConfig = `{"mcpServers": {"mesh": {"type": "stdio", "command": "other", "args": []}}}`;
  home.write(CLAUDE_JSON, userConfig);
  assert.equal(await setup([], home.env), 1);
  assert.equal(home.read(CLAUDE_JSON), userConfig);
});

Deno.test("setup exits 2 for wrong usage and 1 when no agent is installed", async () => {
  using home = new Home();
  assert.equal(await setup(["--agent", "nobody"], home.env), 2);
  assert.equal(await setup(["--now"], home.env), 2);
  assert.equal(await setup([], { HOME: "/nonexistent", PATH: "" }), 1);
});

Deno.test("setup adds a token to the configuration once, with mode 0600", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  const { out } = await runSetupCommand([], home.env);
  assert.match(out.join("\n"), /config\.yaml: added a token/);
  const config = home.read(CONFIG);
  assert.match(config ?? "", /^daemon:\n {2}auth_token: [\w-]{43}\n$/);
  assert.equal((Deno.statSync(`${home.dir}/${CONFIG}`).mode ?? 0) & 0o777, 0o600);
  await setup([], home.env);
  assert.equal(home.read(CONFIG), config);
});

Deno.test("adding a token keeps the rest of the configuration, including comments", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  home.write("mine.yaml", "# mine\ndaemon:\n  port: 9000 # not 8377\nhuman:\n  name: sam\n");
  await setup([], { ...home.env, MESH_CONFIG: `${home.dir}/mine.yaml` });
  const expected =
    /^# mine\ndaemon:\n {2}port: 9000 # not 8377\n {2}auth_token: \S+\nhuman:\n {2}name: sam\n$/;
  assert.match(home.read("mine.yaml") ?? "", expected);
});

// deno-fmt-ignore
const NO_TOKEN_NEEDED = [
  ["a token in the file",        "daemon: {auth_token: 0123456789abcdef}\n", {},                                              0],
  ["a token in the environment", "{}\n",                                     { MESH_DAEMON__AUTH_TOKEN: "0123456789abcdef" }, 0],
  ["a file that is no YAML",     "daemon: [\n",                              {},                                              1],
] as const;

for (const [what, text, env, code] of NO_TOKEN_NEEDED) {
  Deno.test(`setup leaves ${what} unchanged`, async () => {
    using home = new Home();
    home.write(SETTINGS, USER_SETTINGS);
    home.write("mine.yaml", text);
    const MESH_CONFIG = `${home.dir}/mine.yaml`;
    assert.equal(await setup([], { ...home.env, ...env, MESH_CONFIG }), code);
    assert.equal(home.read("mine.yaml"), text);
  });
}

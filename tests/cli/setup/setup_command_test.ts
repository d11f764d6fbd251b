/** `mesh setup` as a whole: which files it changes, what it refuses, and its exit codes. */

import assert from "node:assert/strict";
import { runSetup } from "../../../cli/setup/setup_command.ts";

const SETTINGS = ".claude/settings.json";
const CLAUDE_JSON = ".claude.json";
/** Written by a person: four spaces, an own Stop hook, an empty list, no newline at the end. */
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

/** A home of its own, in which Claude Code has left these files. */
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

/** Runs it without a word on the terminal. */
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

Deno.test("setup puts our entries in, once, and leaves all others where they are", async () => {
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

Deno.test("--json tells the same for machines: which agent, and how its files differ", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  home.write(CLAUDE_JSON, USER_JSON);
  const { code, out } = await runSetupCommand(["--dry-run", "--json"], home.env);
  const { agents, dry_run, uninstall } = JSON.parse(out.join("\n"));
  assert.deepEqual([code, dry_run, uninstall], [0, true, false]);
  assert.deepEqual(agents.map(({ agent }: { agent: string }) => agent), ["claude-code"]);
  assert.equal(agents[0].differences.length, 2);
});

Deno.test("uninstall gives both files back byte for byte, and takes its backups away", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  home.write(CLAUDE_JSON, USER_JSON);
  const before = home.files;
  await setup([], home.env);
  assert.equal(home.read(`${SETTINGS}.mesh-backup`), USER_SETTINGS);
  assert.equal(await setup(["--uninstall"], home.env), 0);
  assert.equal(home.read(SETTINGS), USER_SETTINGS);
  assert.equal(home.read(CLAUDE_JSON), USER_JSON);
  assert.deepEqual(home.files, [...before, CONFIG].sort(), "the token stays");
});

Deno.test("files that were not there are made for their owner only, and taken away", async () => {
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

Deno.test("setup refuses a damaged file and then touches neither", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  home.write(CLAUDE_JSON, `{"numStartups": 5,`);
  const { code, errors } = await runSetupCommand([], home.env);
  assert.equal(code, 1);
  assert.match(errors.join(), /\.claude\.json": it is not JSON/);
  assert.equal(home.read(SETTINGS), USER_SETTINGS);
  assert.deepEqual(home.files, [CLAUDE_JSON, SETTINGS]);
});

Deno.test("setup refuses to replace another program's server of our name", async () => {
  using home = new Home();
  const userConfig = `{"mcpServers": {"mesh": {"type": "stdio", "command": "other", "args": []}}}`;
  home.write(CLAUDE_JSON, userConfig);
  assert.equal(await setup([], home.env), 1);
  assert.equal(home.read(CLAUDE_JSON), userConfig);
});

Deno.test("setup tells wrong usage apart from an agent that is not there", async () => {
  using home = new Home();
  assert.equal(await setup(["--agent", "nobody"], home.env), 2);
  assert.equal(await setup(["--now"], home.env), 2);
  assert.equal(await setup([], { HOME: "/nonexistent", PATH: "" }), 1);
});

Deno.test("setup gives the configuration a token, once, and for its owner only", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  const { out } = await runSetupCommand([], home.env);
  assert.match(out.join("\n"), /config\.yaml: has a token now/);
  const config = home.read(CONFIG);
  assert.match(config ?? "", /^daemon:\n {2}auth_token: [\w-]{43}\n$/);
  assert.equal((Deno.statSync(`${home.dir}/${CONFIG}`).mode ?? 0) & 0o777, 0o600);
  await setup([], home.env);
  assert.equal(home.read(CONFIG), config);
});

Deno.test("a token leaves the rest of the configuration as it was, comments and all", async () => {
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
  Deno.test(`setup leaves ${what} alone`, async () => {
    using home = new Home();
    home.write(SETTINGS, USER_SETTINGS);
    home.write("mine.yaml", text);
    const MESH_CONFIG = `${home.dir}/mine.yaml`;
    assert.equal(await setup([], { ...home.env, ...env, MESH_CONFIG }), code);
    assert.equal(home.read("mine.yaml"), text);
  });
}

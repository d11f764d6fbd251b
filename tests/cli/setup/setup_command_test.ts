/** `mesh setup`: the files it changes, the cases it refuses, and its exit codes. */

import assert from "node:assert/strict";
import { connectAgent } from "../../../cli/setup/setup_command.ts";
import { runSetup } from "../../support/cli/run_setup.ts";

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
    ...["SessionStart", "UserPromptSubmit", "StopFailure"],
    ...["Notification", "PermissionRequest", "SubagentStart", "SubagentStop", "SessionEnd"],
    "PostToolBatch",
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
  const { code, out, errors } = await runSetupCommand(["--dry-run", "--diff"], home.env);
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
  const { code, out } = await runSetupCommand(["--agent", "nobody", "--json"], home.env);
  assert.deepEqual([code, JSON.parse(out.join("\n")).error], [2, "usage"]);
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

/** A person at a terminal, with their answers. */
function person(answers: readonly (string | undefined)[]) {
  const questions: string[] = [], out: string[] = [], errors: string[] = [];
  const rest = [...answers];
  const output = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void errors.push(text),
    ask: (question: string) => (questions.push(question), rest.shift()),
  };
  return { output, questions, out, errors };
}

const NO_SERVICE = {
  host: { os: "freebsd", uid: 1, run: () => Promise.resolve({ stdout: "", failure: undefined }) },
} as const;

Deno.test("a person sees one line for each file, and is asked once before it changes", async () => {
  using home = new Home();
  home.write(SETTINGS, USER_SETTINGS);
  const you = person(["n"]);
  assert.equal(await runSetup([], home.env, you.output, NO_SERVICE), 1);
  assert.deepEqual(you.questions.length, 1);
  assert.match(you.questions[0] ?? "", /^Make these changes\?/);
  const text = you.out.join("\n");
  assert.match(text, /claude-code: will change\n {2}\+\d+ -\d+ +~\/\.claude\/settings\.json\n/);
  assert.doesNotMatch(text, /hook claude-code/);
  assert.match(
    text,
    /^This adds mesh to [^]*Your own settings stay[^]*To undo it: mesh setup --un/,
  );
  assert.match(text, /^ {2}allows only mesh's tools without a question: "mcp__mesh"$/m);
  assert.deepEqual(
    you.out.filter((line) => line.length > 80 && !/^warning/.test(line)),
    [],
    "fits into 80 columns",
  );
  assert.match(text, /config\.yaml: will add a token .*\n {2}It keeps [^]*send it by themselves/);
  assert.doesNotMatch(text, /must send/);
  assert.equal(home.read(SETTINGS), USER_SETTINGS);
  assert.deepEqual(home.files, [SETTINGS]);
});

Deno.test("a person who agrees is asked for a name, and sees three next steps", async () => {
  using home = new Home();
  const you = person(["y", "sam"]);
  assert.equal(await runSetup([], home.env, you.output, NO_SERVICE), 0);
  assert.match(home.read(CONFIG) ?? "", /^human:\n {2}name: sam$/m);
  const steps = you.out.slice(you.out.indexOf("Next:"));
  assert.deepEqual(steps.map((line) => line.slice(0, 13)), [
    ...["Next:", "  1. mesh up ", "  2. start cl", "  3. mesh pee"],
  ]);
  const again = person([]);
  assert.equal(await runSetup([], home.env, again.output, NO_SERVICE), 0);
  assert.deepEqual(again.questions, [], "nothing is left to change or to name");
});

Deno.test("--yes asks nothing, and a run without a terminal says that it asked nothing", async () => {
  using home = new Home();
  const you = person([]);
  assert.equal(await runSetup(["--yes"], home.env, you.output, NO_SERVICE), 0);
  assert.deepEqual(you.questions, []);
  using other = new Home();
  const { code, out } = await runSetupCommand([], other.env);
  assert.equal(code, 0);
  assert.match(out.join("\n"), /Asked nothing, because this is no terminal/);
  assert.doesNotMatch(other.read(CONFIG) ?? "", /human/);
});

Deno.test("a broken file of one agent does not stop the others", async () => {
  using home = new Home();
  home.write(CLAUDE_JSON, "{\n  broken\n}");
  Deno.mkdirSync(`${home.dir}/.gemini`);
  for (const args of [[], ["--uninstall"]]) {
    const { code, out, errors } = await runSetupCommand(args, home.env);
    assert.equal(code, 1);
    assert.match(out.join("\n"), /gemini: changed/);
    assert.match(
      errors.join("\n"),
      /claude-code: .*\.claude\.json": it is not JSON \(.* in line 2\)/,
    );
    assert.match(errors.join("\n"), /Not done: claude-code; the other agents are/);
  }
  const { out } = await runSetupCommand(["--json"], home.env);
  const { agents } = JSON.parse(out.join("\n"));
  assert.match(agents[0].error, /not JSON/);
  assert.equal(agents[1].error, undefined);
});

Deno.test("a person sees which agent is left out before they agree", async () => {
  using home = new Home();
  home.write(CLAUDE_JSON, "{ broken }");
  Deno.mkdirSync(`${home.dir}/.gemini`);
  const you = person(["n"]);
  await runSetup([], home.env, you.output, NO_SERVICE);
  assert.match(you.out.join("\n"), /^claude-code: left out: .*it is not JSON/m);
});

Deno.test("Codex's broken file is named with its line", async () => {
  using home = new Home();
  Deno.mkdirSync(`${home.dir}/.codex`);
  home.write(".codex/config.toml", "a = 1\n=\n");
  const { code, errors } = await runSetupCommand(["codex"], home.env);
  assert.equal(code, 1);
  assert.match(errors.join(), /\.codex\/config\.toml": it is not TOML \(.*, line 2\)/);
});

Deno.test("an agent can be named without a flag, and --all sets up those not installed yet", async () => {
  using home = new Home();
  assert.equal(await setup(["gemini"], home.env), 0);
  assert.deepEqual(home.files, [CONFIG, ".gemini/settings.json"].sort());
  assert.equal(await setup(["--all"], home.env), 0);
  assert.ok(home.files.includes(".codex/config.toml") && home.files.includes(SETTINGS));
  assert.equal(await setup(["gemini", "--all"], home.env), 2);
  await assert.rejects(setup(["gemini", "codex"], home.env), /too many arguments/);
  await assert.rejects(setup(["gemini", "--agent", "codex"], home.env), /give one of them/);
});

Deno.test("--name writes the human's name, and refuses one that is not allowed", async () => {
  using home = new Home();
  assert.equal(await setup(["--name", "sam"], home.env), 0);
  assert.match(home.read(CONFIG) ?? "", /^human:\n {2}name: sam$/m);
  using other = new Home();
  const { code, errors } = await runSetupCommand(["--name", "telegram"], other.env);
  assert.equal(code, 2);
  assert.match(errors.join(), /human\.name/);
  assert.deepEqual(other.files, []);
});

Deno.test("--json is one document, also without an agent and with a relay and an agent", async () => {
  const nobody = await runSetupCommand(["--json"], { HOME: "/nonexistent", PATH: "" });
  assert.equal(nobody.code, 1);
  assert.match(JSON.parse(nobody.out.join("\n")).errors[0], /No installed agent was found/);
  const refused = await runSetupCommand(["--json", "--relay", "http://relay.test"], {});
  assert.equal(refused.code, 2);
  assert.match(JSON.parse(refused.out.join("\n")).errors[0], /is not allowed/);
  using home = new Home();
  const relay = ["--relay", "https://relay.test", "--agent", "claude-code"];
  const { code, out } = await runSetupCommand([...relay, "--dry-run", "--json"], home.env);
  assert.equal(code, 0);
  assert.equal(JSON.parse(out.join("\n")).relay.relay, "https://relay.test");
});

Deno.test("an agent may be named by its program, as in `mesh run`", async () => {
  using home = new Home();
  assert.equal(await setup(["claude", "--yes"], home.env), 0);
  assert.match(home.read(SETTINGS) ?? "", /mcp__mesh/);
  const { code, errors } = await runSetupCommand(["cluade"], home.env);
  assert.equal(code, 2);
  assert.match(
    errors.join("\n"),
    /^"cluade" is no agent that mesh can set up; name one of claude-code,/,
  );
});

Deno.test("a permission that is there already is not listed as a change, and stays", async () => {
  using home = new Home();
  const before = '{ "permissions": { "allow": ["mcp__mesh"] } }\n';
  home.write(SETTINGS, before);
  const { out } = await runSetupCommand(["--yes"], home.env);
  assert.doesNotMatch(out.join("\n"), /without a question/);
  const undone = await runSetupCommand(["--uninstall"], home.env);
  assert.equal(home.read(SETTINGS), before);
  assert.doesNotMatch(undone.out.join("\n"), /--uninstall|without a question/);
});

Deno.test("a person whose agent is connected is named by the same question", async () => {
  using home = new Home();
  const env = { ...home.env, USER: "Sam" };
  const you = person(["y"]);
  assert.ok(await connectAgent("claude-code", env, { yes: false }, you.output));
  assert.match(you.out.join("\n"), /config\.yaml: will name you sam, so that agents may ask you/);
  assert.equal(you.questions.length, 1);
  assert.match(home.read(CONFIG) ?? "", /^human:\n {2}name: sam$/m);
  using other = new Home();
  await connectAgent(
    "claude-code",
    { ...other.env, USER: "sam" },
    { yes: true },
    person([]).output,
  );
  assert.doesNotMatch(other.read(CONFIG) ?? "", /human/);
});

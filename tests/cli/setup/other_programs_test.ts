/** `mesh setup` beside other programs: their hooks and servers stay, whatever their names. */

import assert from "node:assert/strict";
import { SetupHome } from "../../support/cli/setup_home.ts";

const HOOKS = ".claude/settings.json";
const SERVERS = ".claude.json";
const CODEX = ".codex/config.toml";
const OPENCODE = ".config/opencode/opencode.json";

const hooksOf = (...commands: string[]) =>
  `${JSON.stringify({ hooks: { Stop: commands.map((command) => ({ hooks: [{ command }] })) } })}\n`;

Deno.test("the doctor says nothing of another program's hook in our form, and its fix keeps it", async () => {
  using home = new SetupHome();
  const mesh = home.write("bin/mesh", "#!/bin/sh\necho a service mesh\n", 0o755);
  for (
    const command of [
      "limem hook claude-code Stop",
      `${mesh} hook claude-code Stop`,
      "mesh hook claude-code Stop",
    ]
  ) {
    const first = hooksOf(command);
    home.write(HOOKS, first);
    home.write("bin/claude", '#!/bin/sh\necho "2.1.329 (Claude Code)"\n', 0o755);
    const before = await home.doctor("claude-code");
    assert.ok(!before.has("AGENT_PROGRAM_GONE"));
    assert.match(before.get("AGENT_NOT_SET_UP")?.[2] ?? "", /is not set up/);
    await home.setup("claude-code");
    assert.ok(home.read(HOOKS).includes(command));
    const after = await home.doctor("claude-code");
    assert.ok(after.has("AGENT_SET_UP") && !after.has("AGENT_PROGRAM_GONE"));
    await home.setup("claude-code", "--uninstall");
    assert.equal(home.read(HOOKS), first);
  }
});

Deno.test("a hook that calls our program by a wrapper is ours, and no second one is added", async () => {
  using home = new SetupHome();
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  const wrapper = home.write("bin/m", `#!/bin/sh\nexec deno run -A ${main} "$@"\n`, 0o755);
  home.write(HOOKS, hooksOf(`${wrapper} hook claude-code Stop`, "m hook claude-code Stop"));
  await home.setup("claude-code");
  const { hooks } = JSON.parse(home.read(HOOKS));
  const commands = JSON.stringify(hooks.Stop).match(/hook claude-code Stop"/g);
  assert.equal(commands?.length, 1);
  await home.setup("claude-code", "--uninstall");
  assert.doesNotMatch(home.read(HOOKS), /hook claude-code/);
});

Deno.test("another program's server named mesh is refused by name, with a way out, and kept", async () => {
  using home = new SetupHome();
  const mesh = home.write("bin/mesh", "#!/bin/sh\necho a service mesh\n", 0o755);
  const foreign = JSON.stringify({ mcpServers: { mesh: { command: mesh, args: ["mcp"] } } });
  home.write(SERVERS, foreign);
  home.write(CODEX, `[mcp_servers.mesh]\ncommand = "${mesh}"\nargs = ["mcp"]\n`);
  home.write(OPENCODE, `{"mcp": {"mesh": {"type": "local", "command": ["${mesh}", "mcp"]}}}`);
  const files = home.files;
  for (const agent of ["claude-code", "codex", "opencode"]) {
    const { code, text } = await home.setup(agent);
    assert.equal(code, 1);
    assert.match(text, /mesh belongs to another program: .*bin\/mesh.*--replace/);
    assert.ok((await home.doctor(agent)).has("AGENT_FILE_REFUSED"));
    assert.deepEqual(home.files, files);
    assert.equal((await home.setup(agent, "--uninstall")).code, 0);
    assert.deepEqual(home.files, files, "uninstalling removes neither the entry nor the file");
  }
});

Deno.test("the refusal names the other program without its secrets", async () => {
  const servers = {
    "npx @acme/mesh": { command: "npx", args: ["-y", "@acme/mesh", "--key=s3cret"] },
    "/opt/mesh": { command: "/opt/mesh", args: ["--token", "s3cret"], env: { T: "s3cret" } },
    "https://mesh.example": { url: "https://u:s3cret@mesh.example/mcp?t=s3cret" },
    "without a command": { headers: { a: "s3cret" } },
  };
  for (const [shown, mesh] of Object.entries(servers)) {
    using home = new SetupHome();
    home.write(SERVERS, JSON.stringify({ mcpServers: { mesh } }));
    const { text } = await home.setup("claude-code");
    assert.ok(text.includes(`belongs to another program: ${shown}. Rename`), text);
    assert.doesNotMatch(text, /s3cret/);
  }
});

Deno.test("--replace puts our server in the other's place, and uninstalling puts the other back", async () => {
  for (const isEdited of [false, true]) {
    using home = new SetupHome();
    const other = '{"command": "npx", "args": ["@acme/mesh", "mcp"] /* theirs */}';
    home.write(SERVERS, `{\n  "a": 1,\n  "mcpServers": {"mesh": ${other}}\n}\n`);
    home.write(CODEX, '# mine\n[mcp_servers.mesh]\ncommand = "npx"\nargs = ["mesh", "mcp"]\n');
    home.write(OPENCODE, '{"mcp": {"mesh": {"type": "remote", "url": "https://x"}}}');
    const first = home.files;
    for (const agent of ["claude-code", "codex", "opencode"]) {
      assert.equal((await home.setup(agent, "--replace")).code, 0);
      assert.ok((await home.doctor(agent)).has("AGENT_SET_UP"), agent);
      assert.equal((await home.setup(agent)).code, 0, "once it is ours, no option is needed");
    }
    if (isEdited) {
      home.write(SERVERS, home.read(SERVERS).replace('"a": 1', '"a": 2'));
      home.write(CODEX, `${home.read(CODEX)}\n[tui]\nx = 1\n`);
      home.write(OPENCODE, home.read(OPENCODE).replace("{", '{"theme": "dark", '));
    }
    for (const agent of ["claude-code", "codex", "opencode"]) {
      assert.equal((await home.setup(agent, "--uninstall")).code, 0);
    }
    if (!isEdited) assert.deepEqual(home.files, first);
    const { mcpServers } = JSON.parse(home.read(SERVERS).replace(/\/\*.*\*\//, ""));
    assert.deepEqual(mcpServers.mesh.args, ["@acme/mesh", "mcp"]);
    assert.match(
      home.read(CODEX),
      /\[mcp_servers\.mesh\]\ncommand = "npx"\nargs = \["mesh", "mcp"\]/,
    );
    assert.match(home.read(OPENCODE), /"url": "https:\/\/x"/);
  }
});

Deno.test("a file that its user created is never removed, even if it was empty or held only ours", async () => {
  using home = new SetupHome();
  home.write(CODEX, "");
  home.write(SERVERS, "");
  home.write(OPENCODE, "{}");
  const first = home.files;
  for (const agent of ["claude-code", "codex", "opencode"]) await home.setup(agent);
  for (const agent of ["claude-code", "codex", "opencode"]) await home.setup(agent, "--uninstall");
  assert.deepEqual(home.files, first);
  const main = new URL("../../../main.ts", import.meta.url).pathname;
  home.write(CODEX, `[mcp_servers.mesh]\ncommand = "deno"\nargs = ["run", "${main}", "mcp"]\n`);
  await home.setup("codex", "--uninstall");
  assert.equal(home.read(CODEX), "", "our server is gone, the file is not");
});

Deno.test("our server is updated where it stands, and its user's members stay", async () => {
  using home = new SetupHome();
  home.write(
    SERVERS,
    '{"mcpServers": {"mesh": {"type": "stdio", "command": "/old/mesh", "args": ["mcp"], ' +
      '"alwaysLoad": false, "env": {"MESH_STATE": "/x"}}, "z": {}}}',
  );
  await home.setup("claude-code");
  const { mcpServers } = JSON.parse(home.read(SERVERS));
  assert.deepEqual(Object.keys(mcpServers), ["mesh", "z"]);
  assert.equal(mcpServers.mesh.alwaysLoad, false);
  assert.deepEqual(mcpServers.mesh.env, { MESH_STATE: "/x" });
  assert.equal(mcpServers.mesh.command, Deno.execPath());
});

/** `mesh setup --diff` and `--json` show our lines, and no values of other programs. */

import assert from "node:assert/strict";
import { SetupHome } from "../../support/cli/setup_home.ts";

const SECRET = /s3cr3t/;
const env = { KEY: "s3cr3t-1", PIN: 730_113 };
const servers = (name: string) => ({ [name]: { command: "/bin/x", args: ["--t=s3cr3t"], env } });

/** Files of others, each on one line or with odd ends of lines. */
const FILES: readonly (readonly [agent: string, path: string, text: string])[] = [
  [
    "claude-code",
    ".claude/settings.json",
    JSON.stringify({
      apiKeyHelper: "echo s3cr3t",
      env,
      hooks: {
        Stop: [{ hooks: [{ type: "command", command: `${Deno.execPath()} run --t s3cr3t` }] }],
      },
    }),
  ],
  ["claude-code", ".claude.json", JSON.stringify({ mcpServers: servers("x"), id: "s3cr3t" })],
  [
    "gemini",
    ".gemini/settings.json",
    `{ "mcpServers": ${JSON.stringify(servers("y"))} } // s3cr3t`,
  ],
  [
    "opencode",
    ".config/opencode/opencode.json",
    '{/* s3cr3t */ "provider": {"a\\"b": {"options": {"apiKey": "s3cr3t\\"x"}}}, "mcp": {"z": {"environment": {"K": "s3cr3t"}}}}',
  ],
  ["codex", ".codex/hooks.json", JSON.stringify({ hooks: {}, note: ["s3cr3t", 730_113] })],
  ["codex", ".codex/config.toml", `a = { b = 's3cr3t', "c" = 730113 } # s3cr3t`],
];

async function setupOutput(home: SetupHome, ...args: string[]): Promise<string> {
  const { text } = await home.setup(...args, "--diff", "--dry-run");
  const { answer } = await home.setupJson(...args, "--dry-run");
  return text + JSON.stringify(answer);
}

Deno.test("the shown changes of a file on one line hold no value of other programs", async () => {
  using home = new SetupHome();
  for (const [, path, text] of FILES) home.write(path, text);
  for (const agent of new Set(FILES.map(([agent]) => agent))) {
    const added = await setupOutput(home, agent);
    assert.doesNotMatch(added, SECRET, agent);
    assert.doesNotMatch(added, /730.?113/, agent);
    assert.match(added, /\+ .*(hook (claude-code|gemini|codex) |"mcp")/, agent);
    await home.setup(agent);
    const removed = await setupOutput(home, agent, "--uninstall");
    assert.doesNotMatch(removed, SECRET, agent);
    assert.match(removed, /- /, agent);
  }
});

Deno.test("a server of another program that ours replaces is shown without its values", async () => {
  using home = new SetupHome();
  home.write(".claude.json", JSON.stringify({ mcpServers: servers("mesh") }, undefined, 2));
  home.write(
    ".codex/config.toml",
    '[mcp_servers.mesh]\ncommand = "/bin/x"\nenv = {K = "s3cr3t"}\n',
  );
  for (const agent of ["claude-code", "codex"]) {
    const text = await setupOutput(home, agent, "--replace");
    assert.doesNotMatch(text, SECRET, agent);
    assert.match(text, /- .*env/i, agent);
  }
});

Deno.test("a file that another program rewrote is removed from without its values", async () => {
  using home = new SetupHome();
  const path = ".claude.json";
  home.write(path, JSON.stringify({ mcpServers: servers("x") }));
  await home.setup("claude-code");
  home.write(path, JSON.stringify({ ...JSON.parse(home.read(path)), more: "s3cr3t-2" }, null, 4));
  const text = await setupOutput(home, "claude-code", "--uninstall");
  assert.doesNotMatch(text, SECRET);
});

Deno.test("our own lines are shown whole, also those of an older installation of mesh", async () => {
  using home = new SetupHome();
  await home.setup("claude-code");
  const old = home.read(".claude/settings.json").replaceAll("/main.ts", "/old/main.ts");
  home.write(".claude/settings.json", old);
  const { text } = await home.setup("claude-code", "--diff", "--dry-run");
  assert.match(text, /\+ .*main\.ts hook claude-code Stop/);
  assert.doesNotMatch(text, /…/);
});

/** Settings of agents that disable our hooks or servers: setup and the doctor report them. */

import assert from "node:assert/strict";
import { SetupHome } from "../../support/cli/setup_home.ts";
import type { ScopeReader } from "../../../daemon/features/agents/settings_files/switched_off.ts";
import { switchedOff as claude } from "../../../daemon/features/agents/claude_code/setup.ts";
import { switchedOff as codex } from "../../../daemon/features/agents/codex/setup.ts";
import { switchedOff as copilot } from "../../../daemon/features/agents/copilot/setup.ts";
import { switchedOff as gemini } from "../../../daemon/features/agents/gemini/setup.ts";
import { switchedOff as opencode } from "../../../daemon/features/agents/opencode/setup.ts";
import { parseJson } from "../../../daemon/features/agents/settings_files/json_patch.ts";
import { parseToml } from "../../../daemon/features/agents/settings_files/toml.ts";

type Row = readonly [agent: string, file: string, content: string, setting: RegExp | undefined];

const HOOKS_FALSE = /hooks: .*features\.hooks = false/;
const EXCLUDED = /server: .*mcp\.excluded/;
const ALLOWED = /server: .*mcp\.allowed/;

// deno-fmt-ignore
const ROWS: readonly Row[] = [
  ["claude-code", ".claude/settings.json", '{"disableAllHooks": true, // quiet\n}', /hooks: .*settings\.json has disableAllHooks: true/],
  ["claude-code", "work/.claude/settings.json", '{"disableAllHooks": true}', /hooks: .*work\/\.claude\/settings\.json/],
  ["claude-code", "work/.claude/settings.local.json", '{"disableAllHooks": true}', /hooks: .*settings\.local\.json/],
  ["claude-code", "managed/managed-settings.json", '{"disableAllHooks": true}', /hooks: .*managed/],
  ["claude-code", "managed/managed-settings.json", '{"allowManagedHooksOnly": true}', /hooks: .*allowManagedHooksOnly/],
  ["claude-code", "managed/managed-settings.d/10.json", '{"strictPluginOnlyCustomization": ["hooks"]}', /hooks: .*strictPlugin/],
  ["claude-code", ".claude/settings.json", '{"allowManagedHooksOnly": true}', undefined],
  ["claude-code", ".claude/settings.json", '{"disableAllHooks": false}', undefined],
  ["claude-code", ".claude/settings.json", '{"deniedMcpServers": [{"serverName": "mesh"}]}', /server: .*deniedMcpServers with "mesh"/],
  ["claude-code", ".claude/settings.json", '{"deniedMcpServers": [{"serverName": "other"}]}', undefined],
  ["claude-code", "managed/managed-settings.json", '{"allowedMcpServers": []}', /server: .*allowedMcpServers without/],
  ["claude-code", ".claude/settings.json", '{"allowedMcpServers": [{"serverName": "mesh"}]}', undefined],
  ["claude-code", "work/.claude/settings.local.json", '{"disabledMcpjsonServers": ["mesh"]}', /server: .*disabledMcpjsonServers/],
  ["claude-code", ".claude.json", '{"projects": {"@/work": {"disabledMcpServers": ["mesh"]}}}', /server: .*disabledMcpServers/],
  ["claude-code", ".claude/settings.json", "{", undefined],
  ["codex", ".codex/config.toml", "[features]\nhooks = false\n", HOOKS_FALSE],
  ["codex", ".codex/config.toml", "features.hooks = false\n", HOOKS_FALSE],
  ["codex", ".codex/config.toml", "features = { hooks = false }\n", HOOKS_FALSE],
  ["codex", ".codex/config.toml", '\uFEFF["features"]\r\n"hooks" = false\r\n', HOOKS_FALSE],
  ["codex", ".codex/config.toml", "[features]\ncodex_hooks = false\n", /hooks: .*codex_hooks/],
  ["codex", ".codex/config.toml", 'profile = "a"\n[profiles.a.features]\nhooks = false\n', /hooks: .*profiles\.a\.features\.hooks/],
  ["codex", ".codex/config.toml", "[profiles.a.features]\nhooks = false\n", undefined],
  ["codex", ".codex/config.toml", "note = '''\n[features]\nhooks = false\n'''\n", undefined],
  ["codex", "work/.codex/config.toml", "features.hooks = false\n", /hooks: .*work/],
  ["codex", ".codex/config.toml", '[mcp_servers.mesh]\ncommand = "x"\nenabled = false\n', /server: .*mcp_servers\.mesh\.enabled/],
  ["gemini", ".gemini/settings.json", '{"hooksConfig": {"enabled": false}}', /hooks: .*hooksConfig\.enabled: false/],
  ["gemini", "work/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}', /hooks: .*work/],
  ["gemini", "system.json", '{"hooksConfig": {"enabled": false}}', /hooks: .*system\.json/],
  ["gemini", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["mesh-AfterAgent"]}}', /hooks: .*"mesh-AfterAgent" in hooksConfig\.disabled/],
  ["gemini", ".gemini/settings.json", '{"hooks": {"disabled": ["/x/mesh hook gemini AfterAgent"]}}', /hooks: .*hooks\.disabled/],
  ["gemini", ".gemini/settings.json", '{"hooksConfig": {"disabled": ["others-hook"]}}', undefined],
  ["gemini", ".gemini/settings.json", '{"mcp": {"allowed": ["github"]}}', ALLOWED],
  ["gemini", ".gemini/settings.json", '{"mcp": {"allowed": []}}', ALLOWED],
  ["gemini", ".gemini/settings.json", '{"mcp": {"allowed": ["github", " Mesh"]}}', undefined],
  ["gemini", ".gemini/settings.json", '{"mcp": {"excluded": ["mesh"]}}', EXCLUDED],
  ["gemini", ".gemini/mcp-server-enablement.json", '{"mesh": {"enabled": false}}', /server: .*enablement\.json has mesh\.enabled: false/],
  ["gemini", ".gemini/trustedFolders.json", '{"@": "DO_NOT_TRUST", "@/x": "TRUST_FOLDER"}', /server: .*DO_NOT_TRUST/],
  ["gemini", ".gemini/trustedFolders.json", '{"@": "DO_NOT_TRUST", "@/work": "TRUST_FOLDER"}', undefined],
  ["copilot", ".copilot/settings.json", '{"disableAllHooks": true}', /hooks: .*disableAllHooks: true/],
  ["copilot", "work/.github/copilot/settings.json", '{"disableAllHooks": true}', /hooks: .*\.github/],
  ["copilot", ".copilot/settings.json", '{"disabledMcpServers": ["mesh"]}', /server: .*disabledMcpServers/],
  ["opencode", ".config/opencode/opencode.jsonc", '{"mcp": {"mesh": {"enabled": false}}, // off\n}', /server: .*mcp\.mesh\.enabled: false/],
  ["opencode", "work/opencode.json", '{"mcp": {"mesh": {"enabled": false}}}', /server: .*work/],
  ["opencode", "own.json", '{"mcp": {"mesh": {"enabled": false}}}', /server: .*own\.json/],
  ["opencode", ".config/opencode/opencode.json", '{"tools": {"mesh_*": false}}', /server: .*tools\["mesh_\*"\]: false/],
  ["opencode", ".config/opencode/opencode.json", '{"tools": {"mesh_ask": false, "bash": false}}', undefined],
];

/** The findings in the folder `work` of a home. */
function findingsIn(home: SetupHome, agent: string): string[] {
  const files: ScopeReader = {
    cwd: home.at("work"),
    json: (path) => read(path, parseJson),
    toml: (path) => read(path, (text) => JSON.parse(JSON.stringify(parseToml(text)))),
  };
  const env = {
    ...home.env,
    GEMINI_CLI_SYSTEM_SETTINGS_PATH: home.at("system.json"),
    OPENCODE_CONFIG: home.at("own.json"),
  };
  const places = {
    user: home.at(".claude/settings.json"),
    state: home.at(".claude.json"),
    managed: home.at("managed"),
  };
  const all = agent === "claude-code"
    ? claude(places, files)
    : agent === "codex"
    ? codex(home.at(".codex"), files)
    : agent === "gemini"
    ? gemini(home.at(".gemini"), env, files)
    : agent === "copilot"
    ? copilot(home.at(".copilot"), files)
    : opencode(home.at(".config/opencode"), env, files);
  return all.map(({ part, file, setting, fix }) => {
    assert.notEqual(fix, "");
    return `${part}: ${file} has ${setting}`;
  });
}

function read<T>(path: string, parse: (text: string) => T): T | undefined {
  try {
    return parse(Deno.readTextFileSync(path));
  } catch {
    return undefined;
  }
}

for (const [agent, file, content, setting] of ROWS) {
  Deno.test(`${agent}: ${file} with ${content.trim().replaceAll("\n", " ")} ${setting ? "is a switch" : "switches nothing off"}`, () => {
    using home = new SetupHome();
    home.write(file, content.replaceAll("@", home.dir));
    const lines = findingsIn(home, agent);
    if (setting === undefined) assert.deepEqual(lines, []);
    else {
      assert.equal(lines.length, 1, lines.join("\n"));
      assert.match(lines[0] ?? "", setting);
    }
  });
}

Deno.test("setup and the doctor name the file, the key and the next step, and setup continues", async () => {
  using home = new SetupHome();
  home.write(".claude/settings.json", '{"disableAllHooks": true}');
  home.write(".codex/config.toml", "features = { hooks = false }\n");
  home.write(
    ".gemini/settings.json",
    '{"hooksConfig": {"enabled": false}, "mcp": {"allowed": []}}',
  );
  home.write(".copilot/settings.json", '{"disableAllHooks": true}');
  home.write(
    ".config/opencode/opencode.json",
    '{"mcp": {"mesh": {"type": "local", "command": ["/old/mesh", "mcp"], "enabled": false}}}',
  );
  const { code, text } = await home.setup();
  assert.equal(code, 0);
  const { answer } = await home.setupJson();
  const agents = ["claude-code", "codex", "copilot", "gemini", "opencode"];
  assert.deepEqual(answer.agents.map(({ agent }: { agent: string }) => agent), agents);
  for (const { agent, warnings } of answer.agents) {
    assert.equal(warnings.length, agent === "gemini" ? 2 : 1);
    for (const warning of warnings) {
      assert.match(warning, /does not run our (hooks|MCP server): .*\/.* has .*; (remove|add|set)/);
      assert.ok(text.includes(`warning: ${warning}`));
    }
    const found = await home.doctor(agent);
    const off = found.get(agent === "opencode" ? "AGENT_SERVER_OFF" : "AGENT_HOOKS_OFF");
    assert.equal(off?.[0], "warning");
    assert.ok(off?.[3] && text.includes(off[3]));
  }
  assert.match(
    home.read(".config/opencode/opencode.json"),
    /"enabled": false/,
    "the user's choice",
  );
});

/** `mesh setup` for Copilot CLI: hooks in one file, a server in another, undone to the byte. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { hooks, server } from "../../../../../daemon/features/agents/copilot/setup.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import {
  type JsonObject,
  Unchangeable,
} from "../../../../../daemon/features/agents/settings_files/json.ts";
import { runSetup } from "../../../../support/cli/run_setup.ts";

const PLAN = planOf(["/opt/my tools/mesh"]);
const USER_CONFIG = {
  disableAllHooks: false,
  hooks: {
    agentStop: [{ type: "command", bash: "say done", timeoutSec: 3 }],
    preToolUse: [{ type: "command", bash: "audit hook copilot", powershell: "audit" }],
  },
} satisfies JsonObject;
const SERVERS = { mcpServers: { other: { type: "local", command: "other", args: [], tools: [] } } };

Deno.test("setup adds our hooks to Copilot CLI's settings once, and keeps those of others", () => {
  const installed = hooks.install(USER_CONFIG, PLAN);
  assert.equal(JSON.stringify(hooks.install(installed, PLAN)), JSON.stringify(installed));
  const { hooks: written } = JSON.parse(JSON.stringify(installed));
  assert.deepEqual(Object.keys(written), [
    ...["agentStop", "preToolUse", "sessionStart", "preCompact", "userPromptSubmitted"],
    ...["permissionRequest", "notification", "subagentStart", "subagentStop", "sessionEnd"],
    "postToolUse",
  ]);
  assert.equal(written.agentStop[0].bash, "say done");
  assert.deepEqual(written.agentStop[1], {
    type: "command",
    bash: "MESH_AGENT_PID=$PPID '/opt/my tools/mesh' hook copilot agentStop",
    timeoutSec: 5,
  });
  assert.equal(written.permissionRequest[0].timeoutSec, 3_660, "as long as the human may need");
  const moved = hooks.install(installed, planOf(["/usr/bin/mesh"]));
  assert(!JSON.stringify(moved).includes("/opt/my tools"));
  assert.equal(
    JSON.stringify(hooks.remove(moved, planOf(["/usr/bin/mesh"]))),
    JSON.stringify(USER_CONFIG),
  );
  assert.equal(hooks.remove(USER_CONFIG, PLAN), USER_CONFIG);
});

Deno.test("setup adds our server to Copilot CLI's servers, and keeps another program's with our name", () => {
  const installed = server.install(SERVERS, PLAN);
  assert.deepEqual(installed["mcpServers"], {
    ...SERVERS.mcpServers,
    mesh: { type: "local", command: "/opt/my tools/mesh", args: ["mcp"], tools: ["*"] },
  });
  assert.equal(JSON.stringify(server.remove(installed, PLAN)), JSON.stringify(SERVERS));
  const foreign = { mcpServers: { mesh: { command: "mesh-of-others", args: ["serve"] } } };
  assert.throws(() => server.install(foreign, PLAN), Unchangeable);
  assert.equal(server.remove(foreign, PLAN), foreign);
  assert.throws(() => hooks.install({ hooks: { agentStop: "x" } }, PLAN), /hooks\.agentStop/);
});

/** A home for one test. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-copilot-" });
  readonly printed: string[] = [];

  write(path: string, text: string): void {
    const whole = join(this.dir, path);
    Deno.mkdirSync(dirname(whole), { recursive: true });
    Deno.writeTextFileSync(whole, text);
  }

  /** The file's text; undefined if there is none. */
  read(path: string): string | undefined {
    try {
      return Deno.readTextFileSync(join(this.dir, path));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  setup(...args: string[]): Promise<number> {
    const env = { HOME: this.dir, PATH: "", MESH_STATE: `${this.dir}/state` };
    const print = (text: string) => void this.printed.push(text);
    return runSetup(["--agent", "copilot", ...args], env, { out: print, err: print });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

const [SETTINGS, MCP] = [".copilot/settings.json", ".copilot/mcp-config.json"];

Deno.test("mesh setup --agent copilot writes two files, and restores them byte for byte", async () => {
  const layouts = [
    undefined,
    "{}",
    '{ "hooks": {"agentStop": []},\r\n "theme":"dark" }\r\n',
    `${JSON.stringify(USER_CONFIG, null, "\t")}\n`,
    JSON.stringify(USER_CONFIG),
  ];
  for (const layout of layouts) {
    using home = new Home();
    const servers = layout && JSON.stringify(SERVERS, null, 4);
    if (layout) home.write(SETTINGS, layout);
    if (servers) home.write(MCP, servers);
    assert.equal(await home.setup("--dry-run", "--diff"), 0);
    assert.match(home.printed.join("\n"), /hook copilot userPromptSubmitted/);
    assert.deepEqual([home.read(SETTINGS), home.read(MCP)], [layout, servers]);
    assert.equal(await home.setup(), 0);
    assert.match(home.read(SETTINGS) ?? "", /hook copilot sessionStart/);
    assert.match(home.read(MCP) ?? "", /"mesh"/);
    assert.equal(await home.setup("--uninstall"), 0);
    assert.deepEqual([home.read(SETTINGS), home.read(MCP)], [layout, servers]);
  }
});

Deno.test("a malformed file of Copilot CLI leaves both files unchanged", async () => {
  using home = new Home();
  home.write(SETTINGS, "{}");
  home.write(MCP, "{ not JSON");
  assert.equal(await home.setup(), 1);
  assert.match(home.printed.join("\n"), /mcp-config\.json": it is not JSON/);
  assert.deepEqual([home.read(SETTINGS), home.read(MCP)], ["{}", "{ not JSON"]);
});

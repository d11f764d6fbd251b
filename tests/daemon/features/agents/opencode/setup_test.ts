/** `mesh setup` for opencode: a plugin and one MCP server, undone to the byte. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Json,
  Unchangeable,
} from "../../../../../daemon/features/agents/settings_files/json.ts";
import {
  installServer,
  removeServer,
} from "../../../../../daemon/features/agents/opencode/setup.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import { runSetup } from "../../../../support/cli/run_setup.ts";

const MESH = planOf(["/opt/my tools/mesh"]);
const NEWER_MESH = planOf(["/usr/bin/deno", "run", "-A", "/srv/mesh/main.ts"]);
const SETTINGS = ".config/opencode/opencode.json";
const COMMENTED = ".config/opencode/opencode.jsonc";
const PLUGIN = ".config/opencode/plugin/mesh.js";

/** Files as people write them. */
const USER_CONFIG = [
  "{}",
  "{\n}\n",
  "{ // nothing yet\n}",
  '{ "model": "a/b" }',
  '\uFEFF{\r\n\t"model": "a/b",\r\n}\r\n',
  '// mine\n{\n  "model": "a/b", // the good one\n  /* "mcp": {} */\n}\n// end\n',
  '{\n  "mcp": {},\n  "model": "a/b"\n}\n',
  '{\n  "mcp": {\n  }\n}\n',
  '{ "mcp": { "other": { "type": "local", "command": ["x", "mcp // no comment"] }, }, }',
  '{\n  "a": "http://x/*y*/",\n  "mcp": { /* theirs */ "other": { "url": "u" } }\n}',
];

/** A home for one test. */
class Home implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-home-" });
  readonly env = { HOME: this.dir, PATH: "", MESH_STATE: `${this.dir}/state` };

  write(path: string, text: string): void {
    Deno.mkdirSync(`${this.dir}/${path.replace(/\/[^/]*$/, "")}`, { recursive: true });
    Deno.writeTextFileSync(`${this.dir}/${path}`, text);
  }

  read(path: string): string {
    return Deno.readTextFileSync(`${this.dir}/${path}`);
  }

  has(path: string): boolean {
    const [name = "", ...folders] = path.split("/").reverse();
    try {
      const dir = `${this.dir}/${folders.reverse().join("/")}`;
      return [...Deno.readDirSync(dir)].some((entry) => entry.name.startsWith(name));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  async setup(...args: string[]): Promise<{ code: number; errors: string }> {
    const errors: string[] = [];
    const output = { out: () => undefined, err: (text: string) => void errors.push(text) };
    const code = await runSetup(["--agent", "opencode", ...args], this.env, output);
    return { code, errors: errors.join("\n") };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

/** Parses a file as opencode does, with comments and trailing commas. */
function parseSettings(text: string): Json {
  const bare = text.replace(/^\uFEFF/, "")
    .replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[^]*?\*\//g, "$1")
    .replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, "$1");
  return JSON.parse(bare);
}

Deno.test("our server is added beside existing entries, and removed to the byte", () => {
  for (const text of USER_CONFIG) {
    const installed = installServer(text, MESH);
    const { mcp, ...others } = parseSettings(installed) as { mcp: Record<string, Json> };
    const meshEntry = { type: "local", command: ["/opt/my tools/mesh", "mcp"], enabled: true };
    assert.deepEqual(mcp["mesh"], meshEntry, text);
    const { mcp: before = {}, ...before_others } = parseSettings(text) as { mcp?: Json };
    assert.deepEqual({ ...mcp, mesh: undefined }, { ...Object(before), mesh: undefined });
    assert.deepEqual(others, before_others);
    assert.equal(removeServer(installed, MESH), text);
  }
});

Deno.test("installing twice is the same as once, and an older path of mesh is replaced", () => {
  for (const text of USER_CONFIG) {
    const once = installServer(text, MESH);
    assert.equal(installServer(once, MESH), once);
    const moved = installServer(once, NEWER_MESH);
    assert.equal(moved, installServer(text, NEWER_MESH));
    assert.equal(removeServer(moved, NEWER_MESH), text);
  }
});

Deno.test("any settings, in any layout, are restored", () => {
  const settings = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
  const servers = fc.dictionary(fc.string().filter((key) => key !== "mesh"), fc.jsonValue());
  const whole = fc.tuple(settings, fc.option(servers)).map(([own, mcp]) =>
    mcp ? { ...own, mcp } : own
  );
  fc.assert(fc.property(whole, fc.integer({ min: 0, max: 8 }), (json, indent) => {
    const { mcp } = json as { mcp?: unknown };
    fc.pre(mcp === undefined || (typeof mcp === "object" && mcp !== null && !Array.isArray(mcp)));
    const text = JSON.stringify(json, null, indent);
    const installed = installServer(text, MESH);
    const parsed = JSON.parse(installed);
    assert.deepEqual(parsed.mcp.mesh.command, ["/opt/my tools/mesh", "mcp"]);
    assert.equal(removeServer(installed, MESH), text);
  }));
});

Deno.test("a server that its user moved or reformatted is still recognized", () => {
  const server =
    '"mesh": {\n      "type": "local", // by setup\n      "command": ["/old/mesh", "mcp"]\n    }';
  const last = `{\n  "mcp": {\n    "other": {},\n    ${server}\n  }\n}\n`;
  assert.deepEqual(parseSettings(removeServer(last, MESH)), { mcp: { other: {} } });
  const installed = parseSettings(installServer(last, MESH)) as { mcp: Record<string, unknown> };
  assert.deepEqual(Object.keys(installed.mcp), ["other", "mesh"]);
});

Deno.test("another program's entry, or a file that is not JSON, is refused and left unchanged", () => {
  const foreign = '{ "mcp": { "mesh": { "type": "remote", "url": "https://mesh.example" } } }';
  assert.throws(() => installServer(foreign, MESH), Unchangeable);
  assert.equal(removeServer(foreign, MESH), foreign);
  for (
    const text of [
      "[]",
      "{",
      '{ "a" 1 }',
      '{ "a": 1 } x',
      '{ "mcp": [] }',
      "model: a",
      '{"a":1 "b":2}',
      `{"a":${"[".repeat(64)}${"]".repeat(64)}}`,
    ]
  ) {
    assert.throws(() => installServer(text, MESH), Unchangeable, text);
  }
});

Deno.test("a refusal names the line of the error", () => {
  const text = '{\n  // mine\n  "model": "a/b"\n  "theme": "dark"\n}\n';
  assert.throws(() => installServer(text, MESH), /CommaExpected in line 4/);
});

Deno.test("setup writes the plugin and the server, and uninstalling leaves nothing", async () => {
  using home = new Home();
  assert.equal((await home.setup()).code, 0);
  assert.match(home.read(PLUGIN), /^\/\*\*\n \* mesh's plugin for opencode/);
  assert.match(home.read(SETTINGS), /"mesh":\{?/);
  assert.equal((await home.setup("--uninstall")).code, 0);
  assert(!home.has(PLUGIN));
  assert(!home.has(SETTINGS));
});

Deno.test("existing settings are changed, comments kept, and no other file is created", async () => {
  using home = new Home();
  const text = '{\n  // mine\n  "model": "a/b",\n}\n';
  home.write(COMMENTED, text);
  await home.setup();
  assert.match(home.read(COMMENTED), /\/\/ mine/);
  assert(!home.has(`${SETTINGS}.`) && home.read(COMMENTED) !== text);
  await home.setup("--uninstall");
  assert.equal(home.read(COMMENTED), text);
  assert(!home.has(`${COMMENTED}.mesh-backup`));
});

Deno.test("an older plugin of ours is replaced, and uninstalling removes it completely", async () => {
  using home = new Home();
  home.write(PLUGIN, "/**\n * mesh's plugin for opencode: an older one\n */\n");
  await home.setup();
  assert.match(home.read(PLUGIN), /export \{\s+MeshPlugin\s+\}/);
  await home.setup("--uninstall");
  assert(!home.has(PLUGIN), "neither the file nor a backup");
});

Deno.test("another program's plugin of that name is kept, and setup changes nothing", async () => {
  using home = new Home();
  home.write(PLUGIN, "export const Mesh = () => ({});\n");
  const { code, errors } = await home.setup();
  assert.equal(code, 1);
  assert.match(errors, /belongs to another program/);
  assert(!home.has(SETTINGS));
  await home.setup("--uninstall");
  assert.equal(home.read(PLUGIN), "export const Mesh = () => ({});\n");
});

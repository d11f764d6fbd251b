/** `mesh setup` for Claude Code: what it writes, what it keeps, and how it is undone. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { edits, hooks, server } from "../../../../../daemon/features/agents/claude_code/setup.ts";
import {
  applyEdit,
  type Edit,
  planEdit,
  type SetupPlan,
} from "../../../../../daemon/features/agents/install.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";
import {
  type Json,
  type JsonObject,
  Unchangeable,
} from "../../../../../daemon/features/agents/settings_files/json.ts";

const PLAN = planOf(["/opt/my tools/mesh"]);
const NEWER_PLAN = planOf(["/usr/bin/deno", "run", "-A", "/srv/mesh/main.ts"]);

/** A folder that is removed after the test. */
class Folder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "mesh-claude-" });

  write(name: string, text: string, mode = 0o644): string {
    const path = join(this.path, name);
    Deno.writeTextFileSync(path, text);
    Deno.chmodSync(path, mode);
    return path;
  }

  names(): string[] {
    return Array.from(Deno.readDirSync(this.path), ({ name }) => name).sort();
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

/** A user's settings, with hooks and a layout of their own. */
const USER_CONFIG = {
  model: "opus",
  hooks: {
    Stop: [{ hooks: [{ type: "command", command: "say done" }] }],
    PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "audit hook" }] }],
  },
  permissions: { allow: ["Bash(ls:*)"] },
} satisfies JsonObject;

Deno.test("installing hooks twice is the same as once", () => {
  const once = hooks.install(USER_CONFIG, PLAN);
  assert.equal(JSON.stringify(hooks.install(once, PLAN)), JSON.stringify(once));
});

Deno.test("hooks of others, and the order of everything, stay unchanged", () => {
  const installed = hooks.install(USER_CONFIG, PLAN);
  assert.deepEqual(Object.keys(installed), Object.keys(USER_CONFIG));
  const written = Object.entries(installed["hooks"] ?? {});
  assert.deepEqual(written.slice(0, 2).map(([event]) => event), ["Stop", "PreToolUse"]);
  const [userHook] = JSON.parse(JSON.stringify(written[0]?.[1]));
  assert.deepEqual(userHook, USER_CONFIG.hooks.Stop[0]);
  assert.equal(JSON.stringify(hooks.remove(installed, PLAN)), JSON.stringify(USER_CONFIG));
});

Deno.test("a hook's command survives parsing by a shell", () => {
  const text = JSON.stringify(hooks.install({}, PLAN));
  assert(text.includes("'/opt/my tools/mesh' hook claude-code SessionStart"));
});

Deno.test("only the permission hook may take as long as the human needs", () => {
  const { hooks: written } = JSON.parse(JSON.stringify(hooks.install({}, PLAN)));
  const limits = Object.keys(written).map((event) => [
    event,
    written[event][0].hooks[0].timeout,
  ]);
  assert.equal(Object.fromEntries(limits)["PermissionRequest"], 3660);
  assert(limits.every(([event, seconds]) => seconds === 5 || event === "PermissionRequest"));
});

Deno.test("only SessionStart and Stop also get the hook that waits in the background", () => {
  const { hooks: written } = JSON.parse(JSON.stringify(hooks.install({}, PLAN)));
  const waits = Object.keys(written).filter((event) => written[event][0].hooks.length > 1);
  assert.deepEqual(waits, ["SessionStart", "Stop"]);
  for (const event of waits) {
    const [stopHook, waiting] = written[event][0].hooks;
    assert.equal(stopHook.asyncRewake, undefined);
    assert.equal(waiting.command, "'/opt/my tools/mesh' hook claude-code Wake");
    assert.equal(waiting.asyncRewake, true);
    assert(waiting.timeout > 86_400);
  }
});

Deno.test("hooks of an older release, without the waiting hook, are completed", () => {
  const older = JSON.parse(JSON.stringify(hooks.install(USER_CONFIG, PLAN)));
  for (const event of ["SessionStart", "Stop"]) older.hooks[event].at(-1).hooks.pop();
  const installed = hooks.install(older, PLAN);
  assert.deepEqual(installed, hooks.install(USER_CONFIG, PLAN));
});

Deno.test("hooks with an older path are replaced, and are recognized without a plan", () => {
  const moved = hooks.install(hooks.install(USER_CONFIG, PLAN), NEWER_PLAN);
  assert(!JSON.stringify(moved).includes("/opt/my tools"));
  assert.equal(JSON.stringify(hooks.remove(moved, NEWER_PLAN)), JSON.stringify(USER_CONFIG));
});

Deno.test("a group shared with others keeps their hooks", () => {
  const meshHook = { type: "command", command: "/bin/mesh hook claude-code Stop" };
  const userHook = { type: "command", command: "say done" };
  const shared = { hooks: { Stop: [{ hooks: [meshHook, userHook] }] } };
  assert.deepEqual(hooks.remove(shared, PLAN), { hooks: { Stop: [{ hooks: [userHook] }] } });
});

Deno.test("malformed settings are refused", () => {
  const wrong: Json[] = ["x", [], 3];
  for (const value of wrong) {
    assert.throws(() => hooks.install({ hooks: value }, PLAN), Unchangeable);
  }
  assert.throws(() => hooks.install({ hooks: { Stop: {} } }, PLAN), Unchangeable);
});

Deno.test("the MCP server is always loaded, and the servers of others are kept", () => {
  const before = { numStartups: 5, mcpServers: { other: { command: "other" } }, theme: "dark" };
  const installed = server.install(before, PLAN);
  assert.deepEqual(installed["mcpServers"], {
    other: { command: "other" },
    mesh: { type: "stdio", command: "/opt/my tools/mesh", args: ["mcp"], alwaysLoad: true },
  });
  assert.equal(JSON.stringify(server.install(installed, PLAN)), JSON.stringify(installed));
  assert.equal(JSON.stringify(server.remove(installed, PLAN)), JSON.stringify(before));
});

Deno.test("another program's server with our name is neither replaced nor removed", () => {
  const before = { mcpServers: { mesh: { command: "mesh-of-others", args: ["serve"] } } };
  assert.throws(() => server.install(before, PLAN), Unchangeable);
  assert.equal(server.remove(before, PLAN), before);
});

const INSTALL = { undo: false } as const;
const UNINSTALL = { undo: true } as const;

function hooksEdit(path: string, plan: SetupPlan): Edit {
  return {
    path,
    format: "json",
    add: (json) => hooks.install(json, plan),
    remove: (json) => hooks.remove(json, plan),
  };
}

Deno.test("uninstalling restores a file byte for byte, whatever its layout", () => {
  const layouts = [
    JSON.stringify(USER_CONFIG, null, 2),
    `${JSON.stringify(USER_CONFIG, null, 2)}\n`,
    JSON.stringify(USER_CONFIG, null, "\t"),
    JSON.stringify(USER_CONFIG),
    '{ "hooks": { "Stop": [] },\n  "model":"opus" }\n',
    "{}",
  ];
  for (const layout of layouts) {
    using folder = new Folder();
    const path = folder.write("settings.json", layout, 0o640);
    assert.notEqual(applyEdit(hooksEdit(path, PLAN), INSTALL), "");
    assert.equal(Deno.readTextFileSync(`${path}.mesh-backup`), layout);
    applyEdit(hooksEdit(path, NEWER_PLAN), INSTALL);
    applyEdit(hooksEdit(path, NEWER_PLAN), UNINSTALL);
    assert.equal(Deno.readTextFileSync(path), layout);
    assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o640);
    assert.deepEqual(folder.names(), ["settings.json"]);
  }
});

Deno.test("changes that others made meanwhile survive uninstalling", () => {
  using folder = new Folder();
  const path = folder.write("settings.json", JSON.stringify(USER_CONFIG));
  applyEdit(hooksEdit(path, PLAN), INSTALL);
  const toSonnet = (json: JsonObject) => ({ ...json, model: "sonnet" });
  applyEdit({ path, format: "json", add: toSonnet, remove: toSonnet }, INSTALL);
  applyEdit(hooksEdit(path, PLAN), UNINSTALL);
  assert.deepEqual(JSON.parse(Deno.readTextFileSync(path)), { ...USER_CONFIG, model: "sonnet" });
});

Deno.test("a file that we created is private, and is removed by uninstalling", () => {
  using folder = new Folder();
  const path = join(folder.path, "settings.json");
  applyEdit(hooksEdit(path, PLAN), INSTALL);
  assert.equal((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
  applyEdit(hooksEdit(path, PLAN), UNINSTALL);
  assert.deepEqual(folder.names(), []);
});

Deno.test("a dry run shows every line that would change, and writes nothing", () => {
  using folder = new Folder();
  const text = JSON.stringify(USER_CONFIG, null, 2);
  const path = folder.write("settings.json", text);
  const { difference: diff } = planEdit(hooksEdit(path, PLAN));
  assert.equal(diff.match(/^\+ .*hook claude-code/gm)?.length, 12);
  assert.match(diff, /^\+ .*\|\| .*hook claude-code PostToolBatch"/m);
  assert(!/^- .*say done/m.test(diff));
  assert.equal(Deno.readTextFileSync(path), text);
  assert.deepEqual(folder.names(), ["settings.json"]);
});

Deno.test("a file that is not JSON is refused by name, and left unchanged", () => {
  for (const text of ['{"hooks": ', "[]", "hooks: {}"]) {
    using folder = new Folder();
    const path = folder.write("settings.json", text);
    const change = () => applyEdit(hooksEdit(path, PLAN), INSTALL);
    assert.throws(change, (error) => {
      return error instanceof Unchangeable && error.message.includes(path);
    });
    assert.equal(Deno.readTextFileSync(path), text);
    assert.deepEqual(folder.names(), ["settings.json"]);
  }
});

Deno.test("a linked settings file stays a link", () => {
  using folder = new Folder();
  const real = folder.write("dotfile.json", "{}");
  const link = join(folder.path, "settings.json");
  Deno.symlinkSync(real, link);
  applyEdit(hooksEdit(link, PLAN), INSTALL);
  assert(Deno.lstatSync(link).isSymlink);
  assert(Deno.readTextFileSync(real).includes("hook claude-code"));
});

Deno.test("our tools are allowed once, and uninstalling takes only our permission out", () => {
  const texts: [before: string, after: string][] = [
    ['{ "model": "opus" }\n', '{ "model": "opus" }\n'],
    [
      '{"permissions":{"allow":["Bash(ls:*)"],"deny":["WebFetch"]}}',
      '{"permissions":{"allow":["Bash(ls:*)"],"deny":["WebFetch"]}}',
    ],
    ['{"permissions":{"allow":[]}}', '{"permissions":{"allow":[]}}'],
    ['{"permissions":{"allow":["mcp__mesh"]}}', '{"permissions":{"allow":["mcp__mesh"]}}'],
  ];
  for (const [before, after] of texts) {
    using folder = new Folder();
    const path = folder.write("settings.json", before);
    const [edit] = edits({ hooks: path, server: `${folder.path}/none.json` }, PLAN);
    assert.ok(edit);
    applyEdit(edit, { undo: false });
    assert.equal(applyEdit(edit, { undo: false }), "");
    const { permissions } = JSON.parse(Deno.readTextFileSync(path));
    assert.equal(permissions.allow.filter((tool: string) => tool === "mcp__mesh").length, 1);
    assert.deepEqual(permissions.deny, JSON.parse(before).permissions?.deny);
    applyEdit(edit, { undo: true });
    assert.equal(Deno.readTextFileSync(path), after);
  }
});

Deno.test("permissions that are no list are refused, and stay", () => {
  using folder = new Folder();
  const path = folder.write("settings.json", '{"permissions":{"allow":"all"}}');
  const [edit] = edits({ hooks: path, server: `${folder.path}/none.json` }, PLAN);
  assert.ok(edit);
  assert.throws(() => applyEdit(edit, { undo: false }), /"permissions\.allow" is not a list/);
  assert.equal(Deno.readTextFileSync(path), '{"permissions":{"allow":"all"}}');
});

/** Each agent is defined once: its folder, a line in the registry, and its id in the contract. */

import { planOf } from "../../../support/agents/setup_plan.ts";
import assert from "node:assert/strict";

import { randomIds, systemClock } from "kit/core/clock.ts";
import {
  agentOfCommand,
  AGENTS,
  definitionOf,
} from "../../../../daemon/features/agents/registry.ts";
import { isTestedPatchOrLater, lineOf } from "../../../../daemon/features/agents/definition.ts";
import { loadAgents } from "../../../../daemon/app/platform.ts";
import { Backend } from "protocol/agents/contract.ts";
import { foldersIn, type Source, sources } from "../../../tidy/sources.ts";
import { silent } from "../../../support/host/private_tmux.ts";

const ENV = { HOME: "/home/ada" };
const IDS: readonly string[] = AGENTS.map(({ id }) => id);
const PROGRAM = sources().filter(({ path }) => !path.startsWith("tests/"));
const AGENT_FOLDERS = foldersIn("daemon/features/agents")
  .filter((folder) => PROGRAM.some(({ path }) => path === `${folder}/agent.ts`));
const OUTSIDE = PROGRAM.filter(({ path }) =>
  !AGENT_FOLDERS.some((folder) => path.startsWith(`${folder}/`))
);

/** Backends of programs that connect by themselves. */
const NO_AGENTS: readonly string[] = ["acp", "mcp-http", "sdk"];

Deno.test("the registry lists every agent folder, and the contract every backend", () => {
  const named = AGENT_FOLDERS.map((folder) => folder.split("/").at(-1)?.replaceAll("_", "-"));
  assert.deepEqual(named.toSorted(), IDS.toSorted());
  const backends = Backend.options.filter((backend) => !NO_AGENTS.includes(backend));
  assert.deepEqual(backends.toSorted(), IDS.toSorted());
});

/** Files that may name an agent, each with the reason. */
const NAMING: Readonly<Record<string, string>> = {
  "dashboard/components/icons/drawings.ts": "the marks of agents on the page",
  "dashboard/components/icons/icon.tsx": "the mark of an agent without one of its own",
  "dashboard/gallery/limits.ts": "samples for the gallery of components",
  "dashboard/gallery/machines.ts": "samples for the gallery of components",
  "dashboard/views/spawn/cannot_start.tsx":
    "the choices of a page, whose daemon may be of another version",
  "packaging/install.ts": "the command that starts the first agent",
  "protocol/agents/contract.ts": "the enum on the wire, and the backend of an unnamed agent",
};

/** Agent ids in string literals of a source. */
function idsIn({ code }: Source): string[] {
  const strings = IDS.filter((id) => code.includes(`"${id}"`) || code.includes(`'${id}'`));
  const lines = code.split("\n").flatMap((line) => {
    const found = IDS.filter((id) => new RegExp(`(?<![\\w/-])${id}(?![\\w/-])`).test(line));
    return found.length > 1 ? found : [];
  });
  return [...new Set([...strings, ...lines])];
}

Deno.test("no source outside an agent's folder names its id, except the contract and the page", () => {
  const found = OUTSIDE.filter((source) => idsIn(source).length > 0).map(({ path }) => path);
  assert.deepEqual(found, Object.keys(NAMING));
});

Deno.test("only the registry imports from an agent's folder", () => {
  const found = OUTSIDE.flatMap(({ path, imports }) =>
    imports.filter(({ to }) => AGENT_FOLDERS.some((folder) => to.startsWith(`${folder}/`)))
      .map(({ to }) => `${path} → ${to}`)
  );
  const lines = AGENT_FOLDERS.map((folder) =>
    `daemon/features/agents/registry.ts → ${folder}/agent.ts`
  );
  assert.deepEqual(found.toSorted(), lines.toSorted());
});

Deno.test("an agent's files are in the folder that the user configured", async () => {
  const files = async (env: Record<string, string>) => {
    const found: [string, string[]][] = [];
    for (const { id, setup } of AGENTS) {
      if (!setup) continue;
      const paths = (await setup.edits(env, planOf(["/opt/mesh"]))).map(({ path }) => path);
      found.push([id, [setup.home(env), ...paths]]);
    }
    return Object.fromEntries(found);
  };
  // deno-fmt-ignore
  assert.deepEqual(await files(ENV), {
    "claude-code": ["/home/ada/.claude", "/home/ada/.claude/settings.json", "/home/ada/.claude.json"],
    codex: ["/home/ada/.codex", "/home/ada/.codex/hooks.json", "/home/ada/.codex/config.toml"],
    copilot: ["/home/ada/.copilot", "/home/ada/.copilot/settings.json", "/home/ada/.copilot/mcp-config.json"],
    gemini: ["/home/ada/.gemini", "/home/ada/.gemini/settings.json"],
    opencode: ["/home/ada/.config/opencode", "/home/ada/.config/opencode/plugin/mesh.js", "/home/ada/.config/opencode/opencode.json"],
  });
  const chosen = {
    CLAUDE_CONFIG_DIR: "/a",
    CODEX_HOME: "/b",
    COPILOT_HOME: "/c",
    GEMINI_CLI_HOME: "/d",
    XDG_CONFIG_HOME: "/e",
  };
  // deno-fmt-ignore
  assert.deepEqual(await files(chosen), {
    "claude-code": ["/a", "/a/settings.json", "/a/.claude.json"],
    codex: ["/b", "/b/hooks.json", "/b/config.toml"],
    copilot: ["/c", "/c/settings.json", "/c/mcp-config.json"],
    gemini: ["/d/.gemini", "/d/.gemini/settings.json"],
    opencode: ["/e/opencode", "/e/opencode/plugin/mesh.js", "/e/opencode/opencode.json"],
  });
});

Deno.test("an adapter belongs to the agent that loads it, and uses the definition's transports", async () => {
  const state = Deno.makeTempDirSync({ prefix: "mesh-registry-" });
  try {
    const env = { HOME: state, PATH: "/usr/bin:/bin" };
    const options = { clock: systemClock, ids: randomIds, log: silent, state, env };
    await using platform = await loadAgents(options);
    assert.deepEqual(platform.adapters.map(({ backend }) => backend), IDS);
    const peer = {
      peer_id: "p",
      backend: null,
      tmux_socket: null,
      pane_id: null,
      agent_pid: null,
      agent_started: null,
      runtime_session_id: null,
      turn_state: null,
      metadata: {},
    };
    const message = { delivery_id: "d", proof_id: "d", human: false, framed: "[mesh]" };
    for (const adapter of platform.adapters) {
      const used = adapter.transports(peer, { ...message, kind: "ask" }).map(({ name }) => name);
      const named = definitionOf(adapter.backend)?.transports ?? [];
      // A plugin's WebSocket is tried before the adapter's own transports.
      const own = named.filter((transport) => transport !== "websocket");
      assert.deepEqual([...new Set(used)], own, adapter.backend);
      assert.equal(
        platform.hooks[adapter.backend] !== undefined,
        definitionOf(adapter.backend)?.hooks !== undefined,
        adapter.backend,
      );
    }
  } finally {
    Deno.removeSync(state, { recursive: true });
  }
});

Deno.test("every agent with a setup can be tested: with its own model and its own transports", async () => {
  for (const { id, setup, fixture, transports } of AGENTS) {
    assert.equal(setup !== undefined, fixture !== undefined, id);
    const found = await fixture?.();
    if (!found) continue;
    const place = { home: "/home", folder: "/work", version: "1.0.0" };
    const files = Object.keys(found.files(place, "http://127.0.0.1:9"));
    assert.ok(files.every((path) => path.startsWith("/home/")), id);
    const untested = Object.keys(found.untested).filter((transport) => transport !== "native");
    assert.ok(untested.every((name) => transports.some((transport) => transport === name)), id);
  }
});

Deno.test("an agent is found by the name of its process; an unknown name finds none", () => {
  assert.equal(agentOfCommand("MainThread", ["node", "/usr/bin/claude-code"])?.id, "claude-code");
  assert.equal(agentOfCommand("node", ["node", "gemini-cli.js"])?.id, "gemini");
  assert.equal(agentOfCommand("bash", ["bash", "claudette"]), undefined);
  assert.equal(definitionOf("sdk"), undefined);
  assert.equal(definitionOf(null), undefined);
});

Deno.test("a later patch of the tested release line counts as tested", () => {
  assert.equal(lineOf("2.1.329"), "2.1");
  for (const version of ["2.1.329", "2.1.400"]) assert.ok(isTestedPatchOrLater(version, "2.1.329"));
  for (const version of ["2.1.328", "2.2.0", "2.10.329", "2.1.330-beta", "2.1", ""]) {
    assert.ok(!isTestedPatchOrLater(version, "2.1.329"), version);
  }
});

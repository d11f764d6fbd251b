/** Setup and uninstalling on any combination of hooks, servers, comments and layouts. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { edits as claudeEdits } from "../../../../../daemon/features/agents/claude_code/setup.ts";
import { edits as codexEdits } from "../../../../../daemon/features/agents/codex/setup.ts";
import { edits as copilotEdits } from "../../../../../daemon/features/agents/copilot/setup.ts";
import { edits as geminiEdits } from "../../../../../daemon/features/agents/gemini/setup.ts";
import {
  applyEdit,
  type Edit,
  learnPrograms,
  type SetupPlan,
} from "../../../../../daemon/features/agents/install.ts";
import { HOOK_AGENTS } from "../../../../support/agents/settings_samples.ts";
import { planOf } from "../../../../support/agents/setup_plan.ts";

type Edits = (path: string, plan: SetupPlan) => readonly Edit[];
const EDITS: Readonly<Record<string, Edits>> = {
  "claude-code": (hooks, plan) => claudeEdits({ hooks, server: `${hooks}.2` }, plan),
  codex: (hooks, plan) => codexEdits({ hooks, server: `${hooks}.2` }, plan),
  copilot: (hooks, plan) => copilotEdits({ hooks, server: `${hooks}.2` }, plan),
  gemini: geminiEdits,
};

const agents = fc.constantFrom(...HOOK_AGENTS);
/** Other programs, and an older mesh. */
const others = fc.constantFrom(
  "limem",
  "mesh",
  "npx @acme/mesh",
  "'/opt/a b/mesh2'",
  "echo",
  "cd /;x",
);
const older = fc.constantFrom(
  "/old/mesh",
  "'/old/my tools/mesh'",
  "/o/deno run -A --quiet /o/main.ts",
);
const blank = fc.constantFrom("", " ", "\n", "\r\n  ", "\t", " // mine\n", " /* x */ ");

interface Part {
  readonly text: string;
  readonly isMesh: boolean;
}

function parts(withMesh: boolean) {
  return agents.chain((agent) => {
    const hook = (program: string) => agent.hook(`${program} hook ${agent.id} ${agent.event}`);
    const foreign = others.map((program): Part => ({ text: hook(program), isMesh: false }));
    const own = older.map((program): Part => ({ text: hook(program), isMesh: true }));
    const odd = fc.constantFrom("null", "[]", '{"hooks": []}', '"hook"')
      .map((text): Part => ({ text, isMesh: false }));
    const any = fc.oneof(foreign, odd, ...(withMesh ? [own] : []));
    return fc.record({
      agent: fc.constant(agent),
      list: fc.array(any, { maxLength: 4 }),
      gaps: fc.array(blank, { minLength: 6, maxLength: 6 }),
      other: fc.constantFrom("", '"x": 1,', '"hooks.Stop": [],', '"é": "\\u0000",'),
      comma: fc.constantFrom("", ","),
    });
  });
}

type Case = ReturnType<typeof parts> extends fc.Arbitrary<infer T> ? T : never;

function textOf({ agent, list, gaps: [a, b, c, d, e, f], other, comma }: Case): string {
  const hooks = list.map(({ text }) => text).join(`${d},${e}`);
  return `${a}{${b}${other}${c}"hooks": {"${agent.event}": [${d}${hooks}${e}]}${comma}${f}}`;
}

function mustRoundTrip(settings: Case): void {
  const folder = Deno.makeTempDirSync({ prefix: "mesh-combined-" });
  const path = `${folder}/settings.json`;
  try {
    const first = textOf(settings);
    Deno.writeTextFileSync(path, first);
    const run = (undo: boolean) => {
      const edits = EDITS[settings.agent.id]?.(path, planOf(["/new/mesh"])) ?? assert.fail();
      learnPrograms(edits);
      for (const edit of edits) applyEdit(edit, { undo });
      return Deno.readTextFileSync(path);
    };
    const installed = run(false);
    assert.ok(installed.includes("/new/mesh hook"));
    assert.equal(run(false), installed, "setup twice is setup once");
    const undone = run(true);
    assert.ok(!undone.includes("/new/mesh"));
    for (const { text, isMesh } of settings.list) {
      assert.equal(installed.includes(text), !isMesh, text);
      assert.equal(undone.includes(text), !isMesh, text);
    }
    if (settings.list.every(({ isMesh }) => !isMesh)) assert.equal(undone, first);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("hooks of others survive setup and uninstalling in any layout, byte for byte", () => {
  fc.assert(fc.property(parts(false), mustRoundTrip), { numRuns: 60 });
});

Deno.test("hooks of an older mesh among others are all replaced", () => {
  fc.assert(fc.property(parts(true), mustRoundTrip), { numRuns: 60 });
});
